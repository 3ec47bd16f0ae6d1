"""Source, target and merge base of a merge, with the changes of each side per table, read lazily and cached.

Invariant: the *content* of a side is independent of maintenance. Compaction and index builds rewrite files and leave
entities as they are, so ``content`` goes back past the trailing maintenance commits of a side. A table that was only
compacted equals the base and is not read. With commits from the base on (M = maintenance, W = write):

===========  ===========================  =====================================
commits      content of the side          compared with the base
===========  ===========================  =====================================
none         version of the base          equal, nothing read
M            version of the base          equal, nothing read
W            version after W              changed
W M M        version after W              changed, fragments of W only
M W          version after W              changed, all rows that M rewrote
===========  ===========================  =====================================

After criss-cross merges there are several bases (``write.merge.crossed_bases``).
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
from omnigraph.storage.tables.lance_table import IDS_PER_FILTER_MAX
from omnigraph.storage.tables.store import Store
from omnigraph.write.merge.crossed_bases import CrossedPins, crossed_changes
from omnigraph.write.property_policies import policy_of
from omnigraph.write.type_tables import entities, table_id


@dataclass(frozen=True)
class Crossing:
    """A criss-cross: all best common ancestors of two heads, the best common ancestors of those, and the policies."""

    bases: tuple[ManifestState, ...]
    origins: tuple[ManifestState, ...]
    policies: Policies

    def pins(self, key: str, source: TablePin | None, target: TablePin | None) -> CrossedPins:
        """The pins of one table in all states."""
        bases, origins = (tuple(state.tables.get(key) for state in some) for some in (self.bases, self.origins))
        return CrossedPins(source, target, bases, origins)

    def aligned(self, catalog: Catalog) -> Crossing:
        """The same states with tables keyed by the types of another schema."""
        bases, origins = (tuple(aligned(state, catalog) for state in some) for some in (self.bases, self.origins))
        return replace(self, bases=bases, origins=origins)


@dataclass
class GraphSides:
    """Source, target and base of a merge. ``catalog`` is that of the merged schema, ``catalogs`` those of both sides.

    Tables of all three states are keyed by the types of the merged schema; a table without such a type by its location.
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
    """True for a revert: the source is an earlier state of the target, not the head of a branch."""
    _content: dict[tuple[bool, str], TablePin | None] = field(default_factory=dict)
    _changes: dict[tuple[bool, str], TableChanges] = field(default_factory=dict)
    _deleted: dict[tuple[bool, str], set[str]] = field(default_factory=dict)

    def entity(self, key: str) -> Entity:
        """The type of a table."""
        kind, name = key.split(":", 1)
        return self.catalog.nodes[name] if kind == "node" else self.catalog.edges[name]

    def is_dropped(self, key: str) -> bool:
        """True if the merged schema has no type for a table, which is then keyed by location."""
        return ":" not in key

    def pin(self, key: str) -> TablePin:
        """A pin of a table from any state that has it."""
        states = (self.target, self.source, self.base)
        return next(state.tables[key] for state in states if key in state.tables)

    def content(self, key: str, *, of_source: bool) -> TablePin | None:
        """The oldest version with the content that a side has."""
        place = (of_source, key)
        if place not in self._content:
            state = self.source if of_source else self.target
            commits = self.relation.only_source if of_source else self.relation.only_target
            self._content[place] = _before_maintenance(state, key, commits, self.is_readable)
        return self._content[place]

    def is_readable(self, commit_id: str) -> bool:
        """True if the state at a commit may be read: cleanup has not given it up."""
        if commit_id == self.base.head:
            return True  # it has been read already
        commit = self._commits.get(commit_id) or self._lineage.find(commit_id)
        return commit is not None and self._record.given_up_since(commit) is None

    @cached_property
    def demands(self) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        """Requirements of the merged schema beyond those of the source, and beyond those of the target."""
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
        """True if a side may have changed entities of a table."""
        return not self.is_as_base(key, self.content(key, of_source=of_source))

    def is_as_base(self, key: str, pin: TablePin | None) -> bool:
        """True if a version equals that of the base, or of every base after a criss-cross."""
        return all(same_version(pin, state.tables.get(key)) for state in self._bases())

    def _bases(self) -> tuple[ManifestState, ...]:
        return (self.base,) if self.crossing is None else self.crossing.bases

    def changes(self, key: str, *, of_source: bool, ids: list[str] | None = None) -> TableChanges:
        """Changes of a side since the base, restricted to some ids if these fit into one filter."""
        place = (of_source, key)
        if self.crossing is not None and place not in self._changes:
            self._read_crossed(key, self.crossing)
        if place in self._changes:
            return self._changes[place]
        few = ids if ids is not None and len(ids) <= IDS_PER_FILTER_MAX else None
        pins = (self.base.tables.get(key), self.content(key, of_source=of_source))
        found = table_changes(self.store, self.entity(key), *pins, few)
        if few is None:
            # A restricted answer is not cached: later checks need the changes of all ids.
            self._changes[place] = found
        return found

    def differs_from_bases(self, key: str, entity: Entity, *, of_source: bool) -> bool:
        """True if a side has other entities of a table than a base. The merged schema may lack the type."""
        pin = self.content(key, of_source=of_source)
        bases = (state.tables.get(key) for state in self._bases())
        return any(not table_changes(self.store, entity, base, pin).is_empty for base in bases)

    def know(self, key: str, changes: TableChanges) -> None:
        """Cache the changes of the target that Spark found in a table; key columns are enough."""
        self._changes[False, key] = changes

    def bare(self) -> GraphSides:
        """The same sides with empty caches, small enough to send to tasks."""
        return replace(self, _content={}, _changes={}, _deleted={})

    def _read_crossed(self, key: str, crossing: Crossing) -> None:
        """Read the changes of both sides since several bases; one comparison yields both."""
        entity = self.entity(key)
        pins = crossing.pins(key, *(self.content(key, of_source=side) for side in (True, False)))
        found = crossed_changes(self.store, entity, pins, partial(policy_of, entity, crossing.policies))
        self._changes[True, key], self._changes[False, key] = found

    def deleted(self, key: str, *, of_source: bool) -> set[str]:
        """Ids of a base that a side deleted. Commits record deletions, so most tables are not read."""
        place = (of_source, key)
        # After a criss-cross the cached changes lack entities that both sides deleted, so the tables are compared.
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
        """Keys of all tables of the three states."""
        return sorted(self.base.tables.keys() | self.source.tables.keys() | self.target.tables.keys())


