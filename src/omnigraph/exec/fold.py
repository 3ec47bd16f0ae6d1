"""Constant folding: functions and arithmetic of constants, computed once before a query runs.

Storage filters and indexes need a constant to compare with, so ``seen > now() - duration("P7D")`` is folded first.
"""

from __future__ import annotations

import pyarrow as pa

from omnigraph.errors import InputError
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher
from omnigraph.query import expressions as ir
from omnigraph.query.variables import children

_Foldable = ir.Arithmetic | ir.Call | ir.Cast | ir.Case


def fold(part: ir.Expr) -> ir.Expr:
    """The constant that an expression of constants is; other expressions are returned as they are."""
    if not isinstance(part, _Foldable) or not all(isinstance(child, ir.Constant) for child in children(part)):
        return part
    try:
        value = Evaluator(Searcher(), Budget()).column(part, Frame(1, {}))
    except InputError:
        # A value that does not fit is an error only if a row needs it.
        return part
    return ir.Constant(_plain(value), part.type)


def _plain(value: pa.Array) -> ir.ConstantValue:
    """The only value of an array, as a constant has it: dates as days, times and durations as milliseconds,
    lists as tuples."""
    if pa.types.is_list(value.type):
        items = value.flatten()
        return tuple(_plain(items.slice(place, 1)) for place in range(len(items))) if value[0].is_valid else None
    if pa.types.is_date32(value.type) or pa.types.is_time32(value.type):
        value = value.cast(pa.int32())
    elif pa.types.is_timestamp(value.type) or pa.types.is_duration(value.type):
        value = value.cast(pa.int64())
    plain: ir.ConstantValue = value[0].as_py()
    return plain
