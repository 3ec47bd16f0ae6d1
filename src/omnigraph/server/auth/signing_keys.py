"""Signing keys of an issuer: its JWKS, fetched over the network, and kept when a later fetch fails."""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, Final

from jwt import PyJWK
from jwt.exceptions import PyJWTError

from omnigraph.server.auth.jwt_settings import KEY_TYPES

logger = logging.getLogger("omnigraph.server")

FETCH_SECONDS: Final = 5.0
FETCH_BYTES_MAX: Final = 1024 * 1024
FETCH_EVERY_SECONDS: Final = 60.0
"""Time between two fetches: tokens with made-up key ids must not turn this server against its issuer."""
KEYS_AGE_SECONDS: Final = 3600.0
"""Age of a key set from which it is fetched again, so that a withdrawn key loses its force."""
KEYS_MAX: Final = 100
RSA_BITS_MIN: Final = 2048

Fetch = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key, its type, and the only algorithm that its issuer uses it with, if it says so."""

    key: Any
    type: str
    algorithm: str | None
    source: str
    """The key as it was published, to notice that it was replaced."""


class SigningKeys:
    """Public keys by their id. Only keys that one of the allowed algorithms can use are taken."""

    def __init__(
        self,
        url: str,
        algorithms: Collection[str],
        *,
        clock: Callable[[], float] = time.monotonic,
        fetch: Fetch | None = None,
    ) -> None:
        self._url = url
        self._algorithms = algorithms
        self._clock = clock
        self._fetch = fetch or fetch_once
        self._keys: Mapping[str, SigningKey] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._lock = threading.Lock()
        self.generation = 0
        """Grows when the keys change: whatever was verified with earlier ones is verified again."""

    @property
    def is_empty(self) -> bool:
        """True until keys were fetched."""
        return not self._keys

    def find(self, key_id: str) -> SigningKey | None:
        return self._keys.get(key_id)

    def is_due(self, key_id: str | None = None) -> bool:
        """True if the keys may be fetched again, and must be: they are old, or the id is not among them."""
        now = self._clock()
        if self._tried_at is not None and now - self._tried_at < FETCH_EVERY_SECONDS:
            return False
        is_old = self._fetched_at is None or now - self._fetched_at >= KEYS_AGE_SECONDS
        return is_old or (key_id is not None and key_id not in self._keys)

    def refresh(self, key_id: str | None = None) -> None:
        """Fetch the keys, unless another thread has just done so. A failure leaves the last good set in force."""
        with self._lock:
            if not self.is_due(key_id):
                return
            try:
                found = usable_keys(self._fetch(self._url), self._algorithms)
            except (OSError, ValueError, HTTPException) as error:
                self._tried_at = self._clock()
                logger.error("the keys of the issuer were not fetched (%s); the last good set stays", _reason(error))
                return
            # Last, so that requests that come while the fetch runs wait for it instead of failing.
            self._fetched_at = self._tried_at = self._clock()
            if _sources(found) != _sources(self._keys):
                self.generation += 1
            self._keys = found


def usable_keys(content: bytes, algorithms: Collection[str]) -> dict[str, SigningKey]:
    """The public signature keys of a JWKS that have an id and fit an allowed algorithm; raises ValueError."""
    document = json.loads(content)
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError("the document has no list of keys")
    types = {KEY_TYPES[name] for name in algorithms}
    found: dict[str, SigningKey] = {}
    for item in listed[:KEYS_MAX]:
        key = _usable(item, types, algorithms)
        if key is not None:
            found[str(item["kid"])] = key
    if not found:
        raise ValueError("no key has an id and fits the allowed algorithms")
    return found


def _usable(item: Any, types: Collection[str], algorithms: Collection[str]) -> SigningKey | None:
    if not isinstance(item, dict) or not isinstance(item.get("kid"), str) or item.get("kty") not in types:
        return None
    # A private key in a public document is no secret any more.
    if item.get("use", "sig") != "sig" or item.get("alg", next(iter(algorithms))) not in algorithms or "d" in item:
        return None
    try:
        key = PyJWK(item).key
    except PyJWTError:
        return None
    if item["kty"] == "RSA" and key.key_size < RSA_BITS_MIN:
        return None
    return SigningKey(key, item["kty"], item.get("alg"), json.dumps(item, sort_keys=True))


def _sources(keys: Mapping[str, SigningKey]) -> dict[str, str]:
    return {key_id: key.source for key_id, key in keys.items()}


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return f"{type(error).__name__}: {reason}"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: the address of the keys is a setting, which an answer must not change."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def fetch_once(url: str) -> bytes:
    """The document at an address; raises OSError or ValueError."""
    opener = urllib.request.build_opener(_NoRedirects())
    request = urllib.request.Request(url, headers={"accept": "application/json"})
    with opener.open(request, timeout=FETCH_SECONDS) as response:
        content: bytes = response.read(FETCH_BYTES_MAX + 1)
    if len(content) > FETCH_BYTES_MAX:
        raise ValueError(f"the document has more than {FETCH_BYTES_MAX} bytes")
    return content
