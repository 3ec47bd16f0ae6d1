"""Type rules of aggregate functions: one row per function.

A new aggregate is a member of ``AggregateFunction``, a row here, and a row in the tables of both executors
(``exec/shape/aggregates.py``, ``spark/query/shaping.py``). Tests fail until all of them and a parity case exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from omnigraph.core.operators import AggregateFunction
from omnigraph.core.scalars import Scalar
from omnigraph.query import expressions as ir
from omnigraph.schema.types import PropertyType


@dataclass(frozen=True, slots=True)
class AggregateRule:
    """The argument that an aggregate expects, and the type of its result."""

    expects: str
    """The argument as an error message names it."""
    result: Callable[[ir.Expr], PropertyType | None]
    """The result type for an argument; None if the argument is refused."""
    ignores_duplicates: bool = False
    """The result depends on the set of values only, so the multiplicity of rows does not matter."""


def _counted(_argument: ir.Expr) -> PropertyType | None:
    return PropertyType(Scalar.I64)


def _added(argument: ir.Expr) -> PropertyType | None:
    return PropertyType(Scalar.F64, nullable=True) if argument.type.is_number else None


def _extreme(argument: ir.Expr) -> PropertyType | None:
    type_ = argument.type
    if not (type_.is_number or type_.is_text) or isinstance(argument, ir.EntityId):
        return None
    return PropertyType(type_.scalar, nullable=True, enum_values=type_.enum_values)


def _collected(argument: ir.Expr) -> PropertyType | None:
    return PropertyType(argument.type.scalar, is_list=True) if argument.type.is_plain_scalar else None


def _chosen(argument: ir.Expr) -> PropertyType | None:
    type_ = argument.type
    if not type_.is_plain_scalar:
        return None
    return PropertyType(type_.scalar, nullable=True, enum_values=type_.enum_values)


AGGREGATES: Mapping[AggregateFunction, AggregateRule] = {
    AggregateFunction.COUNT: AggregateRule("a scalar", _counted),
    AggregateFunction.SUM: AggregateRule("a number", _added),
    AggregateFunction.AVG: AggregateRule("a number", _added),
    AggregateFunction.MIN: AggregateRule("a number or a String", _extreme, ignores_duplicates=True),
    AggregateFunction.MAX: AggregateRule("a number or a String", _extreme, ignores_duplicates=True),
    AggregateFunction.COLLECT: AggregateRule("a scalar", _collected),
    AggregateFunction.STDDEV: AggregateRule("a number", _added),
    AggregateFunction.PERCENTILE: AggregateRule("a number", _added),
    AggregateFunction.FIRST: AggregateRule("a scalar", _chosen, ignores_duplicates=True),
    AggregateFunction.LAST: AggregateRule("a scalar", _chosen, ignores_duplicates=True),
}
