"""Expressions over a frame: one Arrow value a row, with SQL's null semantics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InputError
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher
from omnigraph.lang.gq_ast import BinaryOperator
from omnigraph.query import expressions as ir
from omnigraph.rows.arrow_types import column_type
from omnigraph.schema.types import PropertyType

Op = BinaryOperator
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

_COMPARE = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}


class Evaluator:
    """Evaluates expressions; knows how to search text."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def mask(self, predicate: ir.Expr, frame: Frame) -> Mask:
        """Where the predicate is true: null counts as false."""
        value = self.column(predicate, frame)
        filled: Mask = pc.fill_null(value, False).to_numpy(zero_copy_only=False)
        return filled

    def column(self, expression: ir.Expr, frame: Frame) -> pa.Array:
        """One value a row."""
        value = self._value(expression, frame)
        if isinstance(value, pa.Scalar):
            return pa.repeat(value, frame.length)
        return value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value

    def _value(self, expression: ir.Expr, frame: Frame) -> Any:
        match expression:
            case ir.Constant():
                return constant(expression)
            case ir.Property():
                return frame.values(expression.variable, expression.name)
            case ir.EntityId():
                return frame.values(expression.variable, "id")
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

    # --- comparisons -----------------------------------------------------------------------------------

    def _compare(self, expression: ir.Compare, frame: Frame) -> Any:
        left, right = self._value(expression.left, frame), self._value(expression.right, frame)
        return compare(expression.operator, left, right)

    def _member(self, expression: ir.Member, frame: Frame) -> Any:
        item = self._value(expression.item, frame)
        if isinstance(expression.items, ir.ListOf):
            equal = [compare(Op.EQ, item, self._value(part, frame)) for part in expression.items.items]
            result = equal[0]
            for part in equal[1:]:
                result = pc.or_kleene(result, part)
            return result
        items = self._value(expression.items, frame)
        if isinstance(items, pa.Scalar):
            if not items.is_valid:
                return pa.scalar(None, pa.bool_())
            value_set = items.values
            common = _common(item.type, value_set.type)
            found = pc.is_in(pc.cast(item, common), value_set=pc.cast(value_set, common))
            return pc.if_else(pc.is_valid(item), found, pa.scalar(None, pa.bool_()))
        return _list_holds(items, item, frame.length)

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

    # --- arithmetic ------------------------------------------------------------------------------------

    def _arithmetic(self, expression: ir.Arithmetic, frame: Frame) -> Any:
        type_ = column_type(PropertyType(expression.type.scalar))
        left, right = (
            pc.cast(self._value(side, frame), type_, safe=False) for side in (expression.left, expression.right)
        )
        try:
            match expression.operator:
                case Op.ADD:
                    return pc.add_checked(left, right)
                case Op.SUBTRACT:
                    return pc.subtract_checked(left, right)
                case Op.MULTIPLY:
                    return pc.multiply_checked(left, right)
                case Op.DIVIDE:
                    return pc.divide(left, _without_zero(right))
                case _:
                    divisor = _without_zero(right)
                    whole = pc.trunc(pc.divide(left, divisor))
                    return pc.subtract(left, pc.multiply(pc.cast(whole, type_, safe=False), divisor))
        except pa.ArrowInvalid as error:
            raise InputError(f"arithmetic does not fit {expression.type}: {error}") from error

    # --- search ----------------------------------------------------------------------------------------

    def _search(self, expression: ir.Search, frame: Frame) -> Any:
        assert isinstance(expression.text, ir.Property)
        variable = expression.text.variable
        rows = self._searcher.matching(frame.tables[variable], expression)
        binding = frame.bindings[variable]
        found = np.zeros(frame.tables[variable].rows + 1, bool)
        found[rows] = True
        return pa.array(found[binding], mask=binding < 0)


def constant(expression: ir.Constant) -> pa.Scalar:
    """A constant in the storage type of its own type."""
    value = list(expression.value) if isinstance(expression.value, tuple) else expression.value
    return pa.scalar(value, column_type(expression.type))


def compare(operator: BinaryOperator, left: Any, right: Any) -> Any:
    """Comparison by value, whatever the widths of the two sides."""
    if pa.types.is_boolean(left.type):
        left, right = pc.cast(left, pa.int8()), pc.cast(right, pa.int8())
    if {left.type, right.type} == {pa.uint64(), pa.int64()} or (
        pa.types.is_unsigned_integer(left.type) != pa.types.is_unsigned_integer(right.type)
        and pa.uint64() in (left.type, right.type)
        and pa.types.is_integer(left.type)
        and pa.types.is_integer(right.type)
    ):
        # No integer type holds both; twenty digits do.
        wide = pa.decimal128(20, 0)
        left, right = pc.cast(left, wide), pc.cast(right, wide)
    return _COMPARE[operator](left, right)


def _common(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if left == right:
        return left
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return pa.float64()
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        return pa.decimal128(20, 0) if pa.uint64() in (left, right) else pa.int64()
    return right


def _list_holds(lists: pa.Array, item: Any, length: int) -> pa.Array:
    parents = pc.list_parent_indices(lists).to_numpy()
    flat = pc.list_flatten(lists)
    wanted = item if isinstance(item, pa.Scalar) else pc.take(item, pa.array(parents))
    hits = pc.fill_null(compare(Op.EQ, flat, wanted), False).to_numpy(zero_copy_only=False)
    held = np.zeros(length, bool)
    held[parents[hits]] = True
    unknown = pc.is_null(lists).to_numpy(zero_copy_only=False)
    if isinstance(item, pa.Scalar):
        unknown = unknown | (not item.is_valid)
    else:
        unknown = unknown | pc.is_null(item).to_numpy(zero_copy_only=False)
    return pa.array(held, mask=unknown)


def _without_zero(value: Any) -> Any:
    return pc.if_else(pc.equal(value, pa.scalar(0, value.type)), pa.scalar(None, value.type), value)


def _listed(value: Any, length: int) -> list[Any]:
    if isinstance(value, pa.Scalar):
        return [value.as_py()] * length
    listed: list[Any] = value.to_pylist()
    return listed
