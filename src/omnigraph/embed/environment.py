"""The embedder configured by environment variables. They are read and checked when it is first used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.ports import Embedder, EmbeddingRole
from omnigraph.embed.offline import MockEmbedder
from omnigraph.embed.providers import Gemini, OpenAi, Provider
from omnigraph.embed.remote import Patience, RemoteEmbedder
from omnigraph.errors import EmbeddingError

PREFIX = "OMNIGRAPH_EMBED_"
MOCK_VARIABLE = "OMNIGRAPH_EMBEDDINGS_MOCK"
_SENT_PREFIXES = (PREFIX, MOCK_VARIABLE)
"""Prefixes of variables that may be sent to another process. API keys have other names and are never sent."""
_YES = frozenset({"1", "true", "yes", "on"})
_NUMBER_MAX = 24 * 60 * 60 * 1000
"""The largest accepted number: one day in milliseconds."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The defaults of a provider."""

    provider: Provider
    base_url: str
    model: str
    keys: tuple[str, ...]


PROVIDERS: dict[str, Defaults] = {
    "openai-compatible": Defaults(
        OpenAi(),
        "https://openrouter.ai/api/v1",
        "openai/text-embedding-3-large",
        ("OPENROUTER_API_KEY", "OPENAI_API_KEY"),
    ),
    "openai": Defaults(OpenAi(), "https://api.openai.com/v1", "text-embedding-3-large", ("OPENAI_API_KEY",)),
    "gemini": Defaults(
        Gemini(), "https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-2", ("GEMINI_API_KEY",)
    ),
}
DEFAULT_PROVIDER = "openai-compatible"
MOCK = "mock"


def from_environment(environ: Mapping[str, str] | None = None) -> Embedder:
    """An embedder configured by ``OMNIGRAPH_EMBED_*``. Invalid settings are reported when a text is embedded."""
    return _EnvironmentEmbedder(environ)


def configured() -> Embedder | None:
    """The embedder of the environment, or None if no provider, base URL, model or mock is set.

    An API key alone is not enough: it may serve other programs, and must not cause data to be sent to a service.
    """
    names = [f"{PREFIX}{name}" for name in ("PROVIDER", "BASE_URL", "MODEL")]
    is_configured = _is_mocked(os.environ) or any(os.environ.get(name, "").strip() for name in names)
    return from_environment() if is_configured else None


def _is_mocked(environ: Mapping[str, str]) -> bool:
    return environ.get(MOCK_VARIABLE, "").strip().lower() in _YES


@dataclass(frozen=True)
class _EnvironmentEmbedder:
    """Reads the environment at its first use.

    Pickling drops the keys. In the other process, variables of that environment override the settings sent along.
    """

    environ: Mapping[str, str] | None = None
    inherited: Mapping[str, str] = field(default_factory=dict)
    """Settings of the process in which it was pickled."""

    def __repr__(self) -> str:
        return "<embedder of the environment>"

    def __getstate__(self) -> dict[str, Any]:
        sent = {name: value for name, value in self._settings.items() if name.startswith(_SENT_PREFIXES)}
        return {"environ": None, "inherited": sent}

    @property
    def model(self) -> str:
        return self._resolved.model

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
        return self._keyed.embed(texts, dimension, role)

    @cached_property
    def _resolved(self) -> Embedder:
        """The embedder, possibly with an empty key: reading the model needs no key."""
        return _resolve(self._settings)

    @property
    def _settings(self) -> Mapping[str, str]:
        return {**self.inherited, **(os.environ if self.environ is None else self.environ)}

    @property
    def _keyed(self) -> Embedder:
        resolved = self._resolved
        if isinstance(resolved, RemoteEmbedder) and not resolved.key:
            name = _provider_name(self._settings)
            keys = " or ".join(PROVIDERS[name].keys)
            raise EmbeddingError(
                "no API key for embeddings is set",
                hint=f"set {keys}, or choose another provider with {PREFIX}PROVIDER",
                provider=name,
            )
        return resolved


def _resolve(environ: Mapping[str, str]) -> Embedder:
    name = _provider_name(environ)
    model = environ.get(f"{PREFIX}MODEL", "").strip()
    if name == MOCK:
        return MockEmbedder(model)
    defaults = PROVIDERS[name]
    base_url = environ.get(f"{PREFIX}BASE_URL", "").strip() or defaults.base_url
    if not _is_web_address(base_url):
        raise EmbeddingError(f"{PREFIX}BASE_URL is {base_url!r}, expected an http or https URL")
    key = next((value for name in defaults.keys if (value := environ.get(name, "").strip())), "")
    if not key.isprintable() or not key.isascii():
        raise EmbeddingError("the API key for embeddings contains characters that HTTP headers do not allow")
    usual = Patience()
    patience = Patience(
        timeout_ms=_number(environ, "TIMEOUT_MS", usual.timeout_ms, low=1),
        attempts=_number(environ, "RETRY_ATTEMPTS", usual.attempts, low=1),
        backoff_ms=_number(environ, "RETRY_BACKOFF_MS", usual.backoff_ms, low=0),
        deadline_ms=_number(environ, "DEADLINE_MS", usual.deadline_ms, low=0),
        requests_per_minute=_number(environ, "REQUESTS_PER_MINUTE", usual.requests_per_minute, low=0),
    )
    return RemoteEmbedder(defaults.provider, base_url.rstrip("/"), model or defaults.model, key, patience)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _provider_name(environ: Mapping[str, str]) -> str:
    if _is_mocked(environ):
        return MOCK
    name = environ.get(f"{PREFIX}PROVIDER", "").strip().lower() or DEFAULT_PROVIDER
    if name != MOCK and name not in PROVIDERS:
        known = ", ".join([*PROVIDERS, MOCK])
        raise EmbeddingError(f"unknown provider in {PREFIX}PROVIDER: {name!r}", hint=f"expected {known}", provider=name)
    return name


def _number(environ: Mapping[str, str], name: str, default: int, *, low: int) -> int:
    text = environ.get(f"{PREFIX}{name}", "").strip()
    if not text:
        return default
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_NUMBER_MAX))
    if not is_number or not low <= int(text) <= _NUMBER_MAX:
        raise EmbeddingError(f"{PREFIX}{name} is {text!r}, expected a whole number from {low} to {_NUMBER_MAX}")
    return int(text)
