"""Requests to one graph of a server: connections that are reused, timeouts, and retries of what is safe to repeat.

A request is repeated if it cannot have had an effect (no connection, status 429), only reads, or carries an idempotency
key. If the answer to any other request was lost, its outcome is unknown, and is reported as that.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

import httpx2

from omnigraph.client.addresses import RemoteAddress
from omnigraph.client.errors import outcome_unknown, raise_for, unreadable, unwritable
from omnigraph.core.calls.retries import Retries
from omnigraph.errors import LimitExceeded, OmnigraphError, QueryCancelled, ServerUnavailable

ATTEMPTS: Final = 4
CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 300.0
"""Longest silence of a server: a write or a merge answers only when it is committed."""
RETRY_AFTER_SECONDS_MAX: Final = 60.0
"""Longest wait that a server may ask for; a longer one is raised as the error."""
SENT_BYTES: Final = 64 * 1024
BUSY: Final = frozenset({429, 502, 503, 504})
NOT_RUN: Final = 429
"""The status of a request that was refused before it had any effect."""

Query = Mapping[str, str | int | bool | list[str] | None]


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the interface. ``change`` says what it changes; None is a read."""

    method: str
    path: str
    query: Query = field(default_factory=dict)
    json: Any = None
    content: bytes | BinaryIO | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    change: str | None = None
    key: str | None = None
    """The idempotency key of a write."""
    text: str | None = None
    """The query or schema that the request sends, in which diagnostics are located."""
    timeout: float | None = None
    cancel: threading.Event | None = None

    @property
    def is_repeatable(self) -> bool:
        """True if a second one has no further effect."""
        return self.change is None or self.key is not None


class Transport:
    """The connections to one graph, shared between threads."""

    def __init__(
        self,
        address: RemoteAddress,
        token: str | None,
        *,
        timeout: float = READ_SECONDS,
        retries: Retries | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.address = address
        self._token = token
        self._timeout = timeout
        self._retries = retries or Retries(ATTEMPTS, wait=0.1)
        self._sleep = sleep
        self._client = httpx2.Client(**_options(address, token, timeout))

    def __getstate__(self) -> dict[str, Any]:
        return {"address": self.address, "token": self._token, "timeout": self._timeout, "retries": self._retries}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc] # unpickling makes connections of its own

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def form(self, request: Request) -> dict[str, Any]:
        """The body of an answer as JSON."""
        response, body = self.fetch(request)
        return _object(response, body)

    def fetch(self, request: Request) -> tuple[httpx2.Response, bytes]:
        """The answer and its whole body, after as many attempts as it takes; raises the error that the server sent."""
        attempt, was_sent = 0, False
        while True:
            attempt += 1
            try:
                return self._once(request)
            except _Lost as lost:
                was_sent = was_sent or lost.was_sent
                wait = self._wait(request, attempt, lost)
                if wait is None:
                    raise self._given_up(request, lost, was_sent=was_sent) from lost.__cause__
            self._sleep(wait)

    @contextmanager
    def stream(self, request: Request) -> Iterator[httpx2.Response]:
        """An answer whose body is read by the caller. Attempts end with its first byte."""
        attempt = 0
        while True:
            attempt += 1
            response: httpx2.Response | None = None
            try:
                with _translated(request):
                    response = self._client.send(self._built(request), stream=True)
                    if response.status_code >= 300:
                        self._refuse(request, response, _read(response, request))
            except _Lost as lost:
                if response is not None:
                    response.close()
                wait = self._wait(request, attempt, lost)
                if wait is None:
                    raise self._given_up(request, lost, was_sent=lost.was_sent) from lost.__cause__
                self._sleep(wait)
                continue
            except BaseException:
                if response is not None:
                    response.close()
                raise
            break
        try:
            yield response
        except httpx2.TransportError as error:
            raise ServerUnavailable(
                f"{self.address.uri} ended in the middle of an answer: {_reason(error)}",
                hint="run it again: the answer was incomplete",
            ) from error
        finally:
            response.close()

    def _once(self, request: Request) -> tuple[httpx2.Response, bytes]:
        if request.cancel is not None and request.cancel.is_set():
            raise QueryCancelled("the query was cancelled")
        with _translated(request):
            response = self._client.send(self._built(request), stream=True)
            try:
                body = _read(response, request)
            finally:
                response.close()
        if response.status_code >= 300:
            self._refuse(request, response, body)
        return response, body

    def _refuse(self, request: Request, response: httpx2.Response, body: bytes) -> None:
        """Raise the error of an answer, as ``_Lost`` if another attempt may help."""
        status = response.status_code
        content_type = response.headers.get("content-type", "")
        try:
            raise_for(status, content_type, body, request.text, self.address.uri)
        except OmnigraphError as error:
            is_busy = status == NOT_RUN or (status in BUSY and error.retryable)
            if not is_busy:
                raise
            # A server that describes the failure has decided the request; a proxy in front of it has not.
            is_decided = status == NOT_RUN or "json" in content_type
            raise _Lost(error, was_sent=not is_decided, retry_after=_seconds(response)) from error

    def _wait(self, request: Request, attempt: int, lost: _Lost) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        if lost.was_sent and not request.is_repeatable:
            return None
        if lost.retry_after is not None and lost.retry_after > RETRY_AFTER_SECONDS_MAX:
            return None
        wait = self._retries.wait_after(attempt, lost.error)
        return wait if wait is None else max(wait, lost.retry_after or 0.0)

    def _given_up(self, request: Request, lost: _Lost, *, was_sent: bool) -> OmnigraphError:
        if request.change is not None and was_sent:
            return outcome_unknown(request.change, request.key, lost.error.message)
        return lost.error

    def _built(self, request: Request) -> httpx2.Request:
        query = {name: _word(value) for name, value in request.query.items() if value is not None}
        headers = dict(request.headers)
        if request.key is not None:
            headers["idempotency-key"] = request.key
        content: Any = request.content
        if content is not None and not isinstance(content, bytes):
            content = _chunks(content)
        timeout: Any = httpx2.USE_CLIENT_DEFAULT
        if request.timeout is not None:
            timeout = httpx2.Timeout(request.timeout, connect=min(CONNECT_SECONDS, request.timeout))
        given = {"json": request.json} if request.json is not None else {"content": content}
        url = f"{self.address.uri}{request.path}"
        try:
            return self._client.build_request(
                request.method, url, params=query, headers=headers, timeout=timeout, **given
            )
        except (TypeError, ValueError) as error:
            raise unwritable(request.json, error) from error


