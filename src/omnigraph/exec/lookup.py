"""Which part of a predicate an index answers best.

Equality comes first, then membership in a short list, then a range with both ends, then a part of a text. Anything else
may hold for most rows, and for more than one in twenty looking at every row is faster than asking an index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.core.operators import BinaryOperator
from omnigraph.exec.evaluate import constant
from omnigraph.exec.tables import TableView
from omnigraph.query import expressions as ir
from omnigraph.rows.arrow_types import table_schema
from omnigraph.storage.index.indexes import Coverage, IndexKind
from omnigraph.storage.tables.filters import AllOf, Comparison, Condition, Membership, Part

ITEMS_MAX = 200
"""Items of a list that are looked up: each costs some 30 us, and a scan of a few hundred thousand rows 10 ms."""

VALUES_MIN = 20
"""Different values that a column may have at least. With fewer, each is that of too many rows."""

IN_MEMORY_ROWS_MAX = 200_000
"""A column in memory is not looked up in an index up to this size: comparing all of it takes less than asking."""

SCANNED_ROWS_MAX = 500_000
"""Rows that an index of n-grams may lack and still be asked: storage looks at them faster than we do in memory."""

_GRAM = re.compile(r"[^\W_]{3}")
"""What an index of n-grams can look up: three letters or digits in a row. Without any it would look at every row."""

_LOWER = (BinaryOperator.GT, BinaryOperator.GE)
_UPPER = (BinaryOperator.LT, BinaryOperator.LE)


@dataclass(frozen=True, slots=True)
class Lookup:
    """A condition that an index answers, and the parts of the predicate that it stands for."""

    index: Coverage
    condition: Condition
    parts: tuple[ir.Expr, ...]


def best_lookup(table: TableView, parts: tuple[ir.Expr, ...]) -> Lookup | None:
    """The part that an index answers and that leaves the fewest rows, as far as its form tells."""
    for find in (_equalities, _memberships, _ranges, _parts):
        for lookup in find(table, parts):
            return lookup
    return None


def pushed(table: TableView, part: ir.Expr) -> Comparison | None:
    """A part that storage can test: a property of the table against a constant of the same type."""
    match part:
        case ir.Compare(operator, ir.Property(name=column), ir.Constant(value=value) as right) if value is not None:
            comparison = Comparison(column, operator.value, constant(right))
            return comparison if comparison.value.type == table_schema(table.entity).field(column).type else None
        case _:
            return None


def _equalities(table: TableView, parts: tuple[ir.Expr, ...]) -> Iterator[Lookup]:
    for part in parts:
        if isinstance(part, ir.Compare) and part.operator is BinaryOperator.EQ:
            comparison = pushed(table, part)
            index = None if comparison is None else _index(table, comparison.column)
            if comparison is not None and index is not None:
                yield Lookup(index, comparison, (part,))


def _memberships(table: TableView, parts: tuple[ir.Expr, ...]) -> Iterator[Lookup]:
    for part in parts:
        match part:
            case ir.Member(ir.Property(name=column), ir.Constant(value=tuple()) as items):
                index = _index(table, column)
                values = constant(items).values.drop_null()
                is_typed = values.type == table_schema(table.entity).field(column).type
                if index is not None and is_typed and 0 < len(values) <= ITEMS_MAX:
                    yield Lookup(index, Membership(column, values), (part,))
            case _:
                continue


def _ranges(table: TableView, parts: tuple[ir.Expr, ...]) -> Iterator[Lookup]:
    bounds: dict[str, dict[bool, tuple[Comparison, ir.Expr]]] = {}
    for part in parts:
        comparison = pushed(table, part)
        if isinstance(part, ir.Compare) and comparison is not None and part.operator in (*_LOWER, *_UPPER):
            bounds.setdefault(comparison.column, {}).setdefault(part.operator in _LOWER, (comparison, part))
    for column, found in bounds.items():
        index = _index(table, column) if len(found) == 2 else None
        if index is not None:
            (low, first), (high, second) = found[True], found[False]
            yield Lookup(index, AllOf((low, high)), (first, second))


def _parts(table: TableView, parts: tuple[ir.Expr, ...]) -> Iterator[Lookup]:
    for part in parts:
        match part:
            case ir.TextMatch(BinaryOperator.CONTAINS, ir.Property(name=column), ir.Constant(value=str() as text)):
                index = table.index(column, IndexKind.NGRAM)
                if index is not None and index.rows - index.covered_rows <= SCANNED_ROWS_MAX and _GRAM.search(text):
                    yield Lookup(index, Part(column, text), (part,))
            case _:
                continue


def _index(table: TableView, column: str) -> Coverage | None:
    """The index of a column, if it is worth asking."""
    declared = table.entity.properties.get(column)
    if declared is None or not table.is_indexed(column):
        return None
    is_narrow = declared.type.enum_values is not None and len(declared.type.enum_values) < VALUES_MIN
    is_held = table.rows <= IN_MEMORY_ROWS_MAX and table.columns.known(table.pin, column) is not None
    if is_narrow or is_held or pa.types.is_boolean(table_schema(table.entity).field(column).type):
        return None
    return table.index(column, IndexKind.BTREE)
