"""``cluster.yaml``: the declaration of a cluster. Closed: unknown and repeated keys are fatal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from omnigraph.cluster.diagnostics import Diagnostic, as_error, problem
from omnigraph.errors import InputError
from omnigraph.lang.yaml_text import DUPLICATE_KEY, parse_yaml

FILE_NAME: Final = "cluster.yaml"
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
TOKEN_DIGEST: Final = "sha256:"
"""The beginning of a reference to a token by its digest."""

_TOKEN_DIGEST: Final = re.compile(rf"{TOKEN_DIGEST}[0-9a-f]{{64}}")

FUTURE_KEYS: Final = frozenset({"apply", "env_file", "pipelines", "embeddings", "ui", "aliases", "bindings"})
"""Keys that Omnigraph 0.10 reserves."""

STREAMING_KEYS: Final = frozenset({"stream", "streams", "streaming"})
"""Declarations that Omnigraph 0.10 has removed."""


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Metadata(_Closed):
    """The label of a cluster."""

    name: str = Field(min_length=1)


class StateSettings(_Closed):
    """Place of the state."""

    backend: Literal["cluster"] = "cluster"
    lock: bool = True


ProviderKind = Literal["openai-compatible", "openai", "gemini", "mock"]


class EmbeddingProvider(_Closed):
    """A service that embeds texts. The key is the name of an environment variable, never the key itself."""

    kind: ProviderKind | None = None
    provider: ProviderKind | None = None
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None

    @field_validator("api_key")
    @classmethod
    def _is_variable(cls, value: str | None) -> str | None:
        if value is not None and _VARIABLE.fullmatch(value) is None:
            raise ValueError("write the name of an environment variable, ${NAME}")
        return value

    @property
    def service(self) -> ProviderKind | None:
        """The kind, under either of its names."""
        return self.kind or self.provider


class Providers(_Closed):
    """Services that graphs use."""

    embedding: dict[str, EmbeddingProvider] = Field(default_factory=dict)


class QueryFile(_Closed):
    """The file of one stored query."""

    file: str


class BlobBase(_Closed):
    """A prefix that external blobs may be read from."""

    base: str
    scope: Literal["server_safe", "embedded_only"]


class ExternalBlobs(_Closed):
    """Places of external blobs; without any, all are refused."""

    allow: list[BlobBase] = Field(default_factory=list)


class DeclaredGraph(_Closed):
    """One graph."""

    schema_: str = Field(alias="schema")
    queries: str | list[str] | dict[str, QueryFile] | None = None
    embedding_provider: str | None = None
    external_blobs: ExternalBlobs | None = None


class DeclaredPolicy(_Closed):
    """A policy bundle, and the graphs it decides about, or the cluster."""

    file: str
    applies_to: list[str] = Field(default_factory=list)


class ClusterConfig(_Closed):
    """The whole declaration. ``tokens`` is an addition to the form of Omnigraph 0.10."""

    version: Literal[1]
    metadata: Metadata | None = None
    storage: str | None = Field(default=None, min_length=1)
    state: StateSettings = Field(default_factory=StateSettings)
    providers: Providers = Field(default_factory=Providers)
    graphs: dict[str, DeclaredGraph] = Field(default_factory=dict)
    policies: dict[str, DeclaredPolicy] = Field(default_factory=dict)
    tokens: dict[str, str] = Field(default_factory=dict)

    @field_validator("tokens")
    @classmethod
    def _are_references(cls, tokens: dict[str, str]) -> dict[str, str]:
        for actor, value in tokens.items():
            # The message never repeats the value: it may be the token itself.
            if _VARIABLE.fullmatch(value) is None and _TOKEN_DIGEST.fullmatch(value) is None:
                raise ValueError(f"the token of {actor!r} is neither ${{NAME}} of a variable nor sha256:DIGEST")
        return tokens


def parse_config(content: bytes) -> ClusterConfig | list[Diagnostic]:
    """The declaration in a text, or all problems of its form."""
    try:
        parsed = parse_yaml(content, FILE_NAME)
    except InputError as error:
        is_repeated = error.facts.get("reason") == DUPLICATE_KEY
        code = "duplicate_yaml_key" if is_repeated else "invalid_cluster_yaml"
        return [problem(code, FILE_NAME, error.message)]
    try:
        return ClusterConfig.model_validate(parsed)
    except ValidationError as error:
        return [_problem(found) for found in error.errors(include_url=False, include_input=False)]


def read_config(directory: Path) -> ClusterConfig:
    """The declaration in a directory; raises ClusterInvalid."""
    content = read_config_file(directory)
    found = content if isinstance(content, Diagnostic) else parse_config(content)
    match found:
        case ClusterConfig():
            return found
        case Diagnostic():
            raise as_error(found)
        case _:
            raise as_error(found[0])


def read_config_file(directory: Path) -> bytes | Diagnostic:
    """The content of the file in a directory, or why there is none."""
    if not directory.is_dir():
        return problem("config_dir_not_found", str(directory), f"there is no directory {str(directory)!r}")
    try:
        return (directory / FILE_NAME).read_bytes()
    except FileNotFoundError:
        message = f"there is no file {FILE_NAME} in {str(directory)!r}"
        return problem("cluster_config_read_error", FILE_NAME, message)
    except OSError as error:
        message = f"{FILE_NAME} cannot be read: {error.strerror or error}"
        return problem("cluster_config_read_error", FILE_NAME, message)


def _problem(found: Mapping[str, Any]) -> Diagnostic:
    place = ".".join(map(str, found["loc"])) or "the file"
    return problem(_code(found["loc"], found["type"]), place, f"{FILE_NAME} is invalid: {place}: {found['msg']}")


def _code(place: Sequence[Any], kind: str) -> str:
    """The code of a value that does not have the form."""
    match (*place,):
        case (str(key),) if kind == "extra_forbidden" and key in FUTURE_KEYS:
            return "future_phase_field"
        case (*_, str(key)) if kind == "extra_forbidden" and key in STREAMING_KEYS:
            return "removed_streaming_declaration"
        case ("version", *_):
            return "unsupported_cluster_config_version"
        case ("storage", *_):
            return "invalid_storage_root"
        case ("metadata", "name"):
            return "empty_metadata_name"
        case ("state", "backend"):
            return "unsupported_state_backend"
        case ("providers", "embedding", _, "api_key"):
            return "embedding_api_key_inline"
        case ("providers", *_):
            return "invalid_embedding_provider"
        case ("graphs", _, "external_blobs", *_):
            return "invalid_external_blob_policy"
        case ("tokens", *_):
            return "invalid_token_reference"
        case _:
            return "invalid_cluster_yaml"


def resolved_storage(directory: Path, storage: str | None) -> str:
    """The root of the storage that a configuration in a directory names."""
    if storage is None:
        return str(directory)
    return storage if "://" in storage else str(directory / storage)


def storage_root(place: str) -> str:
    """The root of a cluster's storage: an address as it is, or what the configuration of a directory names."""
    if "://" in place:
        return place
    directory = Path(place)
    return resolved_storage(directory, read_config(directory).storage)