def async_client(address: RemoteAddress, token: str | None) -> httpx2.AsyncClient:
    """A client of the library itself, for protocols other than that of graphs."""
    return httpx2.AsyncClient(**_options(address, token, READ_SECONDS))


def _options(address: RemoteAddress, token: str | None, timeout: float) -> dict[str, Any]:
    """The settings of every connection to an address."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    is_encrypted = address.uri.startswith("https://")
    return {
        "headers": {"user-agent": "omnigraph-python", **headers},
        "timeout": httpx2.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
        # A token must not reach another host.
        "follow_redirects": False,
        # Certificates take longer to load than a request on this machine does, and have no use there.
        "verify": is_encrypted,
        # A proxy of the environment would get the requests to this machine too.
        "trust_env": is_encrypted,
    }


class _Lost(Exception):
    """An attempt without a usable answer. ``was_sent``: the server may have worked on it."""

    def __init__(self, error: OmnigraphError, *, was_sent: bool, retry_after: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.was_sent = was_sent
        self.retry_after = retry_after


@contextmanager
def _translated(request: Request) -> Iterator[None]:
    """Translate the errors of the library, once."""
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
        raise _Lost(_unreachable(error), was_sent=False) from error
    except httpx2.TimeoutException as error:
        if request.timeout is not None and request.change is None:
            raise LimitExceeded(
                f"the server did not answer within {request.timeout:g} seconds",
                hint="raise the timeout, or narrow the query",
                resource="seconds",
                limit=request.timeout,
            ) from error
        raise _Lost(_unreachable(error), was_sent=True) from error
    except httpx2.TransportError as error:
        raise _Lost(_unreachable(error), was_sent=True) from error


def _unreachable(error: httpx2.TransportError) -> ServerUnavailable:
    return ServerUnavailable(
        f"the server cannot be reached: {_reason(error)}", hint="check the address, and that the server runs"
    )


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _read(response: httpx2.Response, request: Request) -> bytes:
    """The whole body; between its parts the caller may cancel."""
    parts: list[bytes] = []
    for part in response.iter_bytes():
        if request.cancel is not None and request.cancel.is_set():
            raise QueryCancelled("the query was cancelled")
        parts.append(part)
    return b"".join(parts)


def _object(response: httpx2.Response, body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError as error:
        raise unreadable(response.status_code, body) from error
    if not isinstance(found, dict):
        raise unreadable(response.status_code, body)
    return found


def _seconds(response: httpx2.Response) -> float | None:
    """The wait that the server asks for, in seconds; its form as a date is not used by servers of graphs."""
    text = response.headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdigit() else None


def _word(value: str | int | bool | list[str]) -> str | list[str]:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, list) else str(value)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    """The content of a file from its start: every attempt sends all of it."""
    file.seek(0)
    while chunk := file.read(SENT_BYTES):
        yield chunk
