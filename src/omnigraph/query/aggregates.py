"""Type rules of aggregate functions: one row per function.

A new aggregate is a member of ``AggregateFunction``, a row here, and a row in the tables of both executors
(``exec/shape/aggregates.py``, ``spark/query/shaping.py``). Tests fail until all of them and a parity case exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.decimals import DIGITS_MAX
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


def _measured(argument: ir.Expr) -> PropertyType | None:
    return PropertyType(Scalar.F64, nullable=True) if argument.type.is_number else None


def _summed(argument: ir.Expr) -> PropertyType | None:
    """Sums of decimals are decimals of all digits there are, sums of durations durations, others floats."""
    type_ = argument.type
    if type_.digits is not None and not type_.is_list:
        return PropertyType(Scalar.DECIMAL, nullable=True, digits=(DIGITS_MAX, type_.digits[1]))
    return _averaged(argument)


def _averaged(argument: ir.Expr) -> PropertyType | None:
    is_length = argument.type.scalar is Scalar.DURATION and not argument.type.is_list
    return PropertyType(Scalar.DURATION, nullable=True) if is_length else _measured(argument)


def _extreme(argument: ir.Expr) -> PropertyType | None:
    type_ = argument.type
    if not (type_.is_plain_scalar and type_.scalar.info.is_ordered) or isinstance(argument, ir.EntityId):
        return None
    return replace(type_, nullable=True)


def _collected(argument: ir.Expr) -> PropertyType | None:
    is_scalar = argument.type.is_plain_scalar
    return replace(argument.type.item, is_list=True) if is_scalar else None


def _chosen(argument: ir.Expr) -> PropertyType | None:
    return replace(argument.type, nullable=True) if argument.type.is_plain_scalar else None


AGGREGATES: Mapping[AggregateFunction, AggregateRule] = {
    AggregateFunction.COUNT: AggregateRule("a scalar", _counted),
    AggregateFunction.SUM: AggregateRule("a number or a Duration", _summed),
    AggregateFunction.AVG: AggregateRule("a number or a Duration", _averaged),
    AggregateFunction.MIN: AggregateRule("an ordered value", _extreme, ignores_duplicates=True),
    AggregateFunction.MAX: AggregateRule("an ordered value", _extreme, ignores_duplicates=True),
    AggregateFunction.COLLECT: AggregateRule("a scalar", _collected),
    AggregateFunction.STDDEV: AggregateRule("a number", _measured),
    AggregateFunction.PERCENTILE: AggregateRule("a number", _measured),
    AggregateFunction.FIRST: AggregateRule("a scalar", _chosen, ignores_duplicates=True),
    AggregateFunction.LAST: AggregateRule("a scalar", _chosen, ignores_duplicates=True),
}
