"""The authenticator that the environment configures: static tokens, JSON Web Tokens, or both."""

from __future__ import annotations

from omnigraph.server.auth.sources import TokenSources
from omnigraph.server.auth.verifying import Authenticator, WatchedTokens


def authenticator_of(sources: TokenSources, before: Authenticator | None = None) -> Authenticator:
    """Read the sources. Fetched keys and verified tokens of the authenticator ``before`` a reload are kept."""
    watched = WatchedTokens.start(sources)
    verifiers = [watched] if watched.tokens.entries else []
    if sources.jwt is None:
        return Authenticator(verifiers)
    # PyJWT and its cryptography are loaded only where they are configured.
    from omnigraph.server.auth.jwt_tokens import JwtVerifier

    known = None if before is None else before.jwt
    is_same = known is not None and known.settings == sources.jwt
    return Authenticator(verifiers, known if is_same else JwtVerifier.start(sources.jwt))
