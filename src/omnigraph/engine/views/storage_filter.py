"""A predicate over one type, divided into a filter that storage evaluates and a rest that is evaluated in batches."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from omnigraph.core.operators import BinaryOperator
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator, constant
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher
from omnigraph.query import expressions as ir
from omnigraph.query.standalone.formula import OWNER
from omnigraph.query.standalone.row_filter import conjuncts
from omnigraph.query.variables import walk
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.ends.references import type_columns
from omnigraph.storage.tables.filters import (
    LITERALS,
    AllOf,
    AnyOf,
    Comparison,
    Membership,
    Missing,
    Not,
    RowFilter,
    Substring,
)


@dataclass(frozen=True, slots=True)
class DividedFilter:
    """``stored`` and ``rest`` must both hold; None holds for every row."""

    stored: RowFilter | None
    rest: ir.Expr | None

    @property
    def columns(self) -> list[str]:
        """The columns that the rest reads."""
        return [] if self.rest is None else _columns(self.rest)

    def matching(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch for which the rest holds."""
        if self.rest is None:
            return batch
        values = {(OWNER, name): batch.column(name) for name in self.columns}
        mask = Evaluator(Searcher(), Budget()).mask(self.rest, Frame(batch.num_rows, {}, _values=values))
        return batch.filter(pa.array(mask))


def _columns(predicate: ir.Expr) -> list[str]:
    return list(dict.fromkeys(part.name for part in walk(predicate) if isinstance(part, ir.Property)))


def divide(entity: Entity, predicate: ir.Expr) -> DividedFilter:
    """Give every conjunct that storage can evaluate to storage."""
    if predicate == ir.TRUE:
        return DividedFilter(None, None)
    schema, tags = table_schema(entity), set(type_columns(entity))
    # Storage has tags in place of the names of node types.
    stored = [
        (conjunct, None if tags & set(_columns(conjunct)) else _stored(schema, conjunct))
        for conjunct in conjuncts(predicate)
    ]
    pushed = tuple(found for _, found in stored if found is not None)
    rest = tuple(conjunct for conjunct, found in stored if found is None)
    return DividedFilter(
        AllOf(pushed) if len(pushed) > 1 else pushed[0] if pushed else None,
        ir.conjunction(rest),
    )


def _stored(schema: pa.Schema, predicate: ir.Expr) -> RowFilter | None:
    match predicate:
        case ir.FALSE:
            return AnyOf(())
        case ir.Logic():
            parts = [_stored(schema, operand) for operand in predicate.operands]
            known = tuple(part for part in parts if part is not None)
            if len(known) < len(parts):
                return None
            return AllOf(known) if predicate.operator is BinaryOperator.AND else AnyOf(known)
        case ir.Compare(operator, ir.Property(name=column), ir.Constant(value=value) as right) if value is not None:
            scalar = constant(right)
            return Comparison(column, operator.value, scalar) if _fits(schema, column, scalar.type) else None
        case ir.Member(ir.Property(name=column), ir.Constant(value=tuple()) as items):
            values = constant(items).values.drop_null()
            return Membership(column, values) if len(values) and _fits(schema, column, values.type) else None
        case ir.TextMatch(BinaryOperator.CONTAINS, ir.Property(name=column), ir.Constant(value=str() as text)):
            return Substring(column, text)
        case ir.IsNull(ir.Property(name=column), negated):
            return Not(Missing(column)) if negated else Missing(column)
        case _:
            return None


def _fits(schema: pa.Schema, column: str, type_: pa.DataType) -> bool:
    """True if a value has exactly the type of the column, and the type has literals."""
    return bool(type_ in LITERALS and schema.field(column).type == type_)
