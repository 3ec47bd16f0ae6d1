"""Two heads and their merge base, as a merge looks at them: what each side did to each table, read only when asked.

Where histories crossed there are several bases (``write.merge.crossed_bases``). Maintenance leaves the content of a
table as it was. So each side's newest versions are taken back to before its last maintenance where only the content
matters: a compacted table is no changed table, and is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations

from omnigraph.compare.tables import TableChanges, deleted_ids, table_changes
from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.core.tables import TablePin
from omnigraph.errors import UsageError
from omnigraph.history.commits import Relation, relate
from omnigraph.history.merge import Policies
from omnigraph.history.retention import Record
from omnigraph.history.state import ManifestState
from omnigraph.manifest.commit_log import Lineage
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.records import newest_record
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.migrate import steps_between
from omnigraph.schema.steps import Step
from omnigraph.storage.tables.scan import IDS_PER_FILTER_MAX
from omnigraph.storage.tables.store import Store
from omnigraph.write.merge.crossed_bases import CrossedPins, crossed_changes
from omnigraph.write.merge.policies import policy_of
from omnigraph.write.type_tables import entities, table_id


@dataclass(frozen=True)
class Crossing:
    """All best common ancestors of two heads, theirs, and the policies by which they are merged with each other."""

    bases: tuple[ManifestState, ...]
    origins: tuple[ManifestState, ...]
    policies: Policies

    def pins(self, key: str, source: TablePin | None, target: TablePin | None) -> CrossedPins:
        """One table in all states."""
        bases, origins = (tuple(state.tables.get(key) for state in some) for some in (self.bases, self.origins))
        return CrossedPins(source, target, bases, origins)

    def aligned(self, catalog: Catalog) -> Crossing:
        """The same with tables that are named as in another schema."""
        bases, origins = (tuple(aligned(state, catalog) for state in some) for some in (self.bases, self.origins))
        return replace(self, bases=bases, origins=origins)


@dataclass
class GraphSides:
    """The source and the target of a merge with their base. ``catalog`` is that of the merged schema.

    The tables of all three are named as in the merged schema; one whose type is not in it is named by its location.
    ``catalogs`` are those of the source and of the target.
    """

    store: Store
    relation: Relation
    base: ManifestState
    source: ManifestState
    target: ManifestState
    catalog: Catalog
    catalogs: tuple[Catalog, Catalog]
    crossing: Crossing | None = None
    is_undo: bool = False
    """Whether the source is an earlier state of the target, which a revert wants back, and not the head of a branch."""
    _content: dict[tuple[bool, str], TablePin | None] = field(default_factory=dict)
    _changes: dict[tuple[bool, str], TableChanges] = field(default_factory=dict)
    _deleted: dict[tuple[bool, str], set[str]] = field(default_factory=dict)

    def entity(self, key: str) -> Entity:
        """The type of a table."""
        kind, name = key.split(":", 1)
        return self.catalog.nodes[name] if kind == "node" else self.catalog.edges[name]

    def is_dropped(self, key: str) -> bool:
        """Whether the merged schema has no type for a table."""
        return ":" not in key

    def pin(self, key: str) -> TablePin:
        """A table wherever it is."""
        states = (self.target, self.source, self.base)
        return next(state.tables[key] for state in states if key in state.tables)

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
    def demands(self) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        """What the merged schema asks of entities of the source, and of the target, beyond their own schemas."""
        source, target = (
            () if catalog is self.catalog else steps_between(catalog.schema, self.catalog.schema)
            for catalog in self.catalogs
        )
        return source, target

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
        return not self.is_as_base(key, self.content(key, of_source=of_source))

    def is_as_base(self, key: str, pin: TablePin | None) -> bool:
        """Whether a version is that of the base, and of every other one if there are several."""
        return all(same_version(pin, state.tables.get(key)) for state in self._bases())

    def _bases(self) -> tuple[ManifestState, ...]:
        return (self.base,) if self.crossing is None else self.crossing.bases

    def changes(self, key: str, *, of_source: bool, ids: list[str] | None = None) -> TableChanges:
        """What a side changed since the base. Of some ids, if these are few enough to be asked for."""
        place = (of_source, key)
        if self.crossing is not None and place not in self._changes:
            self._read_crossed(key, self.crossing)
        if place in self._changes:
            return self._changes[place]
        few = ids if ids is not None and len(ids) <= IDS_PER_FILTER_MAX else None
        pins = (self.base.tables.get(key), self.content(key, of_source=of_source))
        found = table_changes(self.store, self.entity(key), *pins, few)
        if few is None:
            self._changes[place] = found
        return found

    def differs_from_bases(self, key: str, entity: Entity, *, of_source: bool) -> bool:
        """Whether a side has other entities of a table than a base. The type need not be one of the merged schema."""
        pin = self.content(key, of_source=of_source)
        bases = (state.tables.get(key) for state in self._bases())
        return any(not table_changes(self.store, entity, base, pin).is_empty for base in bases)

    def know(self, key: str, changes: TableChanges) -> None:
        """Take what others found out about the target's changes of a table; the keys are enough."""
        self._changes[False, key] = changes

    def bare(self) -> GraphSides:
        """The same without what was read, to be sent elsewhere."""
        return replace(self, _content={}, _changes={}, _deleted={})

    def _read_crossed(self, key: str, crossing: Crossing) -> None:
        """What both sides changed since several bases."""
        entity = self.entity(key)
        pins = crossing.pins(key, *(self.content(key, of_source=side) for side in (True, False)))
        found = crossed_changes(self.store, entity, pins, partial(policy_of, entity, crossing.policies))
        self._changes[True, key], self._changes[False, key] = found

    def deleted(self, key: str, *, of_source: bool) -> set[str]:
        """Ids of the base, or of one of several, that a side has not any more. The commits say if there can be any."""
        place = (of_source, key)
        if place in self._changes and self.crossing is None:
            return set(self._changes[place].deleted.column("id").to_pylist())
        if place not in self._deleted:
            commits = self.relation.only_source if of_source else self.relation.only_target
            location = self.pin(key).location
            is_possible = self.crossing is not None or any(
                change.deleted for commit in commits for change in commit.tables if change.location == location
            )
            pin = self.content(key, of_source=of_source)
            bases = [state.tables.get(key) for state in self._bases()] if is_possible else []
            self._deleted[place] = {id_ for base in bases for id_ in deleted_ids(self.store, base, pin)}
        return self._deleted[place]

    def table_keys(self) -> list[str]:
        """Every table of the three states."""
        return sorted(self.base.tables.keys() | self.source.tables.keys() | self.target.tables.keys())


