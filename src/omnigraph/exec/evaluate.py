"""Expression evaluation over a frame: one Arrow value per row, with SQL's null semantics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.operators import BinaryOperator, Quantifier
from omnigraph.errors import InputError
from omnigraph.exec.budget import Budget
from omnigraph.exec.frame import BLOCK_MARK, Frame
from omnigraph.exec.functions.rowwise import each
from omnigraph.exec.functions.substrings import contains
from omnigraph.exec.numbers import arithmetic, compare, is_member, list_holds
from omnigraph.exec.search import Searcher
from omnigraph.exec.tables import Rows, TableView
from omnigraph.query import expressions as ir
from omnigraph.query.variables import may_fail
from omnigraph.rows.arrow_types import column_type, item_type
from omnigraph.storage.index.indexes import Coverage

Op = BinaryOperator
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

ITEM = f"{BLOCK_MARK}item."
"""Prefix of the columns that hold the items of a quantifier, by the name of their variable."""

OUTPUT = f"{BLOCK_MARK}output"
"""Prefix of the columns that hold the columns of a result, by position."""

_NO_TEXT = pa.scalar(None, pa.utf8())
_PART_TESTS = {Op.STARTS_WITH: pc.starts_with, Op.ENDS_WITH: pc.ends_with, Op.CONTAINS: contains}
_TEXT_TESTS = {Op.STARTS_WITH: str.startswith, Op.ENDS_WITH: str.endswith, Op.CONTAINS: str.__contains__}


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
        return _mask(self.column(predicate, frame))

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
            case ir.TypeName():
                return pc.if_else(pa.array(frame.bindings[expression.variable] >= 0), expression.name, _NO_TEXT)
            case ir.Item():
                return frame.columns[f"{ITEM}{expression.variable}"]
            case ir.Computed():
                return frame.columns[f"{expression.variable}.{expression.part.value}"]
            case ir.ScoreColumn():
                return frame.columns[f"#score{expression.number}"]
            case ir.Output():
                return frame.columns[f"{OUTPUT}{expression.position}"]
            case ir.Compare():
                return self._compare(expression, frame)
            case ir.Logic():
                join = pc.and_kleene if expression.operator is Op.AND else pc.or_kleene
                result = self._value(expression.operands[0], frame)
                for operand in expression.operands[1:]:
                    result = join(result, self._value(operand, frame))
                return result
            case ir.Not():
                return pc.invert(self._value(expression.operand, frame))
            case ir.Member():
                return self._member(expression, frame)
            case ir.ListOf():
                return self._list(expression, frame)
            case ir.TextMatch():
                return self._text_match(expression, frame)
            case ir.IsNull():
                present = pc.is_null(self._value(expression.operand, frame))
                return pc.invert(present) if expression.negated else present
            case ir.Arithmetic():
                return self._arithmetic(expression, frame)
            case ir.Call():
                return self._call(expression, frame)
            case ir.Cast():
                operand = expression.operand
                from omnigraph.exec.functions.casts import cast

                return cast(self._value(operand, frame), operand.type, expression.type)
            case ir.Case():
                return self._case(expression, frame)
            case ir.Quantified():
                return self._quantified(expression, frame)
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
        if not isinstance(part, pa.Scalar):
            return each(_TEXT_TESTS[expression.operator], (text, part), pa.bool_())
        if not part.is_valid:
            return pa.scalar(None, pa.bool_())
        return _PART_TESTS[expression.operator](text, part.as_py())

    def _arithmetic(self, expression: ir.Arithmetic, frame: Frame) -> Any:
        left, right = self._value(expression.left, frame), self._value(expression.right, frame)
        try:
            return arithmetic(expression.operator, left, right, item_type(expression.type))
        except pa.ArrowInvalid as error:
            raise InputError(f"arithmetic does not fit {expression.type.scalar.value}: {error}") from error

    def _list(self, expression: ir.ListOf, frame: Frame) -> pa.Array:
        """A list per row: the items of all rows one after the other, taken row by row."""
        type_ = column_type(expression.type)
        columns = [self.column(item, frame).cast(type_.value_type, safe=False) for item in expression.items]
        count = len(columns)
        places = np.arange(count)[None, :] * frame.length + np.arange(frame.length)[:, None]
        offsets = pa.array(np.arange(frame.length + 1) * count, pa.int32())
        return pa.ListArray.from_arrays(offsets, pa.concat_arrays(columns).take(pa.array(places.ravel())))

    def _call(self, expression: ir.Call, frame: Frame) -> Any:
        arguments = [self._value(argument, frame) for argument in expression.arguments]
        # Most queries call no function, and the kernels are many modules.
        from omnigraph.exec.functions.kernels import KERNELS

        try:
            return KERNELS[expression.function](arguments, column_type(expression.type))
        except pa.ArrowInvalid as error:
            name, scalar = expression.function.value, expression.type.scalar.value
            raise InputError(f"`{name}` does not fit {scalar}: {error}") from error

    def _case(self, expression: ir.Case, frame: Frame) -> Any:
        if may_fail(expression):
            return self._case_by_rows(expression, frame)
        found = self._value(expression.otherwise, frame)
        for condition, value in reversed(expression.branches):
            is_true = pc.fill_null(self._value(condition, frame), False)
            found = pc.if_else(is_true, self._value(value, frame), found)
        return found

    def _case_by_rows(self, expression: ir.Case, frame: Frame) -> pa.Array:
        """The same where a value may raise: every branch is computed for its own rows only."""
        left, places, found = np.arange(frame.length), [], []
        for condition, value in (*expression.branches, (ir.TRUE, expression.otherwise)):
            rows = frame.take(left)
            taken = self.mask(condition, rows)
            places.append(left[taken])
            found.append(self.column(value, rows.where(taken)))
            left = left[~taken]
        order = np.argsort(np.concatenate(places), kind="stable")
        return pa.concat_arrays(found).take(pa.array(order))

    def _quantified(self, expression: ir.Quantified, frame: Frame) -> pa.Array:
        """The predicate over all items of all rows, then one answer per row.

        An answer is decided by one item (true for ``any``, false for ``all``), otherwise unknown if an item is.
        """
        lists = self.column(expression.items, frame)
        parents = pc.list_parent_indices(lists).to_numpy()
        rows = frame.take(parents).with_column(f"{ITEM}{expression.variable}", pc.list_flatten(lists))
        tested = self.column(expression.predicate, rows)
        decides = expression.quantifier is Quantifier.ANY
        decided, unsure = np.zeros(frame.length, bool), np.zeros(frame.length, bool)
        decided[parents[_mask(pc.equal(tested, decides))]] = True
        unsure[parents[_mask(pc.is_null(tested))]] = True
        unknown = _mask(pc.is_null(lists)) | (unsure & ~decided)
        return pa.array(decided if decides else ~decided, mask=unknown)

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


def _mask(values: pa.Array) -> Mask:
    """A column of truth values as an array; null counts as false."""
    mask: Mask = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return mask
