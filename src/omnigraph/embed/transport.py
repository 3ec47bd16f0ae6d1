"""One HTTP request with a JSON body and response, within a timeout.

Errors are classified by whether a retry may help. Redirects are not followed: the request carries an API key, which
must not reach another host.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.embed.request import Request
from omnigraph.errors import EmbeddingError, EmbeddingUnavailable

ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of a response; a batch of long vectors takes a tenth of it."""

RETRY_AFTER_S_MAX = 600
"""Maximum of ``Retry-After`` that is honoured; quotas are counted in minutes."""

_CHUNK_BYTES = 64 * 1024
_EXCERPT_CHARS = 300
_TRY_AGAIN = 429


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: Any) -> None:
        return None


@dataclass(frozen=True)
class HttpTransport:
    """The transport over urllib."""

    monotonic: Callable[[], float] = time.monotonic

    def __call__(self, request: Request, timeout: float) -> object:
        # A socket timeout applies to each read, so a server that sends slowly needs an overall deadline.
        end = self.monotonic() + timeout
        try:
            content = json.dumps(request.body).encode()
            headers = {**request.headers, "Content-Type": "application/json", "Accept": "application/json"}
            prepared = urllib.request.Request(request.url, content, headers, method="POST")
            opener = urllib.request.build_opener(_NoRedirects)
            with opener.open(prepared, timeout=timeout) as response:
                return _document(request, self._read(request, response, end))
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(request, error) from error
        except (OSError, http.client.HTTPException) as error:
            # URLError, timeouts, and refused or broken connections are all OSErrors.
            raise _unreachable(request, error) from error

    def _read(self, request: Request, response: Any, end: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while chunk := response.read1(_CHUNK_BYTES):
            parts.append(chunk)
            size += len(chunk)
            if size > ANSWER_BYTES_MAX:
                raise EmbeddingError(f"{request.url} sent more than {ANSWER_BYTES_MAX} bytes", url=request.url)
            if self.monotonic() > end:
                raise EmbeddingUnavailable(f"{request.url} did not finish its response in time", url=request.url)
        return b"".join(parts)


def _document(request: Request, content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        message = f"{request.url} did not return JSON: {_excerpt(content)}"
        raise EmbeddingError(message, hint="check the base URL", url=request.url) from error


def _refused(request: Request, error: urllib.error.HTTPError) -> EmbeddingError:
    try:
        reason = _excerpt(error.read(_CHUNK_BYTES))
    except (OSError, http.client.HTTPException):
        reason = ""
    message = f"{request.url} returned {error.code} {error.reason}" + (f": {reason}" if reason else "")
    kind = EmbeddingUnavailable if error.code == _TRY_AGAIN or error.code >= 500 else EmbeddingError
    facts = {"url": request.url, "status": error.code, "retry_after_s": _retry_after(error.headers.get("Retry-After"))}
    return kind(message, hint=_HINTS.get(error.code), **facts)


def _retry_after(header: str | None) -> int:
    """The seconds of ``Retry-After``; 0 for a date, which the header also allows."""
    text = (header or "").strip()
    return min(int(text), RETRY_AFTER_S_MAX) if text.isascii() and text.isdigit() and len(text) < 10 else 0


_HINTS = {
    401: "check the API key",
    403: "check the permissions of the API key",
    404: "check the base URL and the model",
}


def _unreachable(request: Request, error: Exception) -> EmbeddingError:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    message = f"{request.url} cannot be reached: {str(cause) or type(cause).__name__}"
    # A retry does not repair a certificate.
    kind = EmbeddingError if isinstance(cause, ssl.SSLCertVerificationError) else EmbeddingUnavailable
    return kind(message, url=request.url)


def _excerpt(content: bytes) -> str:
    text = " ".join(content.decode(errors="replace").split())
    return text if len(text) <= _EXCERPT_CHARS else text[:_EXCERPT_CHARS] + "..."
