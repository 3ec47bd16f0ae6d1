"""What a writer hands to the publisher: the change and the conditions under which it is right.

A plan holds no handle and no data, only names of staged versions; applying it to a state is pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from omnigraph.core.commit import CommitKind, GraphCommit, ManifestPlace, TableChange
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.history.state import ManifestState


class WriteMode(Enum):
    """How a plan changes a table. It decides what another writer's change of the same table means."""

    APPEND = "append"
    """Adds entities, after checking that nothing has their ids."""
    UPSERT = "upsert"
    """Adds or replaces whole entities by id, whatever was there."""
    MODIFY = "modify"
    """Changes or deletes entities that were found by reading."""
    OVERWRITE = "overwrite"
    """Replaces all entities."""
    REWRITE = "rewrite"
    """Other files, same entities."""
    MERGE = "merge"
    """Brings what another branch changed, decided entity by entity."""
    ALTER = "alter"
    """Same entities in other columns, or under another name."""
    CREATE = "create"
    """A table that did not exist."""
    DROP = "drop"
    """Takes the table out of the state."""


@dataclass(frozen=True, slots=True)
class TableWrite:
    """One staged table: its new version, or None for a drop, and how many entities changed how."""

    key: str
    location: str
    mode: WriteMode
    lance_version: int | None
    rows: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """What the caller says about a write. The id is minted before anything is written."""

    id: str
    kind: CommitKind
    created_at_us: int
    actor: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    merged_parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """A staged change. ``reads`` are tables that validation looked at without writing them.

    ``merged`` are the commits of another branch that this one brings into the history, parents before children.
    ``fence`` is the number of the newest fence that was known before the first of its files was written: behind a newer
    one, the plan is never published.
    """

    info: CommitInfo
    base: ManifestState
    writes: tuple[TableWrite, ...]
    reads: frozenset[str] = frozenset()
    expected_head: str | None = None
    new_schema: str | None = None
    files: tuple[FileRecord, ...] = ()
    merged: tuple[GraphCommit, ...] = ()
    fence: int = 0


def apply_plan(state: ManifestState, plan: PublishPlan, version: int) -> ManifestState:
    """The state after the plan, as version ``version`` of the manifest. Pins the plan does not write stay."""
    tables = dict(state.tables)
    # A table that is renamed is found where it lies, and goes on counting its versions.
    located = {pin.location: pin for pin in state.tables.values()}
    changes: list[TableChange] = []
    for write in plan.writes:
        old = tables.get(write.key)
        before = None if old is None else (old.lance_version, old.table_version, old.rows)
        if write.lance_version is None:
            tables.pop(write.key, None)
            changes.append(TableChange(write.key, write.location, before, None, deleted=write.deleted))
            continue
        same = located.get(write.location)
        table_version = 1 if same is None else same.table_version + 1
        pin = TablePin(write.key, write.location, write.lance_version, table_version, write.rows)
        tables[write.key] = pin
        after = (pin.lance_version, pin.table_version, pin.rows)
        changes.append(
            TableChange(write.key, write.location, before, after, write.inserted, write.updated, write.deleted)
        )
    counter = state.counter + 1
    schema_digest = plan.new_schema or state.schema_digest
    info = plan.info
    commit = GraphCommit(
        id=info.id,
        parents=((state.head,) if state.head else ()) + info.merged_parents,
        branch=state.branch,
        kind=info.kind,
        created_at_us=_later_than((*state.commits[-1:], *plan.merged[-1:]), info.created_at_us),
        manifest=ManifestPlace(state.incarnation, version, counter),
        schema_digest=schema_digest,
        actor=info.actor,
        message=info.message,
        idempotency_key=info.idempotency_key,
        tables=tuple(changes),
        provenance=info.provenance,
        files=plan.files,
    )
    return replace(
        state,
        version=version,
        counter=counter,
        head=commit.id,
        schema_digest=schema_digest,
        tables=tables,
        commits=(*state.commits, *plan.merged, commit),
        unconfirmed=None,
    )


def _later_than(parents: Iterable[GraphCommit], moment_us: int) -> int:
    """The moment, or just after the youngest parent's: clocks differ, a commit is younger than its parents."""
    return max(moment_us, *(parent.created_at_us + 1 for parent in parents), 0)
