"""Settings of JSON Web Tokens, from the environment. Issuer, audience, algorithms and keys are required together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from omnigraph.errors import UsageError

ISSUER_VARIABLE: Final = "OMNIGRAPH_SERVER_JWT_ISSUER"
AUDIENCE_VARIABLE: Final = "OMNIGRAPH_SERVER_JWT_AUDIENCE"
ALGORITHMS_VARIABLE: Final = "OMNIGRAPH_SERVER_JWT_ALGORITHMS"
KEYS_VARIABLE: Final = "OMNIGRAPH_SERVER_JWT_JWKS_URL"
LOOPBACK_VARIABLE: Final = "OMNIGRAPH_SERVER_JWT_JWKS_LOOPBACK_HTTP"
ACTOR_VARIABLE: Final = "OMNIGRAPH_SERVER_JWT_ACTOR_CLAIM"
GROUPS_VARIABLE: Final = "OMNIGRAPH_SERVER_JWT_GROUPS_CLAIM"
ATTRIBUTES_VARIABLE: Final = "OMNIGRAPH_SERVER_JWT_ATTRIBUTE_CLAIMS"
RESOURCE_VARIABLE: Final = "OMNIGRAPH_SERVER_JWT_RESOURCE"

KEY_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    "EdDSA": "OKP",
}
"""Algorithms that can be allowed, with the type of their keys.

All are asymmetric. ``none`` signs nothing, and with HMAC a public key would be the secret.
"""

_REQUIRED: Final = (ISSUER_VARIABLE, AUDIENCE_VARIABLE, ALGORITHMS_VARIABLE, KEYS_VARIABLE)
_OPTIONAL: Final = (LOOPBACK_VARIABLE, ACTOR_VARIABLE, GROUPS_VARIABLE, ATTRIBUTES_VARIABLE, RESOURCE_VARIABLE)
_FAMILY: Final = ISSUER_VARIABLE.removesuffix("ISSUER")


@dataclass(frozen=True, slots=True)
class JwtSettings:
    """Conditions that a token must meet, and the claims that become its actor."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    keys_url: str
    actor_claim: str = "sub"
    groups_claim: str = "groups"
    attribute_claims: Mapping[str, str] = field(default_factory=dict)
    """Claims by the attribute of the actor that they become."""
    resource: str | None = None
    """The address of this server as clients know it, for the metadata of the protected resource."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> JwtSettings | None:
        """The settings, or None without any; raises UsageError for settings that are incomplete or unsafe."""
        given = {name: value.strip() for name, value in environment.items() if name.startswith(_FAMILY)}
        given = {name: value for name, value in given.items() if value}
        for name in given:
            if name not in (*_REQUIRED, *_OPTIONAL):
                raise UsageError(f"{name} is no setting of tokens", hint=f"use {', '.join((*_REQUIRED, *_OPTIONAL))}")
        if not given:
            return None
        for name in _REQUIRED:
            if name not in given:
                raise UsageError(
                    f"{name} is not set, which JSON Web Tokens need",
                    hint=f"set all of {', '.join(_REQUIRED)}, or none of the variables {_FAMILY}*",
                )
        audience = given[AUDIENCE_VARIABLE]
        return cls(
            given[ISSUER_VARIABLE],
            audience,
            _algorithms(given[ALGORITHMS_VARIABLE]),
            _keys_url(given[KEYS_VARIABLE], loopback=given.get(LOOPBACK_VARIABLE, "").lower() in ("1", "true")),
            given.get(ACTOR_VARIABLE, "sub"),
            given.get(GROUPS_VARIABLE, "groups"),
            _attributes(given.get(ATTRIBUTES_VARIABLE, "")),
            given.get(RESOURCE_VARIABLE) or (audience if _is_address(audience) else None),
        )


def _algorithms(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    wrong = next((name for name in names if name not in KEY_TYPES), None if names else "")
    if wrong is None:
        return names
    raise UsageError(
        f"{ALGORITHMS_VARIABLE} names {wrong!r}, which is never accepted",
        hint=f"name one or more of {', '.join(KEY_TYPES)}",
    )


def _keys_url(text: str, *, loopback: bool) -> str:
    parts = urlsplit(text)
    if parts.scheme == "https" and parts.hostname and parts.username is None:
        return text
    if parts.scheme == "http" and loopback and _is_loopback(parts):
        return text
    raise UsageError(
        f"{KEYS_VARIABLE} is {text!r}, which is no https address",
        hint=f"keys are fetched over https only; {LOOPBACK_VARIABLE}=1 allows http on loopback, for tests",
    )


def _is_loopback(parts: SplitResult) -> bool:
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        # Also `localhost`, whose address a resolver decides.
        return False


def _attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        attribute, sign, claim = (part.strip() for part in item.partition("="))
        if not attribute or (sign and not claim) or attribute in found:
            raise UsageError(
                f"{ATTRIBUTES_VARIABLE} has the entry {item!r}", hint='write "team, level=clearance_level", for example'
            )
        found[attribute] = claim or attribute
    return found


def _is_address(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in ("http", "https") and bool(parts.hostname)
