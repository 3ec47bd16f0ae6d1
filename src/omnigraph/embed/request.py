"""A request to a provider, and the function that sends it. Commands hold an embedder that few of them use, so the HTTP
client (``embed.transport``) is imported with the first request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from omnigraph.core.classes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """A request. The headers contain the API key and are never shown."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, object] = field(repr=False)


class Transport(Protocol):
    """Sends one request, without retries."""

    def __call__(self, request: Request, timeout: float) -> object:
        """The parsed response; raises EmbeddingUnavailable if a retry may help, otherwise EmbeddingError."""
        ...
