"""Index selection: the conjunct of a predicate that an index answers best.

Preference: equality, membership in a short list, a range with both bounds, a substring. Any other conjunct may hold
for most rows, and above one row in twenty a scan is faster than an index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.operators import BinaryOperator
from omnigraph.exec.evaluate import constant
from omnigraph.exec.tables import TableView
from omnigraph.query import expressions as ir
from omnigraph.rows.arrow_types import table_schema
from omnigraph.storage.index.indexes import Coverage, IndexKind
from omnigraph.storage.tables.filters import AllOf, Comparison, Membership, RowFilter, Substring

ITEMS_MAX = 200
"""Items of a list that are looked up: each costs about 30 us, a scan of a few hundred thousand rows 10 ms."""

SCANNED_ROWS_MAX = 500_000
"""Uncovered rows up to which an n-gram index is used: storage scans them faster than the executor."""

_GRAM = re.compile(r"[^\W_]{3}")
"""A trigram of letters or digits. Without one, an n-gram index would scan every row."""

_LOWER = (BinaryOperator.GT, BinaryOperator.GE)
_UPPER = (BinaryOperator.LT, BinaryOperator.LE)


@dataclass(frozen=True, slots=True)
class Lookup:
    """A filter that an index answers, and the conjuncts it replaces."""

    index: Coverage
    filter: RowFilter
    conjuncts: tuple[ir.Expr, ...]


def best_lookup(table: TableView, conjuncts: tuple[ir.Expr, ...]) -> Lookup | None:
    """The lookup expected to leave the fewest rows, judged by its form."""
    for find in (_equalities, _memberships, _ranges, _substrings):
        for lookup in find(table, conjuncts):
            return lookup
    return None


def pushed(table: TableView, conjunct: ir.Expr) -> Comparison | None:
    """A conjunct that storage can evaluate: a property compared with a constant of the same type."""
    match conjunct:
        case ir.Compare(operator, ir.Property(name=column), ir.Constant(value=value) as right) if value is not None:
            comparison = Comparison(column, operator.value, constant(right))
            return comparison if comparison.value.type == table_schema(table.entity).field(column).type else None
        case _:
            return None


def _equalities(table: TableView, conjuncts: tuple[ir.Expr, ...]) -> Iterator[Lookup]:
    for conjunct in conjuncts:
        if isinstance(conjunct, ir.Compare) and conjunct.operator is BinaryOperator.EQ:
            comparison = pushed(table, conjunct)
            index = None if comparison is None else _index(table, comparison.column)
            if comparison is not None and index is not None:
                yield Lookup(index, comparison, (conjunct,))


def _memberships(table: TableView, conjuncts: tuple[ir.Expr, ...]) -> Iterator[Lookup]:
    for conjunct in conjuncts:
        match conjunct:
            case ir.Member(ir.Property(name=column), ir.Constant(value=tuple()) as items):
                index = _index(table, column)
                values = constant(items).values.drop_null()
                is_typed = values.type == table_schema(table.entity).field(column).type
                if index is not None and is_typed and 0 < len(values) <= ITEMS_MAX:
                    yield Lookup(index, Membership(column, values), (conjunct,))
            case _:
                continue


def _ranges(table: TableView, conjuncts: tuple[ir.Expr, ...]) -> Iterator[Lookup]:
    bounds: dict[str, dict[bool, tuple[Comparison, ir.Expr]]] = {}
    for conjunct in conjuncts:
        comparison = pushed(table, conjunct)
        if isinstance(conjunct, ir.Compare) and comparison is not None and conjunct.operator in (*_LOWER, *_UPPER):
            bounds.setdefault(comparison.column, {}).setdefault(conjunct.operator in _LOWER, (comparison, conjunct))
    for column, found in bounds.items():
        index = _index(table, column) if len(found) == 2 else None
        if index is not None:
            (low, first), (high, second) = found[True], found[False]
            yield Lookup(index, AllOf((low, high)), (first, second))


def _substrings(table: TableView, conjuncts: tuple[ir.Expr, ...]) -> Iterator[Lookup]:
    for conjunct in conjuncts:
        match conjunct:
            case ir.TextMatch(BinaryOperator.CONTAINS, ir.Property(name=column), ir.Constant(value=str() as text)):
                index = table.index(column, IndexKind.NGRAM)
                if index is not None and index.rows - index.covered_rows <= SCANNED_ROWS_MAX and _GRAM.search(text):
                    yield Lookup(index, Substring(column, text), (conjunct,))
            case _:
                continue


def _index(table: TableView, column: str) -> Coverage | None:
    """The index of a column, if using it pays off."""
    declared = table.entity.properties.get(column)
    if declared is None or not table.is_indexed(column):
        return None
    tuning, values = table.store.tuning, declared.type.enum_values
    is_narrow = values is not None and len(values) < tuning.indexed_values_min
    is_held = table.rows <= tuning.compared_rows_max and table.columns.known(table.pin, column) is not None
    if is_narrow or is_held or pa.types.is_boolean(table_schema(table.entity).field(column).type):
        return None
    return table.index(column, IndexKind.BTREE)
