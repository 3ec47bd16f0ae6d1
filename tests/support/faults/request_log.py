"""One S3 request as a value, what kind it is, and a list of them that can be counted."""

import threading
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qs, unquote, urlsplit


class Kind(StrEnum):
    """Price classes of requests to an object store."""

    PUT = "PUT"
    GET = "GET"
    HEAD = "HEAD"
    LIST = "LIST"
    DELETE = "DELETE"
    POST = "POST"


@dataclass(frozen=True, slots=True)
class Request:
    """One counted request. `status` is the store's response, None if the request never reached it."""

    index: int
    kind: Kind
    method: str
    bucket: str
    key: str
    query: str
    precondition: str | None = None
    status: int | None = None
    bytes_sent: int = 0
    bytes_received: int = 0


def classify(method: str, target: str) -> tuple[Kind, str, str, str]:
    """Kind, bucket, key and query of a path-style request."""
    parts = urlsplit(target)
    bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
    arguments = parse_qs(parts.query, keep_blank_values=True)
    if method == "GET" and not key:
        kind = Kind.LIST
    elif method == "POST" and "delete" in arguments:
        kind = Kind.DELETE
    else:
        kind = Kind(method)
    return kind, bucket, key, parts.query


class Log:
    """Requests in the order in which they were let through. Safe to read while requests are running."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[Request] = []

    def add(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)

    def reset(self) -> None:
        with self._lock:
            self._requests.clear()

    def requests(self) -> tuple[Request, ...]:
        with self._lock:
            return tuple(self._requests)

    def counts(self) -> dict[str, int]:
        """The number of requests of each kind; kinds that did not occur are missing."""
        return dict(Counter(request.kind.value for request in self.requests()))
