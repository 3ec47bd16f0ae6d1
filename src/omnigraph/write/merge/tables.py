"""Tables of the merged graph, and resolutions that take one side of a broken constraint.

Each side is a valid graph. So a constraint that only the merged graph breaks holds again if every entity involved is
taken from one side: the edge and its endpoint, both holders of a unique value, or all edges of a source node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import compared, rows_of
from omnigraph.core.tables import TablePin
from omnigraph.rows.ends.references import reference, reference_texts
from omnigraph.rows.violations import Violation, ViolationCode
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.tables.scan import find_ids
from omnigraph.write.committed_graph import CommittedGraph
from omnigraph.write.merge.images import SOURCE, TARGET, placed
from omnigraph.write.merge.settling import leave, put, without
from omnigraph.write.merge.sides import GraphSides
from omnigraph.write.merge.table import TableMerge, untouched


@dataclass(frozen=True)
class MergedTable:
    """One table of the merged graph: the version it stands on, the side of that version, and the changes on top."""

    pin: TablePin
    is_adopted: bool
    merge: TableMerge | None = None
    is_open: bool = False
    """True if both sides changed it and its rows are not merged yet."""

    @property
    def is_written(self) -> bool:
        return self.merge is not None and not self.merge.is_empty

    @property
    def is_kept(self) -> bool:
        """True if the table of the target is unchanged."""
        return not self.is_adopted and not self.is_written


def keep_side(
    sides: GraphSides, tables: dict[str, MergedTable], violations: Iterable[Violation], *, of_source: bool
) -> None:
    """Take every entity of some broken constraints from one side."""
    kept: dict[str, set[str]] = {}
    starts: dict[str, set[str]] = {}
    for violation in violations:
        key = violation.table_key
        assert key is not None and violation.other_id is not None, "a constraint between two entities names both"
        if violation.code is ViolationCode.CARDINALITY:
            edge = sides.entity(key)
            assert isinstance(edge, EdgeType) and violation.other_table is not None
            name = violation.other_table.partition(":")[2]
            starts.setdefault(key, set()).add(reference(edge.source, name, violation.other_id))
            continue
        assert violation.entity_id is not None
        other = violation.other_table or key
        kept.setdefault(key, set()).add(violation.entity_id)
        kept.setdefault(other, set()).add(violation.other_id)
    for key, nodes in starts.items():
        kept.setdefault(key, set()).update(_edges_from(sides, tables[key], nodes))
    for key, ids in kept.items():
        tables[key] = _as_side(sides, tables[key], ids, of_source)


def _edges_from(sides: GraphSides, table: MergedTable, nodes: set[str]) -> set[str]:
    """Every edge from one of the nodes, given by reference, on either side or in the merged table."""
    edge = sides.entity(table.pin.key)
    assert isinstance(edge, EdgeType)
    found = {
        id_
        for state in (sides.source, sides.target)
        for id_ in CommittedGraph(sides.store, state, set())
        .edges_at(edge, "src", sorted(nodes))
        .column("id")
        .to_pylist()
    }
    if table.merge is not None:
        keys = table.merge.keys()
        ends = zip(keys.column("id").to_pylist(), reference_texts(edge.source, keys), strict=True)
        found.update(id_ for id_, source in ends if source in nodes)
    return found


def _as_side(sides: GraphSides, table: MergedTable, ids: set[str], of_source: bool) -> MergedTable:
    """A table with some entities taken from one side."""
    key = table.pin.key
    entity = sides.entity(key)
    merge = table.merge or untouched(entity)
    own, other = (sides.content(key, of_source=of_source_) for of_source_ in (table.is_adopted, not table.is_adopted))
    rows = tuple(rows_of(sides.store, entity, pin, sorted(ids)) for pin in (own, other))
    if table.is_adopted == of_source:
        return replace(table, merge=without(leave(merge, ids), ids.difference(rows[0].column("id").to_pylist())))
    apart = set(compared(sides.store, entity, (own, other), rows).ids())
    taken = placed(entity, _of(rows[1], apart), side=SOURCE if of_source else TARGET)
    merge = put(leave(merge, ids), apart, taken, find_ids(sides.store, table.pin, sorted(apart)))
    return replace(table, merge=without(merge, ids.difference(rows[1].column("id").to_pylist())))


def _of(rows: pa.Table, ids: set[str]) -> pa.Table:
    return rows.filter(pc.is_in(rows.column("id"), value_set=pa.array(sorted(ids), pa.string())))


def bring(sides: GraphSides, table: MergedTable, ids: Iterable[str]) -> MergedTable:
    """A table whose rows to write include some entities of the version it stands on, so that they can be changed."""
    entity = sides.entity(table.pin.key)
    merge = table.merge or untouched(entity)
    missing = sorted(set(ids).difference(merge.ids()))
    if not missing:
        return replace(table, merge=merge)
    found = rows_of(sides.store, entity, sides.content(table.pin.key, of_source=table.is_adopted), missing)
    rows = placed(entity, found, side=SOURCE if table.is_adopted else TARGET)
    return replace(table, merge=put(merge, missing, rows, find_ids(sides.store, table.pin, missing)))
