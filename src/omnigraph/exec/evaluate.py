"""Expression evaluation over a frame: one Arrow value per row, with SQL's null semantics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.operators import BinaryOperator
from omnigraph.errors import InputError
from omnigraph.exec.budget import Budget
from omnigraph.exec.frame import Frame
from omnigraph.exec.numbers import arithmetic, compare, is_member, list_holds
from omnigraph.exec.search import Searcher
from omnigraph.exec.tables import Rows, TableView
from omnigraph.query import expressions as ir
from omnigraph.rows.arrow_types import column_type
from omnigraph.schema.types import PropertyType
from omnigraph.storage.index.indexes import Coverage

Op = BinaryOperator
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


class Evaluator:
    """Evaluates expressions; knows how to search text."""

    def __init__(self, searcher: Searcher, budget: Budget) -> None:
        self._searcher = searcher
        self.budget = budget
        self.uses: list[Coverage] = []
        """Indexes used, with their coverage."""
        self.notes: list[str] = []
        """Other access paths used, for the profile."""

    def mask(self, predicate: ir.Expr, frame: Frame) -> Mask:
        """The rows for which the predicate is true; null counts as false."""
        if isinstance(predicate, ir.Search):
            # In a mask null and false are the same, so the texts need not be read to find nulls.
            found = self._found(predicate, frame)
            return np.zeros(frame.length, bool) if found is None else found
        value = self.column(predicate, frame)
        filled: Mask = pc.fill_null(value, False).to_numpy(zero_copy_only=False)
        return filled

    def column(self, expression: ir.Expr, frame: Frame) -> pa.Array:
        """One value per row."""
        value = self._value(expression, frame)
        if isinstance(value, pa.Scalar):
            # Arrow cannot repeat a list zero times.
            return pa.repeat(value, frame.length) if frame.length else pa.array([], value.type)
        return value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value

    def _value(self, expression: ir.Expr, frame: Frame) -> Any:
        match expression:
            case ir.Constant():
                return constant(expression)
            case ir.Property():
                return self._fetched(frame, expression.variable, expression.name)
            case ir.EntityId():
                return self._fetched(frame, expression.variable, "id")
            case ir.PathValue():
                return frame.columns[f"{expression.variable}.{expression.part.value}"]
            case ir.ScoreColumn():
                return frame.columns[f"#score{expression.number}"]
            case ir.Compare():
                return self._compare(expression, frame)
            case ir.Logic():
                join = pc.and_kleene if expression.operator is Op.AND else pc.or_kleene
                result = self._value(expression.operands[0], frame)
                for operand in expression.operands[1:]:
                    result = join(result, self._value(operand, frame))
                return result
            case ir.Member():
                return self._member(expression, frame)
            case ir.TextMatch():
                return self._text_match(expression, frame)
            case ir.IsNull():
                present = pc.is_null(self._value(expression.operand, frame))
                return pc.invert(present) if expression.negated else present
            case ir.Arithmetic():
                return self._arithmetic(expression, frame)
            case ir.Search():
                return self._search(expression, frame)
            case _:
                raise AssertionError(f"{type(expression).__name__} is not evaluated row by row")

    def _fetched(self, frame: Frame, variable: str, name: str) -> pa.Array:
        if frame.holds(variable, name):
            return frame.values(variable, name)
        values = frame.values(variable, name)
        self.budget.hold(
            frame.nbytes, f"`{variable}.{name}` of {frame.length:,} rows, including the values already held,"
        )
        return values

    def _compare(self, expression: ir.Compare, frame: Frame) -> Any:
        left, right = self._value(expression.left, frame), self._value(expression.right, frame)
        return compare(expression.operator, left, right)

    def _member(self, expression: ir.Member, frame: Frame) -> Any:
        item = self._value(expression.item, frame)
        items = self._value(expression.items, frame)
        if not isinstance(items, pa.Scalar):
            return list_holds(items, item)
        return is_member(item, items.values) if items.is_valid else pa.scalar(None, pa.bool_())

    def _text_match(self, expression: ir.TextMatch, frame: Frame) -> Any:
        text, part = self._value(expression.text, frame), self._value(expression.part, frame)
        starts = expression.operator is Op.STARTS_WITH
        if isinstance(part, pa.Scalar):
            if not part.is_valid:
                return pa.scalar(None, pa.bool_())
            test = pc.starts_with if starts else pc.match_substring
            return test(text, part.as_py())
        texts = _listed(text, frame.length)
        pairs = zip(texts, _listed(part, frame.length), strict=True)
        results = [
            None if whole is None or piece is None else (whole.startswith(piece) if starts else piece in whole)
            for whole, piece in pairs
        ]
        return pa.array(results, pa.bool_())

    def _arithmetic(self, expression: ir.Arithmetic, frame: Frame) -> Any:
        left, right = self._value(expression.left, frame), self._value(expression.right, frame)
        try:
            return arithmetic(expression.operator, left, right, column_type(PropertyType(expression.type.scalar)))
        except pa.ArrowInvalid as error:
            raise InputError(f"arithmetic does not fit {expression.type.scalar.value}: {error}") from error

    def _search(self, expression: ir.Search, frame: Frame) -> Any:
        assert isinstance(expression.text, ir.Property)
        variable = expression.text.variable
        found = self._found(expression, frame)
        if found is None:
            return pa.scalar(None, pa.bool_())
        # A search over a null text is null, neither true nor false.
        missing = pc.is_null(frame.values(variable, expression.text.name)).to_numpy(zero_copy_only=False)
        return pa.array(found, mask=missing)

    def _found(self, expression: ir.Search, frame: Frame) -> Mask | None:
        """The rows that a search finds; null texts count as not found. None if the search text is null."""
        assert isinstance(expression.text, ir.Property)
        variable = expression.text.variable
        rows = self.matching(expression, frame.tables[variable])
        if rows is None:
            return None
        found: Mask = np.zeros(frame.tables[variable].size + 1, bool)
        found[rows] = True
        return found[frame.bindings[variable]]

    def matching(self, expression: ir.Search, table: TableView) -> Rows | None:
        """Rows of a table that a search finds, unordered; None if the search text is null."""
        return self._searcher.matching(table, expression, self.uses)


def constant(expression: ir.Constant) -> pa.Scalar:
    """A constant in the storage type of its own type."""
    value = list(expression.value) if isinstance(expression.value, tuple) else expression.value
    return pa.scalar(value, column_type(expression.type))


def _listed(value: Any, length: int) -> list[Any]:
    if isinstance(value, pa.Scalar):
        return [value.as_py()] * length
    listed: list[Any] = value.to_pylist()
    return listed
