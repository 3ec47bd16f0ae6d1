"""Verification of requests: the bearer token of the ``Authorization`` header, and the actor that it stands for."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from omnigraph.core.actors import Actor
from omnigraph.errors import OmnigraphError
from omnigraph.server.auth.sources import Stamp, TokenSources
from omnigraph.server.auth.static_tokens import StaticTokens
from omnigraph.server.http.refusals import Refusal

if TYPE_CHECKING:
    from omnigraph.server.auth.jwt_tokens import JwtVerifier

logger = logging.getLogger("omnigraph.server")

SCHEME: Final = b"Bearer "
METADATA_PATH: Final = "/.well-known/oauth-protected-resource"
LOOK_SECONDS: Final = 1.0
"""Time between two looks at the file of tokens."""


class TokenVerifier(Protocol):
    """Turns a token into an actor; None for a token that it does not know."""

    def verify(self, token: bytes) -> Actor | None: ...


def unauthorized(text: str, challenge: str | None = None) -> Refusal:
    """The answer to a request without a valid token."""
    headers = {} if challenge is None else {"www-authenticate": challenge}
    return Refusal(401, text, "unauthorized", "unauthenticated", headers=headers)


def bearer_token(header: bytes | None) -> bytes | None:
    """The token of a header of exactly the form ``Bearer <token>``; any other header counts as missing."""
    if header is None or not header.startswith(SCHEME) or not header.isascii():
        return None
    return header.removeprefix(SCHEME).strip() or None


@dataclass(slots=True)
class WatchedTokens:
    """Static tokens that follow their file. A file that cannot be used leaves the tokens before it in force."""

    sources: TokenSources
    tokens: StaticTokens
    clock: Callable[[], float] = time.monotonic
    _stamp: Stamp | None = None
    _looked: float = field(default=0.0)

    @classmethod
    def start(cls, sources: TokenSources, clock: Callable[[], float] = time.monotonic) -> WatchedTokens:
        """Read the sources; raises for one that cannot be used."""
        stamp = sources.stamp()
        return cls(sources, StaticTokens.of(sources.read()), clock, stamp, clock())

    def verify(self, token: bytes) -> Actor | None:
        now = self.clock()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            stamp = self.sources.stamp()
            if stamp is not None and stamp != self._stamp:
                self._stamp = stamp
                self.reload()
        return self.tokens.verify(token)

    def reload(self) -> None:
        """Read the sources again."""
        try:
            tokens = StaticTokens.of(self.sources.read())
        except OmnigraphError as error:
            logger.error("tokens were not reloaded: %s", error.message)
            return
        self.tokens = tokens
        logger.warning("tokens reloaded: %d actors", len(tokens.entries))


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Asks the verifiers in order, that of JSON Web Tokens last. Without any, the server is open."""

    verifiers: Sequence[TokenVerifier] = ()
    jwt: JwtVerifier | None = None

    @property
    def is_open(self) -> bool:
        return not self.verifiers and self.jwt is None

    @property
    def is_ready(self) -> bool:
        """False while the keys of the issuer are unknown, so that no request with a token of its could pass."""
        return self.jwt is None or self.jwt.is_ready

    @property
    def challenge(self) -> str | None:
        """The value of ``WWW-Authenticate``, which clients of an issuer look for."""
        if self.jwt is None:
            return None
        resource = self.jwt.settings.resource
        return "Bearer" if resource is None else f'Bearer resource_metadata="{metadata_url(resource)}"'

    def waits(self, header: bytes | None) -> bool:
        """True if keys have to be fetched before the token of a request can be judged."""
        token = bearer_token(header)
        return self.jwt is not None and token is not None and self.jwt.waits(token)

    def prepare(self, header: bytes | None) -> None:
        """Fetch the keys of the issuer. Blocks, so it belongs on a thread."""
        token = bearer_token(header)
        if self.jwt is not None and token is not None:
            self.jwt.prepare(token)

    def actor_of(self, header: bytes | None) -> Actor | None:
        """The actor of a request; None on an open server. Raises Refusal with status 401."""
        if self.is_open:
            return None
        token = bearer_token(header)
        if token is None:
            raise unauthorized("missing bearer token", self.challenge)
        for verifier in self.verifiers:
            actor = verifier.verify(token)
            if actor is not None:
                return actor
        actor = None if self.jwt is None else self.jwt.verify(token)
        if actor is not None:
            return actor
        raise unauthorized("invalid bearer token", _invalid(self.challenge))


def metadata_url(resource: str) -> str:
    """The address of the metadata of a protected resource (RFC 9728): between its host and its path."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}{METADATA_PATH}"


def _invalid(challenge: str | None) -> str | None:
    if challenge is None:
        return None
    return f'{challenge}{"," if "=" in challenge else ""} error="invalid_token"'
