"""JSON Web Tokens: verified with the keys of their issuer, and cached until they expire.

The claims ``exp``, ``sub``, ``iss`` and ``aud`` are required. Times are compared here and not by PyJWT, whose clock
cannot be injected.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jwt
from jwt.exceptions import PyJWTError

from omnigraph.core.actors import Actor
from omnigraph.core.lru import Lru
from omnigraph.errors import UsageError
from omnigraph.server.auth.jwt_settings import KEY_TYPES, JwtSettings
from omnigraph.server.auth.signing_keys import SigningKeys

LEEWAY_SECONDS: Final = 60.0
"""Difference between the clocks of issuer and server that is tolerated."""
TOKEN_BYTES_MAX: Final = 16 * 1024
CACHED_MAX: Final = 4_096
"""Tokens whose verification is remembered; each entry is a digest and an actor."""

_OPTIONS: Final[Any] = {
    "require": ["exp", "sub", "iss", "aud"],
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    # A key under the usual length is refused, not warned about.
    "enforce_minimum_key_length": True,
}


@dataclass(frozen=True, slots=True)
class _Verified:
    actor: Actor
    expires: float
    generation: int


@dataclass(frozen=True, slots=True)
class JwtVerifier:
    """Verifies tokens of one issuer. ``clock`` is the time of the wall, in seconds."""

    settings: JwtSettings
    keys: SigningKeys
    clock: Callable[[], float] = time.time
    _cache: Lru[bytes, _Verified] = field(default_factory=lambda: Lru(CACHED_MAX))

    @classmethod
    def start(cls, settings: JwtSettings) -> JwtVerifier:
        """A verifier that has tried to fetch its keys. Without keys it knows no token, and tries again later."""
        keys = SigningKeys(settings.keys_url, settings.algorithms)
        keys.refresh()
        return cls(settings, keys)

    @property
    def is_ready(self) -> bool:
        return not self.keys.is_empty

    def waits(self, token: bytes) -> bool:
        """True if the keys have to be fetched before this token can be judged."""
        key_id = _key_id(token)
        return key_id is not None and self.keys.is_due(key_id)

    def prepare(self, token: bytes) -> None:
        """Fetch keys. Blocks, so it belongs on a thread."""
        self.keys.refresh(_key_id(token))

    def verify(self, token: bytes) -> Actor | None:
        """The actor of a token; None for one that is not valid now."""
        if len(token) > TOKEN_BYTES_MAX:
            return None
        now, digest = self.clock(), hashlib.sha256(token).digest()
        generation = self.keys.generation
        known = self._cache.get(digest)
        if known is None or known.generation != generation:
            known = self._verified(token, generation)
            if known is None:
                return None
            self._cache.put(digest, known)
        return known.actor if now < known.expires else None

    def _verified(self, token: bytes, generation: int) -> _Verified | None:
        key_id = _key_id(token)
        key = None if key_id is None else self.keys.find(key_id)
        if key is None:
            return None
        # Only algorithms of the type of this key: a token does not choose how its key is used.
        algorithms = [
            name for name in self.settings.algorithms if KEY_TYPES[name] == key.type and key.algorithm in (None, name)
        ]
        try:
            claims = jwt.decode(
                token,
                key.key,
                algorithms=algorithms,
                options=_OPTIONS,
                audience=self.settings.audience,
                issuer=self.settings.issuer,
            )
        except (PyJWTError, ValueError, TypeError):
            return None
        return self._of_claims(claims, generation)

    def _of_claims(self, claims: Mapping[str, Any], generation: int) -> _Verified | None:
        expires, starts = _seconds(claims["exp"]), _seconds(claims.get("nbf", 0))
        if expires is None or starts is None or self.clock() < starts - LEEWAY_SECONDS:
            return None
        actor = _actor(claims, self.settings)
        return None if actor is None else _Verified(actor, expires + LEEWAY_SECONDS, generation)


def _key_id(token: bytes) -> str | None:
    if len(token) > TOKEN_BYTES_MAX or token.count(b".") != 2:
        return None
    try:
        found = jwt.get_unverified_header(token).get("kid")
    except (PyJWTError, ValueError):
        return None
    return found if isinstance(found, str) else None


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) else None


def _actor(claims: Mapping[str, Any], settings: JwtSettings) -> Actor | None:
    """The actor of claims; None if one of them does not fit. A rule may forbid by it, so it is never left out."""
    name, listed = claims.get(settings.actor_claim), claims.get(settings.groups_claim, [])
    groups = listed.split() if isinstance(listed, str) else listed
    given = {
        attribute: claims[claim]
        for attribute, claim in settings.attribute_claims.items()
        if claims.get(claim) is not None
    }
    if not isinstance(name, str) or not isinstance(groups, list):
        return None
    try:
        return Actor(name, groups, given)  # type: ignore[arg-type] # the constructor checks and freezes the groups
    except (UsageError, TypeError):
        return None
