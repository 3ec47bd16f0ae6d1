"""``cluster.yaml``: the declaration of a cluster. Closed: unknown and repeated keys are fatal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from omnigraph.config.mapping_file import read_yaml
from omnigraph.errors import ClusterInvalid, InputError, NotFoundError

FILE_NAME: Final = "cluster.yaml"
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Metadata(_Closed):
    """The label of a cluster."""

    name: str = Field(min_length=1)


class StateSettings(_Closed):
    """Place of the state."""

    backend: Literal["cluster"] = "cluster"
    lock: bool = True


class EmbeddingProvider(_Closed):
    """A service that embeds texts. The key is the name of an environment variable, never the key itself."""

    kind: Literal["openai-compatible", "openai", "gemini", "mock"] | None = None
    provider: Literal["openai-compatible", "openai", "gemini", "mock"] | None = None
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None

    @field_validator("api_key")
    @classmethod
    def _is_variable(cls, value: str | None) -> str | None:
        if value is not None and _VARIABLE.fullmatch(value) is None:
            raise ValueError("write the name of an environment variable, ${NAME}")
        return value


class Providers(_Closed):
    """Services that graphs use."""

    embedding: dict[str, EmbeddingProvider] = Field(default_factory=dict)


class QueryFile(_Closed):
    """The file of one stored query."""

    file: str


class DeclaredGraph(_Closed):
    """One graph."""

    schema_: str = Field(alias="schema")
    queries: str | list[str] | dict[str, QueryFile] | None = None
    embedding_provider: str | None = None
    external_blobs: dict[str, Any] | None = None


class DeclaredPolicy(_Closed):
    """A policy bundle, and the graphs it decides about, or the cluster."""

    file: str
    applies_to: list[str]


class ClusterConfig(_Closed):
    """The whole declaration."""

    version: Literal[1]
    metadata: Metadata | None = None
    storage: str | None = None
    state: StateSettings = Field(default_factory=StateSettings)
    providers: Providers = Field(default_factory=Providers)
    graphs: dict[str, DeclaredGraph] = Field(default_factory=dict)
    policies: dict[str, DeclaredPolicy] = Field(default_factory=dict)


def read_config(directory: Path) -> ClusterConfig:
    """The declaration in a directory; raises ClusterInvalid."""
    file = directory / FILE_NAME
    if not directory.is_dir():
        raise ClusterInvalid(f"there is no directory {str(directory)!r}", reason="config_dir_not_found")
    try:
        parsed = read_yaml(str(file))
        return ClusterConfig.model_validate(parsed)
    except (NotFoundError, InputError) as error:
        reason = "cluster_config_read_error" if isinstance(error, NotFoundError) else "invalid_cluster_yaml"
        raise ClusterInvalid(error.message, hint=error.hint, reason=reason) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        message = f"{FILE_NAME} is invalid: {place}: {first['msg']}"
        raise ClusterInvalid(message, reason="invalid_cluster_yaml") from error


def storage_root(place: str) -> str:
    """The root of a cluster's storage: an address as it is, or what the configuration of a directory names."""
    if "://" in place:
        return place
    directory = Path(place)
    storage = read_config(directory).storage
    if storage is None:
        return str(directory)
    return storage if "://" in storage else str(directory / storage)
