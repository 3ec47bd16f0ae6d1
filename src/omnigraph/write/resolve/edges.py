"""Edges of folded entities: their ends move to the survivor, and edges that become the same are folded.

Edges are the same if they have the same key, or the same values of a unique constraint, after the move. Others stay
parallel, unless the rules fold edges that are equal in every property.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import changes_schema, flat, read_changes
from omnigraph.core.tables import TablePin
from omnigraph.exec.resolve.clusters import clusters_of
from omnigraph.exec.resolve.rules import Loops, Parallels, ResolveRules
from omnigraph.rows.arrow_types import DST, ID, SRC
from omnigraph.rows.ends.references import is_of_type
from omnigraph.rows.keys import derived_ids
from omnigraph.rows.validate import text_column, unique_columns
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.storage.tables.difference import Piece, pieces_with
from omnigraph.storage.tables.store import Store
from omnigraph.write.resolve.fold import Fold, Folding

_ENDS: Final = (SRC, DST)


@dataclass(frozen=True)
class MovedEdges:
    """The edges of one type after the move: changed rows, removed ids, and counts.

    ``refused`` are survivors whose group cannot be folded, with a kind and a detail.
    """

    edge: EdgeType
    folded: Fold
    before: pa.Table
    """The edges at folded entities and survivors, before the move."""
    rows: pa.Table
    removed: frozenset[str]
    moved: int = 0
    merged: int = 0
    loops: int = 0
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class EdgeMover:
    """Moves the edges of one state."""

    store: Store
    pins: Mapping[str, TablePin]
    rules: ResolveRules

    def move(self, edge: EdgeType, node: NodeType, survivors: Mapping[str, str], folding: Folding) -> MovedEdges:
        """The edges of a type whose ends are folded into ``survivors``."""
        ends = [end for end in edge.ends if node.name in end.types]
        rows = self._at(edge, [end.column for end in ends], {*survivors, *survivors.values()})
        before = {end: flat(rows, end) for end in _ENDS}
        # An end may have nodes of other types with the same ids.
        own = {end.column: is_of_type(end, node.name, rows) for end in ends}
        mapped = {end: pc.if_else(mask, _mapped(before[end], survivors), before[end]) for end, mask in own.items()}
        after = {**before, **mapped}
        changed = pc.or_(*(pc.not_equal(before[end], after[end]) for end in _ENDS))
        is_moved = changed.to_numpy(zero_copy_only=False)
        moved = _with(rows, after)
        is_loop = self._new_loops(own, before, after) & is_moved
        is_dropped = is_loop & (self.rules.self_loops is Loops.DROP)
        same = self._same(edge, moved, is_moved & ~is_dropped, ~is_dropped)
        groups = [group for group in same if any(is_moved[place] for place in group)]
        folded = folding.fold(moved, groups, preferred=~is_moved)
        refused = _refused(edge, moved, groups, folded)
        if SRC in own:
            is_other = ~own[SRC].to_numpy(zero_copy_only=False)
            refused |= self._beyond(edge, moved, is_dropped | is_other, groups, set(survivors.values()))
        result = self._identified(edge, folded.rows)
        old = set(flat(rows, ID).filter(pa.array(is_dropped)).to_pylist())
        old |= {rows.column(ID)[place].as_py() for group in groups for place in group}
        removed = frozenset(old - set(result.column(ID).to_pylist()))
        merged = sum(len(group) - 1 for group in groups)
        return MovedEdges(edge, folded, rows, result, removed, int(is_moved.sum()), merged, int(is_loop.sum()), refused)

    def _at(self, edge: EdgeType, ends: Iterable[str], ids: set[str]) -> pa.Table:
        """The edges at some nodes. All edges of survivors are needed too: one may be the same as a moved one."""
        pin = self.pins[edge.table_key]
        wanted = sorted(ids)
        found: dict[int, set[int]] = {}
        for end in ends:
            for piece in pieces_with(self.store, pin, end, wanted):
                assert piece.offsets is not None
                found.setdefault(piece.fragment, set()).update(piece.offsets.tolist())
        pieces = [Piece(number, np.array(sorted(offsets), np.int64)) for number, offsets in sorted(found.items())]
        rows = read_changes(self.store, edge, pin, pieces)
        return rows.sort_by(ID) if rows.num_rows else changes_schema(edge).empty_table()

    def _new_loops(
        self,
        own: Mapping[str, pa.BooleanArray],
        before: Mapping[str, pa.Array],
        after: Mapping[str, pa.Array],
    ) -> np.ndarray:
        """Edges that lead to their own source after the move; ``own`` are the ends that are of the folded type."""
        if len(own) < len(_ENDS):
            return np.zeros(len(before[SRC]), bool)
        is_loop = pc.and_not(pc.equal(after[SRC], after[DST]), pc.equal(before[SRC], before[DST]))
        is_loop = pc.and_(is_loop, pc.and_(*own.values()))
        found: np.ndarray = is_loop.to_numpy(zero_copy_only=False)
        return found

    def _same(self, edge: EdgeType, rows: pa.Table, is_moved: np.ndarray, is_kept: np.ndarray) -> list[list[int]]:
        """Positions of edges that become one; moved edges that equal no other are groups of their own."""
        left: list[int] = []
        right: list[int] = []
        for texts in self._identities(edge, rows):
            first: dict[object, int] = {}
            for place, text in enumerate(texts):
                if text is None or not is_kept[place]:
                    continue
                known = first.setdefault(text, place)
                if known != place:
                    left.append(known)
                    right.append(place)
        names = [f"{place:012}" for place in range(rows.num_rows)]
        found = clusters_of(
            pa.array([names[place] for place in left], pa.string()),
            pa.array([names[place] for place in right], pa.string()),
        )
        groups = [[int(name) for name in cluster] for cluster in found]
        grouped = {place for group in groups for place in group}
        return [*groups, *([place] for place in np.flatnonzero(is_moved).tolist() if place not in grouped)]

    def _identities(self, edge: EdgeType, rows: pa.Table) -> Iterable[list[object]]:
        """For each way in which edges can be the same, a value for every edge; None is the same as no other."""
        if edge.key:
            yield derived_ids(edge, rows).to_pylist()
        for columns in unique_columns(edge):
            if set(columns) & set(_ENDS):
                texts = zip(*(text_column(edge, name, rows).to_pylist() for name in columns), strict=True)
                yield [None if None in row else row for row in texts]
        if self.rules.parallel_edges is Parallels.FOLD:
            names = [name for name in rows.schema.names if name != ID and not name.startswith("_")]
            yield [repr(row) for row in zip(*(rows.column(name).to_pylist() for name in names), strict=True)]

    def _beyond(
        self, edge: EdgeType, rows: pa.Table, is_dropped: np.ndarray, groups: list[list[int]], survivors: set[str]
    ) -> dict[str, tuple[str, str]]:
        """Survivors with more edges than ``@card`` allows."""
        if edge.ir.card_max is None:
            return {}
        is_counted = ~is_dropped
        for group in groups:
            is_counted[group[1:]] = False
        counts = pc.value_counts(flat(rows, SRC).filter(pa.array(is_counted)))
        return {
            item["values"]: (
                "cardinality",
                f"{item['counts']} edges {edge.name}, at most {edge.ir.card_max} are allowed",
            )
            for item in counts.to_pylist()
            if item["values"] in survivors and item["counts"] > edge.ir.card_max
        }

    def _identified(self, edge: EdgeType, rows: pa.Table) -> pa.Table:
        """Edges with a key get the id of their new ends."""
        if not edge.key:
            return rows
        return rows.set_column(rows.schema.get_field_index(ID), rows.schema.field(ID), derived_ids(edge, rows))


def edges_of(catalog: Catalog, node: NodeType, pins: Mapping[str, TablePin]) -> list[EdgeType]:
    """The edge types at a node type that have edges."""
    return [edge for edge in catalog.edges_of(node.name) if pins[edge.table_key].rows]


def _mapped(ids: pa.Array, survivors: Mapping[str, str]) -> pa.Array:
    encoded = ids.dictionary_encode()
    return pa.array([survivors.get(id_, id_) for id_ in encoded.dictionary.to_pylist()], pa.string()).take(
        encoded.indices
    )


def _with(rows: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    for name, values in columns.items():
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), values)
    return rows


def _refused(edge: EdgeType, rows: pa.Table, groups: list[list[int]], folded: Fold) -> dict[str, tuple[str, str]]:
    """Survivors whose edges cannot be folded: two edges become one with different values."""
    refused: dict[str, tuple[str, str]] = {}
    for number, name in folded.conflicts.items():
        place = groups[number][0]
        for end in _ENDS:
            detail = f"edges {edge.name} become one, and their values of {name} differ"
            refused[rows.column(end)[place].as_py()] = ("conflict", detail)
    return refused
