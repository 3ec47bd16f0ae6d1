"""Values of expressions over the entities of a statement, computed for all of them together.

A value that cannot be computed or stored is a violation of its entity: the rows that fail are found by bisection, so a
statement without such a row costs one evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InputError
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator, Mask
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher, edits_of, text_of
from omnigraph.exec.tables import Rows, TableView
from omnigraph.query import expressions as ir
from omnigraph.query.ir import TARGET, AssignmentIR
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.ends.references import shown_batch
from omnigraph.rows.violations import Violation, ViolationCode, Violations, shown
from omnigraph.storage.index.indexes import Coverage
from omnigraph.storage.index.text_index import TextIndex
from omnigraph.write.mutate.filters import own_columns

Row = dict[str, Any]

FAILURES_MAX = 10
"""Rows of one assignment that are reported; the error shows no more."""


@dataclass(frozen=True, slots=True)
class _HeldRows:
    """The part of a table view that full-text predicates need, over rows in memory."""

    columns: Mapping[str, pa.Array]
    size: int


class _HeldSearcher(Searcher):
    """Full-text search in rows that are in memory, with the analyzer of the stored tables."""

    def matching(self, table: TableView, search: ir.Search, uses: list[Coverage]) -> Rows | None:
        assert isinstance(search.text, ir.Property)
        query, edits = text_of(search.query), edits_of(search)
        if query is None or edits is None:
            return None
        held = cast(_HeldRows, cast(object, table))
        return TextIndex.build(held.columns[search.text.name]).search(query, edits).rows


@dataclass
class Evaluation:
    """Evaluates the expressions of one mutation."""

    _evaluator: Evaluator = field(default_factory=lambda: Evaluator(_HeldSearcher(), Budget()))

    def mask(self, predicate: ir.Expr, frame: Frame) -> Mask:
        """The rows for which a predicate is true."""
        return self._evaluator.mask(predicate, frame)

    def column(self, expression: ir.Expr, frame: Frame) -> pa.Array:
        """One value per row."""
        return self._evaluator.column(expression, frame)

    def assigned(
        self,
        entity: Entity,
        assignment: AssignmentIR,
        frame: Frame,
        ids: Sequence[str | None],
        violations: Violations,
    ) -> list[Any]:
        """The values of an assignment as they are stored; those that fail are reported and null."""
        type_ = table_schema(entity).field(assignment.property).type

        def compute(rows: Frame) -> pa.Array:
            return _stored(self.column(assignment.value, rows), type_)

        def report(row: int, problem: Exception) -> None:
            message = f"{entity.name}.{assignment.property}: {_text(problem)}"
            violation = Violation(ViolationCode.TYPE, message, entity.table_key, ids[row], assignment.property)
            violations.add(violation)

        return _computed(compute, report, frame, type_)


def own_frame(entity: Entity, rows: Sequence[Row], expressions: Iterable[ir.Expr]) -> Frame:
    """A frame over rows in memory with the columns that expressions read."""
    schema = table_schema(entity)
    names = dict.fromkeys(name for expression in expressions for name in own_columns(expression))
    columns = {name: pa.array([row[name] for row in rows], schema.field(name).type) for name in names}
    held = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return held_frame(shown_columns(entity, held, names), len(rows))


def shown_columns(entity: Entity, batch: pa.RecordBatch, names: Iterable[str]) -> dict[str, pa.Array]:
    """Columns of rows as expressions read them: with names of node types in place of tags."""
    shown = shown_batch(entity, batch)
    return {name: shown.column(name) for name in names}


def held_frame(columns: Mapping[str, pa.Array], length: int) -> Frame:
    """A frame of one variable, ``TARGET``, over columns in memory."""
    table = cast(TableView, cast(object, _HeldRows(columns, length)))
    frame = Frame(length, {TARGET: table}, {TARGET: np.arange(length)})
    for name, column in columns.items():
        frame = frame.with_values(TARGET, name, column)
    return frame


def _stored(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Values in the type of a column; raises if one does not fit."""
    made = values if values.type == type_ else values.cast(type_)
    if pa.types.is_floating(type_) and not pc.all(pc.is_finite(made), min_count=0).as_py():
        raise pa.ArrowInvalid(f"{shown(values.to_pylist()[0])} is not a finite number" if len(values) == 1 else "")
    return made


def _computed(
    compute: Callable[[Frame], pa.Array], report: Callable[[int, Exception], None], frame: Frame, type_: pa.DataType
) -> list[Any]:
    try:
        return cast(list[Any], compute(frame).to_pylist())
    except (InputError, pa.ArrowInvalid) as problem:
        if frame.length == 1:
            report(0, problem)
            return [None]
    failures = 0
    parts: list[tuple[int, int]] = [(0, frame.length)]
    while parts and failures < FAILURES_MAX:
        start, stop = parts.pop()
        try:
            compute(frame.take(np.arange(start, stop)))
        except (InputError, pa.ArrowInvalid) as problem:
            if stop - start == 1:
                report(start, problem)
                failures += 1
            else:
                middle = (start + stop) // 2
                parts += [(middle, stop), (start, middle)]
    return [None] * frame.length


def _text(problem: Exception) -> str:
    return problem.message if isinstance(problem, InputError) else str(problem)
