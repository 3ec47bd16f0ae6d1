"""Tables of the merged graph, and broken constraints that the caller settles for one side.

Each side is a valid graph. So where the two together break a constraint, taking everything it is about as one side has
it mends it: the edge and the node at its end, both holders of a unique value, all edges that start from a node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from omnigraph.core.tables import TablePin
from omnigraph.rows.violations import Violation, ViolationCode
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.tables import find_ids
from omnigraph.write.changes import rows_of
from omnigraph.write.committed import CommittedGraph
from omnigraph.write.merge_images import SOURCE, TARGET, placed
from omnigraph.write.merge_settling import leave, put
from omnigraph.write.merge_sides import GraphSides
from omnigraph.write.merge_table import TableMerge, untouched


@dataclass(frozen=True)
class MergedTable:
    """One table of the merged graph: the version it stands on, whose it is, and what is changed on top of it."""

    pin: TablePin
    is_adopted: bool
    merge: TableMerge | None = None
    is_open: bool = False
    """Whether both sides changed it, and nobody has merged the rows yet."""

    @property
    def is_written(self) -> bool:
        return self.merge is not None and not self.merge.is_empty

    @property
    def is_kept(self) -> bool:
        """Whether the target's table stays as it is."""
        return not self.is_adopted and not self.is_written


def keep_side(sides: GraphSides, tables: dict[str, MergedTable], violation: Violation, *, of_source: bool) -> None:
    """Take what a broken constraint is about as one side has it."""
    key = violation.table_key
    assert key is not None and violation.other_id is not None, "it is about two entities"
    if violation.code is ViolationCode.CARDINALITY:
        ids = _edges_from(sides, tables[key], violation.other_id)
    elif violation.code is ViolationCode.ENDPOINT:
        edge = sides.entity(key)
        assert isinstance(edge, EdgeType) and violation.entity_id is not None
        node = f"node:{edge.source if violation.property == 'src' else edge.target}"
        tables[node] = _as_side(sides, tables[node], {violation.other_id}, of_source)
        ids = {violation.entity_id}
    else:
        assert violation.entity_id is not None
        ids = {violation.entity_id, violation.other_id}
    tables[key] = _as_side(sides, tables[key], ids, of_source)


def _edges_from(sides: GraphSides, table: MergedTable, node: str) -> set[str]:
    """Every edge that starts from a node on one of the sides, or in the merged table."""
    edge = sides.entity(table.pin.key)
    assert isinstance(edge, EdgeType)
    found = {
        id_
        for state in (sides.source, sides.target)
        for id_ in CommittedGraph(sides.store, state, set()).edges_at(edge, "src", [node]).column("id").to_pylist()
    }
    if table.merge is not None:
        keys = table.merge.keys()
        ends = zip(keys.column("id").to_pylist(), keys.column("src").to_pylist(), strict=True)
        found.update(id_ for id_, source in ends if source == node)
    return found


def _as_side(sides: GraphSides, table: MergedTable, ids: set[str], of_source: bool) -> MergedTable:
    """A table with some entities as one side has them."""
    key = table.pin.key
    entity = sides.entity(key)
    merge = table.merge or untouched(entity)
    if table.is_adopted == of_source:
        return replace(table, merge=leave(merge, ids))
    found = rows_of(sides.store, entity, sides.content(key, of_source=of_source), sorted(ids))
    rows = placed(entity, found, side=SOURCE if of_source else TARGET)
    existing = find_ids(sides.store, table.pin, sorted(ids))
    return replace(table, merge=put(merge, ids, rows, existing))
