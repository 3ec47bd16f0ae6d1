"""The predicate of a mutation as a storage filter for committed rows, and as a test of pending rows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.core.operators import BinaryOperator
from omnigraph.query import expressions as ir
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.storage.tables.filters import Comparison

_TESTS: dict[BinaryOperator, Callable[[Any, Any], bool]] = {
    BinaryOperator.EQ: operator.eq,
    BinaryOperator.NE: operator.ne,
    BinaryOperator.LT: operator.lt,
    BinaryOperator.LE: operator.le,
    BinaryOperator.GT: operator.gt,
    BinaryOperator.GE: operator.ge,
}


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A bound predicate: never true, true where a column is not null, or a comparison with a typed value."""

    never: bool = False
    column: str | None = None
    comparison: Comparison | None = None
    test: Callable[[Any, Any], bool] | None = None
    value: Any = None

    @classmethod
    def of(cls, entity: Entity, predicate: ir.Expr) -> RowFilter:
        """The filter of a predicate whose parameters are bound and whose constants are coerced."""
        match predicate:
            case ir.Constant():
                return cls(never=predicate.value is not True)
            case ir.IsNull(ir.Property(name=column)):
                return cls(column=column)
            case ir.Compare(comparison, ir.Property(name=column), ir.Constant(value=value)):
                scalar = pa.scalar(value, table_schema(entity).field(column).type)
                test = _TESTS[comparison]
                return cls(False, column, Comparison(column, comparison.value, scalar), test, scalar.as_py())
            case _:
                raise AssertionError(f"not a predicate of a mutation: {predicate}")

    def matches(self, row: dict[str, Any]) -> bool:
        """True if a row satisfies the predicate; null never does."""
        if self.never:
            return False
        if self.column is None:
            return True
        current = row[self.column]
        return current is not None and (self.test is None or self.test(current, self.value))
