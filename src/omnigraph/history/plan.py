"""Publish plans: a staged change and the preconditions under which it is valid.

A plan holds neither handles nor data, only names of staged versions; applying it to a state is a pure function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import Enum

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.commit import CommitKind, GraphCommit, ManifestPlace, TableChange
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.history.state import ManifestState


class WriteMode(Enum):
    """Way in which a plan changes a table. The mode decides how a concurrent change of the same table is handled."""

    APPEND = "append"
    """Adds entities, after checking that their ids are unused."""
    UPSERT = "upsert"
    """Adds or replaces whole entities by id."""
    ADJUST = "adjust"
    """Changes entities by expressions over their own values."""
    MODIFY = "modify"
    """Changes or deletes entities that were found by reading."""
    OVERWRITE = "overwrite"
    """Replaces all entities."""
    REWRITE = "rewrite"
    """Other files, same entities."""
    MERGE = "merge"
    """Applies the changes of another branch, decided entity by entity."""
    ALTER = "alter"
    """Same entities in other columns, or under another name."""
    CREATE = "create"
    """A table that did not exist."""
    DROP = "drop"
    """Takes the table out of the state."""
    SEAL = "seal"
    """Pins another version of an external table, whose rows are outside the graph."""


@dataclass(frozen=True, slots=True)
class TableWrite:
    """One staged table: its new version (None for a drop), and counts of changed entities."""

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
    """Metadata of a commit. The id is minted before any write, so that an unclear outcome can be looked up."""

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
    """A staged change. ``reads`` are tables that validation read and the plan does not write.

    ``merged`` are the commits of another branch that this one brings into the history, parents before children.
    ``fence`` is the number of the newest fence known before the first of its files was written. The publisher refuses
    the plan behind a newer one, because that cleanup may have deleted those files.
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

    @property
    def versions(self) -> list[tuple[str, int]]:
        """The table versions that the plan publishes: their tables' locations and their numbers."""
        return [(item.location, item.lance_version) for item in self.writes if item.lance_version is not None]


def apply_plan(state: ManifestState, plan: PublishPlan, version: int) -> ManifestState:
    """The state after the plan, as version ``version`` of the manifest. Other pins are unchanged."""
    tables = dict(state.tables)
    # A renamed table has another key and the same location: its version count continues.
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
    """The commit time, at least 1 us after the youngest parent: clocks differ, and ``relate`` relies on this order."""
    return max(moment_us, *(parent.created_at_us + 1 for parent in parents), 0)
