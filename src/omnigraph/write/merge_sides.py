"""Two heads and their merge base, as a merge looks at them: what each side did to each table, read only when asked.

Maintenance leaves the content of a table as it was. So each side's newest versions are taken back to before its last
maintenance where only the content matters: a compacted table is no changed table, and is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.core.tables import TablePin
from omnigraph.errors import UsageError
from omnigraph.history.commits import Relation, relate
from omnigraph.history.retention import Record
from omnigraph.history.state import ManifestState
from omnigraph.manifest.commit_log import Lineage
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.records import newest_record
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.store import Store
from omnigraph.storage.tables import IDS_PER_FILTER_MAX
from omnigraph.write.changes import TableChanges, deleted_ids, table_changes


@dataclass
class GraphSides:
    """The source and the target of a merge with their base. ``catalog`` is that of the merged schema."""

    store: Store
    relation: Relation
    base: ManifestState
    source: ManifestState
    target: ManifestState
    catalog: Catalog
    _content: dict[tuple[bool, str], TablePin | None] = field(default_factory=dict)
    _changes: dict[tuple[bool, str], TableChanges] = field(default_factory=dict)
    _deleted: dict[tuple[bool, str], set[str]] = field(default_factory=dict)

    def entity(self, key: str) -> Entity:
        """The type of a table."""
        kind, name = key.split(":", 1)
        return self.catalog.nodes[name] if kind == "node" else self.catalog.edges[name]

    def content(self, key: str, *, of_source: bool) -> TablePin | None:
        """A version with the content that a side has, as near to the base as maintenance allows."""
        place = (of_source, key)
        if place not in self._content:
            state = self.source if of_source else self.target
            commits = self.relation.only_source if of_source else self.relation.only_target
            self._content[place] = _before_maintenance(state, key, commits, self.is_readable)
        return self._content[place]

    def is_readable(self, commit_id: str) -> bool:
        """Whether the state at a commit may be read: cleanup may have given it up."""
        if commit_id == self.base.head:
            return True
        commit = self._commits.get(commit_id) or self._lineage.find(commit_id)
        return commit is not None and self._record.given_up_since(commit) is None

    @cached_property
    def _commits(self) -> dict[str, GraphCommit]:
        return {commit.id: commit for commit in (*self.relation.only_source, *self.relation.only_target)}

    @cached_property
    def _lineage(self) -> Lineage:
        return Lineage(self.store, self.source, self.target)

    @cached_property
    def _record(self) -> Record:
        return newest_record(self.store, Record())

    def is_changed(self, key: str, *, of_source: bool) -> bool:
        """Whether a side may have changed entities of a table."""
        return not same_version(self.content(key, of_source=of_source), self.base.tables.get(key))

    def changes(self, key: str, *, of_source: bool, ids: list[str] | None = None) -> TableChanges:
        """What a side changed since the base. Of some ids, if these are few enough to be asked for."""
        place = (of_source, key)
        if place in self._changes:
            return self._changes[place]
        few = ids if ids is not None and len(ids) <= IDS_PER_FILTER_MAX else None
        pins = (self.base.tables.get(key), self.content(key, of_source=of_source))
        found = table_changes(self.store, self.entity(key), *pins, few)
        if few is None:
            self._changes[place] = found
        return found

    def deleted(self, key: str, *, of_source: bool) -> set[str]:
        """Ids of the base that a side has not any more. The commits say if there can be any."""
        place = (of_source, key)
        if place in self._changes:
            return set(self._changes[place].deleted.column("id").to_pylist())
        if place not in self._deleted:
            commits = self.relation.only_source if of_source else self.relation.only_target
            is_possible = len(self.relation.bases) > 1 or any(
                change.deleted for commit in commits for change in commit.tables if change.key == key
            )
            pins = (self.base.tables.get(key), self.content(key, of_source=of_source))
            self._deleted[place] = deleted_ids(self.store, *pins) if is_possible else set()
        return self._deleted[place]

    def table_keys(self) -> list[str]:
        """Every table of the three states."""
        return sorted(self.base.tables.keys() | self.source.tables.keys() | self.target.tables.keys())


def same_version(one: TablePin | None, other: TablePin | None) -> bool:
    """Whether two pins are one version, however each branch counts."""
    if one is None or other is None:
        return one is other
    return (one.location, one.lance_version) == (other.location, other.lance_version)


def relate_heads(manifests: Manifests, source: ManifestState, target: ManifestState) -> tuple[Relation, GraphCommit]:
    """How two heads are related, and their merge base."""
    lineage = Lineage(manifests.store, source, target)
    relation = relate(source.head, target.head, lineage)
    if relation.base is None:
        raise UsageError(f"{source.branch} and {target.branch} have no commit in common")
    return relation, lineage(relation.base)


def state_at(manifests: Manifests, commit: GraphCommit, *known: ManifestState) -> ManifestState:
    """The state at a commit, which may be the head of one that is at hand."""
    at_hand = next((state for state in known if state.head == commit.id), None)
    return at_hand if at_hand is not None else manifests.at(commit)


def _before_maintenance(
    state: ManifestState, key: str, commits: Iterable[GraphCommit], is_readable: Callable[[str], bool]
) -> TablePin | None:
    """The pin of a table without the maintenance that nothing else followed, among commits that are all its own."""
    pin = state.tables.get(key)
    by_id = {commit.id: commit for commit in commits}
    current = by_id.get(state.head)
    while current is not None:
        change = next((item for item in current.tables if item.key == key), None)
        if change is not None:
            if current.kind is not CommitKind.MAINTENANCE or change.before is None:
                break
            if not is_readable(current.parents[0]):
                break
            pin = TablePin(key, change.location, *change.before)
        current = by_id.get(current.parents[0]) if current.parents else None
    return pin
