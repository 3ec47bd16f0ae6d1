"""One HTTP request: a JSON document out, a JSON document back, within a time.

What failed is told as what it means for trying again. Redirects are not followed: the request carries a key, and a
redirect may lead to somebody else.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from omnigraph.errors import EmbeddingError, EmbeddingUnavailable

ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""The longest answer that is read: a batch of long vectors is a tenth of it."""

RETRY_AFTER_S_MAX = 600
"""The longest pause that a service may ask for; quotas are counted in minutes."""

_CHUNK_BYTES = 64 * 1024
_EXCERPT_CHARS = 300
_TRY_AGAIN = 429


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask. The headers hold the key and are never shown."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, object] = field(repr=False)


class Transport(Protocol):
    """Asks once."""

    def __call__(self, request: Request, timeout: float) -> object:
        """The answer; EmbeddingUnavailable if asking again may help, EmbeddingError if not."""
        ...


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: Any) -> None:
        return None


@dataclass(frozen=True)
class HttpTransport:
    """The real one."""

    monotonic: Callable[[], float] = time.monotonic

    def __call__(self, request: Request, timeout: float) -> object:
        # Timeouts of sockets are per read, so a server that answers in drops needs an end of its own.
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
            # URLError is an OSError as well, and so are timeouts and refused or broken connections.
            raise _unreachable(request, error) from error

    def _read(self, request: Request, response: Any, end: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while chunk := response.read1(_CHUNK_BYTES):
            parts.append(chunk)
            size += len(chunk)
            if size > ANSWER_BYTES_MAX:
                raise EmbeddingError(f"{request.url} answered with more than {ANSWER_BYTES_MAX} bytes", url=request.url)
            if self.monotonic() > end:
                raise EmbeddingUnavailable(f"{request.url} did not finish its answer in time", url=request.url)
        return b"".join(parts)


def _document(request: Request, content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        message = f"{request.url} answered with something that is not JSON: {_excerpt(content)}"
        raise EmbeddingError(message, hint="is the base URL right?", url=request.url) from error


def _refused(request: Request, error: urllib.error.HTTPError) -> EmbeddingError:
    try:
        told = _excerpt(error.read(_CHUNK_BYTES))
    except (OSError, http.client.HTTPException):
        told = ""
    message = f"{request.url} answered {error.code} {error.reason}" + (f": {told}" if told else "")
    kind = EmbeddingUnavailable if error.code == _TRY_AGAIN or error.code >= 500 else EmbeddingError
    facts = {"url": request.url, "status": error.code, "retry_after_s": _retry_after(error.headers.get("Retry-After"))}
    return kind(message, hint=_HINTS.get(error.code), **facts)


def _retry_after(told: str | None) -> int:
    """Seconds that a service wants to be left alone. A date, which the header may hold as well, is not heeded."""
    text = (told or "").strip()
    return min(int(text), RETRY_AFTER_S_MAX) if text.isascii() and text.isdigit() and len(text) < 10 else 0


_HINTS = {401: "is the key right?", 403: "is the key allowed to do this?", 404: "are base URL and model right?"}


def _unreachable(request: Request, error: Exception) -> EmbeddingError:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    message = f"{request.url} cannot be asked: {str(cause) or type(cause).__name__}"
    # A certificate does not get better by asking again.
    kind = EmbeddingError if isinstance(cause, ssl.SSLCertVerificationError) else EmbeddingUnavailable
    return kind(message, url=request.url)


def _excerpt(content: bytes) -> str:
    text = " ".join(content.decode(errors="replace").split())
    return text if len(text) <= _EXCERPT_CHARS else text[:_EXCERPT_CHARS] + "..."
