"""Changes: the difference between desired resources and the applied ones, by address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from omnigraph.cluster.declare.desired import DesiredResource
from omnigraph.cluster.resources import Kind, kind_of
from omnigraph.cluster.state import Resource


class Operation(StrEnum):
    """Operations on a resource."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class Metadata(StrEnum):
    """Changes of a resource whose file stays."""

    POLICY_BINDINGS = "policy_bindings"
    EMBEDDING_PROFILE = "embedding_profile"


@dataclass(frozen=True, slots=True)
class BindingChange:
    """The bindings of a policy before and after."""

    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. ``metadata`` names the part that changes if the digest stays."""

    address: str
    kind: Kind
    operation: Operation
    before_digest: str | None
    after_digest: str | None
    metadata: Metadata | None = None
    binding_change: BindingChange | None = None


def differences(desired: Mapping[str, DesiredResource], applied: Mapping[str, Resource]) -> list[Change]:
    """All changes, sorted by address. Resources of kinds that this release does not know stay as they are."""
    found = []
    for address in sorted(desired.keys() | applied.keys()):
        kind = kind_of(address)
        after = desired.get(address)
        wanted = None if after is None else after.recorded
        change = None if kind is None else _change(address, kind, applied.get(address), wanted)
        if change is not None:
            found.append(change)
    return found


def _change(address: str, kind: Kind, before: Resource | None, after: Resource | None) -> Change | None:
    if before is None:
        return None if after is None else Change(address, kind, Operation.CREATE, None, after.digest)
    if after is None:
        return Change(address, kind, Operation.DELETE, before.digest, None)
    bindings = BindingChange(tuple(sorted(before.applies_to or ())), tuple(sorted(after.applies_to or ())))
    is_bound_anew = bindings.before != bindings.after
    if before.digest != after.digest:
        metadata = None
    elif is_bound_anew:
        metadata = Metadata.POLICY_BINDINGS
    elif before.embedding_profile != after.embedding_profile:
        metadata = Metadata.EMBEDDING_PROFILE
    else:
        return None
    return Change(
        address,
        kind,
        Operation.UPDATE,
        before.digest,
        after.digest,
        metadata,
        bindings if is_bound_anew else None,
    )
