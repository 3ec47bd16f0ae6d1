"""The state of a cluster: the resources that were applied, with their digests. Unknown members are fatal."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from omnigraph.cluster.resources import STATE_PATH
from omnigraph.errors import ClusterInvalid
from omnigraph.storage.tables.store import Store

VERSION: Final = 1


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Resource(_Closed):
    """One applied resource."""

    digest: str = Field(pattern="^[0-9a-f]{64}$")
    applies_to: list[str] | None = None
    embedding_provider: str | None = None
    embedding_profile: dict[str, Any] | None = None
    external_blob_policy: Any = None


class AppliedRevision(_Closed):
    """The configuration that was applied last."""

    config_digest: str | None = None
    resources: dict[str, Resource] = Field(default_factory=dict)


StatusWord = Literal["pending", "planned", "applying", "applied", "drifted", "blocked", "error"]


class ResourceStatus(_Closed):
    """The status of a resource, as the last run of ``apply`` or ``refresh`` saw it."""

    status: StatusWord
    conditions: list[Any] = Field(default_factory=list)
    message: str | None = None


class ClusterState(_Closed):
    """``state.json``."""

    version: int
    state_revision: int
    applied_revision: AppliedRevision
    resource_statuses: dict[str, ResourceStatus] = Field(default_factory=dict)
    approval_records: Any = None
    recovery_records: Any = None
    observations: Any = None


def read_state(store: Store) -> ClusterState:
    """The state below a root; raises ClusterInvalid."""
    content = store.objects.read(STATE_PATH)
    if content is None:
        raise ClusterInvalid(
            f"there is no state of a cluster at {store.root}",
            hint="apply the cluster's configuration first",
            reason="cluster_state_missing",
        )
    return parse_state(content, str(store.root))


def parse_state(content: bytes, root: str) -> ClusterState:
    """The state in a text; raises ClusterInvalid."""
    try:
        state = ClusterState.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ClusterInvalid(
            f"{STATE_PATH} at {root} is invalid: {place}: {first['msg']}", reason="invalid_state_json"
        ) from error
    if state.version != VERSION:
        raise ClusterInvalid(
            f"{STATE_PATH} has version {state.version}, and this release reads version {VERSION}",
            hint="use the release that wrote it",
            reason="unsupported_state_version",
        )
    return state


def state_content(state: ClusterState) -> bytes:
    """The text of a state. Members without a value are left out, as Omnigraph 0.10 does."""
    return state.model_dump_json(indent=2, exclude_none=True).encode() + b"\n"