def aligned(state: ManifestState, catalog: Catalog) -> ManifestState:
    """A state whose tables are named as in another schema; those that it has no type for by their locations."""
    keys = {table_id(entity).location: entity.table_key for entity in entities(catalog)}
    named = {keys.get(pin.location, pin.location): pin for pin in state.tables.values()}
    return replace(state, tables={key: replace(pin, key=key) for key, pin in named.items()})


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


def crossing_of(
    manifests: Manifests, relation: Relation, source: ManifestState, target: ManifestState, policies: Policies
) -> Crossing | None:
    """All bases of two heads, if there are several."""
    if len(relation.bases) < 2:
        return None
    lineage = Lineage(manifests.store, source, target)
    bases = tuple(manifests.at(lineage(id_)) for id_ in relation.bases)
    above = dict.fromkeys(id_ for pair in combinations(relation.bases, 2) for id_ in relate(*pair, lineage).bases)
    commits = [lineage(id_) for id_ in above]
    is_known = all(manifests.record().given_up_since(commit) is None for commit in commits)
    return Crossing(bases, tuple(manifests.at(commit) for commit in commits) if is_known else (), policies)


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
        change = next((item for item in current.tables if pin is not None and item.location == pin.location), None)
        if change is not None:
            if current.kind is not CommitKind.MAINTENANCE or change.before is None:
                break
            if not is_readable(current.parents[0]):
                break
            pin = TablePin(key, change.location, *change.before)
        current = by_id.get(current.parents[0]) if current.parents else None
    return pin
