"""Predicates over all rows of a table together, evaluated on its cached columns.

Only predicates that cannot fail are evaluated here: a deleted row has values too, and an error about one of them would
be an error about nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph.core.operators import BinaryOperator
from omnigraph.exec.evaluate import Evaluator, Mask, constant
from omnigraph.exec.frame import Frame
from omnigraph.exec.tables import TableView
from omnigraph.query import expressions as ir
from omnigraph.query.variables import may_fail, walk

_EVALUATED: Final = (
    ir.Constant
    | ir.Property
    | ir.EntityId
    | ir.Item
    | ir.Compare
    | ir.Logic
    | ir.Not
    | ir.Member
    | ir.ListOf
    | ir.TextMatch
    | ir.IsNull
    | ir.Arithmetic
    | ir.Call
    | ir.Cast
    | ir.Case
    | ir.Quantified
)
"""Expressions that read columns and nothing else; a search reads an index, a score the rows."""


def columns_of(expression: ir.Expr) -> frozenset[str] | None:
    """The columns that an expression over one table reads; None if it reads anything else."""
    parts = list(walk(expression))
    if not all(isinstance(part, _EVALUATED) for part in parts):
        return None
    return frozenset(
        "id" if isinstance(part, ir.EntityId) else part.name
        for part in parts
        if isinstance(part, ir.EntityId | ir.Property)
    )


def whole_frame(table: TableView, variable: str, names: Sequence[str] | frozenset[str]) -> Frame:
    """A frame that stands for all rows of a table, deleted ones included, and holds these columns."""
    values = {(variable, name): table.column(name) for name in names}
    return Frame(table.size, {variable: table}, _values=values)


def held_mask(
    table: TableView, variable: str, conjuncts: Sequence[ir.Expr], evaluator: Evaluator
) -> tuple[Mask | None, tuple[ir.Expr, ...]]:
    """The live rows that satisfy some of the conjuncts, and the other conjuncts; None if there is none to evaluate.

    Texts are compared last, and only if nothing else narrows the rows: the rest is evaluated on the rows found.
    """
    numbers, texts = list[ir.Expr](), list[ir.Expr]()
    for conjunct in conjuncts:
        names = columns_of(conjunct)
        if names and not may_fail(conjunct) and all(table.is_held(name) for name in names):
            (numbers if all(_is_quick(table, name) for name in names) else texts).append(conjunct)
    chosen = numbers or texts[:1]
    if not chosen:
        return None, tuple(conjuncts)
    mask: Mask | None = None
    for conjunct in chosen:
        found = _mask(table, variable, conjunct, evaluator)
        mask = found if mask is None else mask & found
    assert mask is not None
    if len(table.layout.dead):
        mask[table.layout.dead] = False
    return mask, tuple(other for other in conjuncts if not any(other is one for one in chosen))


def _is_quick(table: TableView, name: str) -> bool:
    """True if values of a column are compared as numbers."""
    type_ = table.schema.field(name).type
    return not pa.types.is_string(type_) or table.columns.known_codes(table.pin, name) is not None


def _mask(table: TableView, variable: str, predicate: ir.Expr, evaluator: Evaluator) -> Mask:
    names = columns_of(predicate)
    assert names is not None, "the caller has checked the predicate"
    if len(names) == 1:
        [name] = names
        coded = table.codes(name) if pa.types.is_string(table.schema.field(name).type) else None
        if coded is not None:
            # Equal values have equal answers: a predicate is evaluated once per value.
            values = Frame(len(coded.values), {variable: table}, _values={(variable, name): coded.values})
            found: Mask = evaluator.mask(predicate, values)[coded.codes]
            return found
    compared = _compared(table, predicate)
    return evaluator.mask(predicate, whole_frame(table, variable, names)) if compared is None else compared


def _compared(table: TableView, predicate: ir.Expr) -> Mask | None:
    """A comparison of numbers without nulls: an array of bytes right away, where Arrow packs and unpacks bits."""
    match predicate:
        case ir.Compare(operator, ir.Property(name=name), ir.Constant(value=int() | float() as value) as right):
            column = table.column(name)
            is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
            if is_number and not column.null_count and constant(right).type == column.type:
                found: Mask = _COMPARE[operator](column.to_numpy(), column.type.to_pandas_dtype()(value))
                return found
            return None
        case _:
            return None


_COMPARE: Final = {
    BinaryOperator.EQ: np.equal,
    BinaryOperator.NE: np.not_equal,
    BinaryOperator.LT: np.less,
    BinaryOperator.LE: np.less_equal,
    BinaryOperator.GT: np.greater,
    BinaryOperator.GE: np.greater_equal,
}
