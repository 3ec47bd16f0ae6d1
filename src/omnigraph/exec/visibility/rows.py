"""Rows inside a data scope, decided from Arrow columns.

A node is inside if its predicate holds. An edge is inside if its own predicate holds and both of its ends are inside,
which are looked up by id in the tables of one snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.exec.adjacency import Mask
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher
from omnigraph.query import expressions as ir
from omnigraph.query.standalone.formula import OWNER
from omnigraph.query.variables import walk
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.ends.references import references, with_types
from omnigraph.rows.validate import nodes_by_type
from omnigraph.schema.catalog import Catalog, EdgeEnd, EdgeType
from omnigraph.storage.tables.scan import rows_with
from omnigraph.storage.tables.store import Store


def columns_read(predicate: ir.Expr) -> list[str]:
    """The columns that a predicate about ``OWNER`` reads."""
    parts = (part for part in walk(predicate) if isinstance(part, ir.Property | ir.EntityId))
    return list(dict.fromkeys(part.name if isinstance(part, ir.Property) else ID for part in parts))


def satisfied(predicate: ir.Expr, rows: pa.Table | pa.RecordBatch) -> Mask:
    """For every row whether it satisfies a predicate about ``OWNER``."""
    if predicate in (ir.TRUE, ir.FALSE) or not rows.num_rows:
        return np.full(rows.num_rows, predicate == ir.TRUE)
    values = {(OWNER, name): _array(rows.column(name)) for name in columns_read(predicate)}
    return Evaluator(Searcher(), Budget()).mask(predicate, Frame(rows.num_rows, {}, _values=values))


def _array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


@dataclass(frozen=True)
class VisibleRows:
    """The rows of one snapshot inside a scope. ``newer`` are rows that replace committed ones, by table key."""

    store: Store
    tables: Mapping[str, TablePin]
    catalog: Catalog
    scope: DataScope
    newer: Mapping[str, pa.Table] = field(default_factory=dict)

    def has_type(self, entity: Entity) -> bool:
        """True if entities of a type can be inside."""
        if entity.table_key not in self.scope.types:
            return False
        pairs = entity.pairs if isinstance(entity, EdgeType) else ((),)
        return any(all(f"node:{name}" in self.scope.types for name in pair) for pair in pairs)

    def columns(self, entity: Entity) -> list[str]:
        """The columns that ``mask`` reads."""
        if not self.has_type(entity):
            return [ID]
        ends = with_types(entity, [SRC, DST]) if isinstance(entity, EdgeType) else []
        return list(dict.fromkeys([ID, *ends, *columns_read(self.scope.types[entity.table_key].predicate)]))

    def mask(self, entity: Entity, rows: pa.Table | pa.RecordBatch) -> Mask:
        """For every row of a type whether it is inside."""
        if not self.has_type(entity):
            return satisfied(ir.FALSE, rows)
        found = satisfied(self.scope.types[entity.table_key].predicate, rows)
        if isinstance(entity, EdgeType):
            for end in entity.ends:
                found &= self.ends_inside(end, rows)
        return found

    def ends_inside(self, end: EdgeEnd, rows: pa.Table | pa.RecordBatch) -> Mask:
        """For every edge whether its node at an end is inside."""
        texts = references(end, rows)
        known = [text for text, is_inside in self._ends(end, texts.to_pylist()).items() if is_inside]
        inside: Mask = pc.is_in(texts, value_set=pa.array(known, pa.utf8())).to_numpy(zero_copy_only=False)
        return inside

    def _ends(self, end: EdgeEnd, texts: list[str]) -> dict[str, bool]:
        """The references to nodes, and for each whether its node is inside. A node of an unknown type is not."""
        found: dict[str, bool] = {}
        for name, nodes in nodes_by_type(end, texts).items():
            known = set() if name is None else self.ids(self.catalog.nodes[name], set(nodes.values()))
            found |= {text: id_ in known for text, id_ in nodes.items()}
        return found

    def ids(self, entity: Entity, ids: Collection[str]) -> set[str]:
        """The given ids whose nodes are inside."""
        if entity.table_key not in self.scope.types or not ids:
            return set()
        predicate = self.scope.types[entity.table_key].predicate
        columns = list(dict.fromkeys([ID, *columns_read(predicate)]))
        newer = self.newer.get(entity.table_key)
        replaced: set[str] = set() if newer is None else set(newer.column(ID).to_pylist())
        found: set[str] = set()
        if newer is not None:
            chosen = newer.column(ID).filter(pa.array(satisfied(predicate, newer)))
            found.update(id_ for id_ in chosen.to_pylist() if id_ in ids)
        for batch in rows_with(self.store, self.tables[entity.table_key], ID, sorted(set(ids) - replaced), columns):
            found.update(batch.column(ID).filter(pa.array(satisfied(predicate, batch))).to_pylist())
        return found
