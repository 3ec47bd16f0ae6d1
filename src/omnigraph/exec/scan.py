"""Scan: the rows of a table that satisfy a predicate, by key, index, storage filter, or column by column."""

from __future__ import annotations

import numpy as np

from omnigraph.core.operators import BinaryOperator
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.lookup import best_lookup, pushed
from omnigraph.exec.tables import Rows, TableView
from omnigraph.exec.whole.masks import held_mask
from omnigraph.exec.whole.rows import Whole
from omnigraph.query import expressions as ir
from omnigraph.rows.keys import key_text
from omnigraph.schema.catalog import NodeType


def scan_rows(table: TableView, variable: str, predicate: ir.Expr | None, evaluator: Evaluator) -> Rows:
    """Row numbers that satisfy the predicate, ascending."""
    if predicate is None or predicate == ir.TRUE:
        return table.live()
    if predicate == ir.FALSE or not table.rows:
        return np.zeros(0, np.int64)
    return _filtered(table, variable, *_narrow(table, variable, _conjuncts(predicate), evaluator), evaluator)


def _filtered(
    table: TableView, variable: str, rows: Rows, conjuncts: tuple[ir.Expr, ...], evaluator: Evaluator
) -> Rows:
    """The rows that satisfy all conjuncts, each evaluated on the rows that the ones before have left."""
    frame = Frame(len(rows), {variable: table}, {variable: rows})
    for conjunct in conjuncts:
        frame = frame.where(evaluator.mask(conjunct, frame))
    return frame.bindings[variable]


def scan_whole(table: TableView, variable: str, predicate: ir.Expr | None, evaluator: Evaluator) -> Whole:
    """The same rows, without numbers if they are all rows of the table."""
    is_all = predicate in (None, ir.TRUE) and not len(table.layout.dead)
    return Whole(variable, table, None if is_all else scan_rows(table, variable, predicate, evaluator))


def _conjuncts(predicate: ir.Expr) -> tuple[ir.Expr, ...]:
    match predicate:
        case ir.Logic(operator=BinaryOperator.AND, operands=operands):
            return operands
        case _:
            return (predicate,)


def _narrow(
    table: TableView, variable: str, conjuncts: tuple[ir.Expr, ...], evaluator: Evaluator
) -> tuple[Rows, tuple[ir.Expr, ...]]:
    """Rows found by the most selective conjunct that can be looked up, and the remaining conjuncts.

    Only one index is used: intersecting two takes longer than filtering the rows of one.
    """
    for conjunct in conjuncts:
        ids = _key_lookup(table, conjunct)
        if ids is not None:
            evaluator.notes.append(f"{table.entity.name}: looked up by key")
            return table.find_ids(ids), tuple(other for other in conjuncts if other is not conjunct)
    lookup = best_lookup(table, conjuncts)
    if lookup is not None:
        evaluator.uses.append(lookup.index)
        return table.looked_up(lookup.filter), tuple(other for other in conjuncts if other not in lookup.conjuncts)
    for conjunct in conjuncts:
        if isinstance(conjunct, ir.Search):
            found = evaluator.matching(conjunct, table)
            rows = np.zeros(0, np.int64) if found is None else np.sort(found)
            return rows, tuple(other for other in conjuncts if other is not conjunct)
    if table.rows >= table.store.tuning.whole_rows_min:
        mask, rest = held_mask(table, variable, conjuncts, evaluator)
        if mask is not None:
            return np.flatnonzero(mask), rest
    if table.rows >= table.store.tuning.pushed_rows_min:
        for conjunct in conjuncts:
            comparison = pushed(table, conjunct)
            if comparison is not None:
                evaluator.notes.append(f"{table.entity.name}: {comparison.column} is filtered by storage")
                return table.matching(comparison), tuple(other for other in conjuncts if other is not conjunct)
    return table.live(), conjuncts


def _key_lookup(table: TableView, conjunct: ir.Expr) -> list[str] | None:
    """The ids that an equality with a single-property key allows."""
    if not isinstance(table.entity, NodeType) or len(table.entity.key) != 1:
        return None
    name = table.entity.key[0]
    type_ = table.entity.properties[name].type
    match conjunct:
        case ir.Compare(BinaryOperator.EQ, ir.Property(name=column), ir.Constant() as value) if column == name:
            text = key_text(value.value, type_)
            return [] if text is None else [text]
        case ir.Member(ir.Property(name=column), ir.Constant() as items) if column == name:
            texts = [key_text(value, type_) for value in items.value] if isinstance(items.value, tuple) else []
            return [text for text in texts if text is not None]
        case _:
            return None
