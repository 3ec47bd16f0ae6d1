"""A resolution as a change of one branch: prepared on the captured state, checked like a load, staged as deltas.

The groups were found on one version of the node table. If the branch has moved on since, the entities of the groups
must be as they were; otherwise the change is refused, and the caller compares again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from omnigraph.compare.tables import changes_schema, column_blobs, compared, flat, is_blob, rows_of
from omnigraph.core.tables import Counts, TablePin
from omnigraph.errors import ReadSetConflict
from omnigraph.history.plan import CommitInfo, PublishPlan
from omnigraph.manifest.reader import Capture
from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.rows.validate import TableDelta
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.storage.tables.difference import ADDRESS
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import WriteOptions
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.plan import PreparedLoad, prepare_load
from omnigraph.write.resolve.edges import EdgeMover, MovedEdges, edges_of
from omnigraph.write.resolve.fold import Fold, Folding
from omnigraph.write.resolve.groups import Grouping
from omnigraph.write.vectors.mutation_vectors import MutationVectors


@dataclass(frozen=True)
class Images:
    """The entities of one type that a resolution changes, before and after, in the schema of changes."""

    entity: Entity
    pin: TablePin
    before: pa.Table
    after: pa.Table


@dataclass(frozen=True)
class PreparedResolve:
    """A validated resolution."""

    load: PreparedLoad | None
    images: tuple[Images, ...] = ()
    edges: tuple[MovedEdges, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to fold."""
        return self.load is None

    @property
    def fingerprint(self) -> str:
        """Constant: a change of what was read is found when the change is prepared again."""
        return ""

    def counts(self, capture: Capture) -> Mapping[str, Counts]:
        return {} if self.load is None else self.load.counts(capture)

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        assert self.load is not None, "an empty change is not staged"
        return self.load.stage(capture, info, options)


@dataclass
class Resolver:
    """Prepares the change of some groups."""

    store: Store
    node: NodeType
    grouping: Grouping
    policies: Folding
    vectors: MutationVectors
    prepared: PreparedResolve = field(default_factory=lambda: PreparedResolve(None))

    def prepare(self, capture: Capture) -> PreparedResolve:
        """Fold nodes and edges on a state, and check the result."""
        self._check_unchanged(capture)
        moved = self._moved_edges(capture)
        if not self.grouping.groups:
            self.prepared = PreparedResolve(None)
            return self.prepared
        groups = list(self.grouping.groups.values())
        folded = self.grouping.fold(groups)
        pin = capture.state.tables[self.node.table_key]
        rows = self._bytes(self.node, self.grouping.pin, folded, self.grouping.rows(set()), folded.rows)
        deltas = [TableDelta(self.node, self._embedded(rows, pin), frozenset(self.grouping.survivors))]
        deltas += [TableDelta(item.edge, self._edge_rows(item, capture), item.removed) for item in moved]
        load = prepare_load(self.store, capture, deltas, LoadMode.MERGE, Violations())
        images = [Images(self.node, self.grouping.pin, self._members(), _image(self.node, folded.rows))]
        images += [self._edge_images(item, capture) for item in moved]
        self.prepared = PreparedResolve(load, tuple(images), tuple(moved))
        return self.prepared

    def _check_unchanged(self, capture: Capture) -> None:
        """Raise if an entity of a group is not what it was when it was compared."""
        before, now = self.grouping.pin, capture.state.tables.get(self.node.table_key)
        if now is not None and now.lance_version == before.lance_version:
            return
        ids = sorted({id_ for ids in self.grouping.groups.values() for id_ in ids})
        if now is not None:
            rows = tuple(rows_of(self.store, self.node, pin, ids) for pin in (before, now))
            found = compared(self.store, self.node, (before, now), rows)
            if found.is_empty:
                return
            ids = found.ids()
        raise ReadSetConflict(
            f"{self.node.name} {ids[0]!r} was changed while it was compared",
            hint="run the resolution again",
            table=self.node.table_key,
            entity_id=ids[0],
        )

    def _moved_edges(self, capture: Capture) -> list[MovedEdges]:
        """Move the edges; groups whose edges cannot be folded are left, and the others moved again without them."""
        pins = capture.state.tables
        mover = EdgeMover(self.store, pins, self.grouping.rules)
        while True:
            survivors = self.grouping.survivors
            found = [
                mover.move(edge, self.node, survivors, replace(self.policies, entity=edge))
                for edge in edges_of(capture.catalog, self.node, pins)
                if survivors
            ]
            refused = {
                survivor: reason
                for item in found
                for survivor, reason in item.refused.items()
                if survivor in self.grouping.groups
            }
            if not refused:
                return [item for item in found if item.rows.num_rows or item.removed]
            self.grouping.drop(refused)

    def _members(self) -> pa.Table:
        wanted = {id_ for ids in self.grouping.groups.values() for id_ in ids}
        rows = self.grouping.rows(wanted)
        return rows.filter(pa.array([id_ in wanted for id_ in rows.column(ID).to_pylist()]))

    def _edge_rows(self, item: MovedEdges, capture: Capture) -> pa.Table:
        pin = capture.state.tables[item.edge.table_key]
        return self._bytes(item.edge, pin, item.folded, item.before, item.rows)

    def _edge_images(self, item: MovedEdges, capture: Capture) -> Images:
        pin = capture.state.tables[item.edge.table_key]
        touched = {*item.removed, *item.rows.column(ID).to_pylist()}
        kept = pa.array([id_ in touched for id_ in item.before.column(ID).to_pylist()], pa.bool_())
        return Images(item.edge, pin, item.before.filter(kept), _image(item.edge, item.rows))

    def _bytes(self, entity: Entity, pin: TablePin, folded: Fold, rows: pa.Table, result: pa.Table) -> pa.Table:
        """Folded rows in the stored form: blobs with their bytes, read at the rows that they were taken from."""
        schema = table_schema(entity)
        addresses = flat(rows, ADDRESS)
        columns = []
        for stored in schema:
            column = flat(result, stored.name)
            if is_blob(stored):
                taken = addresses.take(pa.array(folded.sources[stored.name]))
                found = column_blobs(self.store, entity, pin, stored.name, taken.filter(column.is_valid()))
                places = pa.array(_counted(column.is_valid().to_pylist()), pa.int64())
                column = found.cast(stored.type).take(places)
            columns.append(column)
        return pa.Table.from_arrays(columns, schema=pa.schema([item.with_nullable(True) for item in schema]))

    def _embedded(self, rows: pa.Table, pin: TablePin) -> pa.Table:
        """Vectors of texts that no folded entity had are embedded, if there is an embedder."""
        gaps = self.vectors.gaps(self.node, rows, rows.column(ID).to_pylist())
        return self.vectors.filled(self.node, rows, gaps, pin) if gaps else rows


def _counted(has_value: list[bool]) -> list[int | None]:
    """Numbers for the rows that have a value, None for the others."""
    number = -1
    found: list[int | None] = []
    for has in has_value:
        number += has
        found.append(number if has else None)
    return found


def _image(entity: NodeType | EdgeType, rows: pa.Table) -> pa.Table:
    return rows.cast(changes_schema(entity))
