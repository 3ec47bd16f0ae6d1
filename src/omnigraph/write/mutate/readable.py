"""Entities that the statements of a mutation may find: those that data rules let the actor read.

For a statement other entities do not exist. The condition of the rules comes before that of the statement, so that an
expression that may fail never sees a hidden entity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.exec.visibility.rows import VisibleRows
from omnigraph.manifest.reader import Capture
from omnigraph.query import expressions as ir
from omnigraph.query.ir import TARGET
from omnigraph.query.rewrite.coerce import coerce_predicate
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.query.visibility.restrict import owned
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.tables.store import Store
from omnigraph.write.mutate.filters import conjuncts, pushed

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Readable:
    """The readable part of a captured graph."""

    store: Store
    capture: Capture
    scope: DataScope

    def condition(self, entity: Entity, predicate: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        """The condition that rows of a table are searched by, and the one left for those with readable ends.

        Both together mean the predicate, for entities inside the scope.
        """
        type_ = self.scope.types.get(entity.table_key)
        own = ir.FALSE if type_ is None else coerce_predicate(owned(type_.predicate, TARGET))
        parts, left = conjuncts(predicate), tuple[ir.Expr, ...]()
        if isinstance(entity, EdgeType):
            # A comparison cannot fail; other expressions wait until the ends of the edge are known to be readable.
            left = tuple(part for part in parts if not pushed(entity, part).is_exact)
            parts = tuple(part for part in parts if part not in left)
        return ir.conjunction((own, *parts)) or ir.TRUE, ir.conjunction(left) or ir.TRUE

    def rows(self, entity: Entity, rows: Sequence[Row], newer: Mapping[str, pa.Table]) -> list[Row]:
        """The readable ones of current rows; ``newer`` are pending rows by table."""
        visible = VisibleRows(self.store, self.capture.state.tables, self.capture.catalog, self.scope, newer)
        columns = visible.columns(entity)
        schema = pa.schema([table_schema(entity).field(name).with_nullable(True) for name in columns])
        held = pa.Table.from_pylist([{name: row[name] for name in columns} for row in rows], schema)
        mask = visible.mask(entity, held)
        return [row for row, is_visible in zip(rows, mask.tolist(), strict=True) if is_visible]