def aligned(state: ManifestState, catalog: Catalog) -> ManifestState:
    """The state with tables keyed by the types of another schema, matched by location.

    A renamed type keeps the location of its table. A table without a type there is keyed by its location.
    """
    keys = {table_id(entity).location: entity.table_key for entity in entities(catalog)}
    named = {keys.get(pin.location, pin.location): pin for pin in state.tables.values()}
    return replace(state, tables={key: replace(pin, key=key) for key, pin in named.items()})


def same_version(one: TablePin | None, other: TablePin | None) -> bool:
    """True if two pins name one Lance version; ``table_version`` differs between branches."""
    if one is None or other is None:
        return one is other
    return (one.location, one.lance_version) == (other.location, other.lance_version)


def relate_heads(manifests: Manifests, source: ManifestState, target: ManifestState) -> tuple[Relation, GraphCommit]:
    """The relation of two heads, and their merge base."""
    lineage = Lineage(manifests.store, source, target)
    relation = relate(source.head, target.head, lineage)
    if relation.base is None:
        raise UsageError(f"{source.branch} and {target.branch} have no commit in common")
    return relation, lineage(relation.base)


def crossing_of(
    manifests: Manifests, relation: Relation, source: ManifestState, target: ManifestState, policies: Policies
) -> Crossing | None:
    """All merge bases of two heads with their own bases, if there are several; else None."""
    if len(relation.bases) < 2:
        return None
    lineage = Lineage(manifests.store, source, target)
    bases = tuple(manifests.at(lineage(id_)) for id_ in relation.bases)
    above = dict.fromkeys(id_ for pair in combinations(relation.bases, 2) for id_ in relate(*pair, lineage).bases)
    commits = [lineage(id_) for id_ in above]
    # All or none: with one origin given up by cleanup, the base that changed a value is not known.
    is_known = all(manifests.record().given_up_since(commit) is None for commit in commits)
    return Crossing(bases, tuple(manifests.at(commit) for commit in commits) if is_known else (), policies)


def state_at(manifests: Manifests, commit: GraphCommit, *known: ManifestState) -> ManifestState:
    """The state at a commit; one of the known states if it is the head of it, else read."""
    at_hand = next((state for state in known if state.head == commit.id), None)
    return at_hand if at_hand is not None else manifests.at(commit)


def _before_maintenance(
    state: ManifestState, key: str, commits: Iterable[GraphCommit], is_readable: Callable[[str], bool]
) -> TablePin | None:
    """The pin of a table before its trailing maintenance commits, walking the first-parent line of ``commits``.

    The walk stops at the first commit that changed entities, and before a state that cleanup has given up.
    """
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
