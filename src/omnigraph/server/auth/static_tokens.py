"""Static bearer tokens: kept as SHA-256 digests, looked up in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.core.actors import Actor


@dataclass(frozen=True, slots=True)
class StaticTokens:
    """The digests of all tokens, with their actors."""

    entries: tuple[tuple[bytes, Actor], ...]

    @classmethod
    def of(cls, tokens: Mapping[str, str]) -> StaticTokens:
        """Tokens by actor."""
        return cls(tuple((_digest(token.encode()), Actor(actor)) for actor, token in tokens.items()))

    def verify(self, token: bytes) -> Actor | None:
        """The actor of a token. Every entry is compared, so the time does not depend on which one matches."""
        wanted = _digest(token)
        found: Actor | None = None
        for digest, actor in self.entries:
            if hmac.compare_digest(digest, wanted):
                found = actor
        return found


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
