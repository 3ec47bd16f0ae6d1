"""Rewrites change no answer: random predicates and random values, against plain Python."""

import math
import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Expand, Filter, Operator, Scan
from omnigraph.query.rewrite.coerce import coerce_predicate
from omnigraph.query.rewrite.prune import prune_columns
from omnigraph.query.rewrite.pushdown import bound_variables, push_predicates
from omnigraph.query.rewrite.tree import expressions_of, inputs
from omnigraph.query.variables import variables_of, walk
from omnigraph.schema.types import PropertyType
from tests.support.examples import examples
from tests.unit.query.evaluate import COMPARISONS, evaluate
from tests.unit.query.fixture import lowered
from tests.unit.query.golden import cases

NUMBERS = [Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64, Scalar.F32, Scalar.F64]
EDGES = [0, 1, 2**24 + 1, 2**31, 2**32, 2**53 + 1, 2**63, 2**64 - 1]
literals = (
    st.integers(-(2**63), 2**64 - 1)
    | st.sampled_from([sign * edge + step for edge in EDGES for sign in (1, -1) for step in (-1, 0, 1)])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.sampled_from([0.1, 2.5, -2.5, 1e39, -1e39, 1e-46, 5e-324, 3.4028235e38, 3.4028236e38, float(2**53)])
)


def values_of(scalar: Scalar, near: float) -> st.SearchStrategy[Any]:
    """Values a column can hold, many of them next to the literal."""
    if scalar.is_integer:
        low, high = INTEGER_RANGES[scalar]
        around = [int(near) + step for step in (-1, 0, 1)]
        fitting = [value for value in around if low <= value <= high] or [low, high]
        return st.none() | st.integers(low, high) | st.sampled_from([*fitting, low, high])
    width = 32 if scalar is Scalar.F32 else 64
    finite = st.floats(allow_nan=False, allow_infinity=False, width=width)  # type: ignore[call-overload]  # 32 or 64
    return st.none() | finite | st.sampled_from(_floats_around(near, scalar))


def _floats_around(near: float, scalar: Scalar) -> list[float]:
    try:
        number = float(near)
        if scalar is Scalar.F32:
            number = struct.unpack("<f", struct.pack("<f", number))[0]
            (bits,) = struct.unpack("<i", struct.pack("<f", number))
            around = [bits - 1, bits, bits + 1]
            found = [struct.unpack("<f", struct.pack("<i", b))[0] for b in around if -(2**31) <= b < 2**31]
        else:
            found = [math.nextafter(number, -math.inf), number, math.nextafter(number, math.inf)]
    except OverflowError:
        return [0.0]
    return [value for value in found if math.isfinite(value)] or [0.0]


def constant(value: float) -> ir.Constant:
    if isinstance(value, float):
        return ir.Constant(value, ir.FLOAT)
    return ir.Constant(value, PropertyType(Scalar.U64) if value >= 2**63 else ir.INTEGER)


def same_truth(before: ir.Expr, value: object) -> None:
    after = coerce_predicate(before)
    row = {"x": value}
    assert (evaluate(before, row) is True) == (evaluate(after, row) is True), after


@examples(1_000)
@given(st.data(), st.sampled_from(NUMBERS), st.sampled_from(sorted(COMPARISONS, key=str)), literals, st.booleans())
def test_a_coerced_comparison_keeps_exactly_the_same_rows(
    data: st.DataObject, scalar: Scalar, operator: BinaryOperator, literal: float, mirrored: bool
) -> None:
    value = data.draw(values_of(scalar, literal))
    column, other = ir.Property("p", "x", PropertyType(scalar, nullable=True)), constant(literal)
    before = ir.Compare(operator, other, column) if mirrored else ir.Compare(operator, column, other)
    same_truth(before, value)


@examples(500)
@given(st.sampled_from(NUMBERS), st.sampled_from(sorted(COMPARISONS, key=str)), literals)
def test_a_coerced_constant_has_exactly_the_type_of_its_column(
    scalar: Scalar, operator: BinaryOperator, literal: float
) -> None:
    column = ir.Property("p", "x", PropertyType(scalar, nullable=True))
    for part in walk(coerce_predicate(ir.Compare(operator, column, constant(literal)))):
        if isinstance(part, ir.Constant) and part not in (ir.TRUE, ir.FALSE):
            assert part.type == PropertyType(scalar)
            if scalar.is_integer:
                low, high = INTEGER_RANGES[scalar]
                assert isinstance(part.value, int)
                assert low <= part.value <= high
            else:
                assert isinstance(part.value, float)
                assert math.isfinite(part.value)
                if scalar is Scalar.F32:
                    assert struct.unpack("<f", struct.pack("<f", part.value))[0] == part.value


@examples(500)
@given(st.data(), st.sampled_from(NUMBERS), st.lists(st.none() | literals, max_size=4))
def test_a_coerced_list_keeps_exactly_the_same_rows(
    data: st.DataObject, scalar: Scalar, items: list[float | None]
) -> None:
    value = data.draw(values_of(scalar, next((item for item in items if item is not None), 0)))
    column = ir.Property("p", "x", PropertyType(scalar, nullable=True))
    same_truth(ir.Member(column, ir.Constant(tuple(items), PropertyType(Scalar.F64, is_list=True))), value)


@examples(300)
@given(st.data(), st.sampled_from(NUMBERS), literals)
def test_a_coerced_item_keeps_exactly_the_same_rows(data: st.DataObject, scalar: Scalar, literal: float) -> None:
    values = data.draw(st.none() | st.lists(values_of(scalar, literal), max_size=3))
    column = ir.Property("p", "x", PropertyType(scalar, is_list=True, nullable=True))
    same_truth(ir.Member(constant(literal), column), values)


def _comparison(scalar: Scalar, operator: BinaryOperator, literal: float) -> ir.Expr:
    return ir.Compare(operator, ir.Property("p", "x", PropertyType(scalar, nullable=True)), constant(literal))


def _logic(inner: st.SearchStrategy[ir.Expr]) -> st.SearchStrategy[ir.Expr]:
    operands = st.lists(inner, min_size=2, max_size=3).map(tuple)
    joined = st.builds(ir.Logic, st.sampled_from([BinaryOperator.AND, BinaryOperator.OR]), operands)
    compared = st.builds(
        ir.Compare,
        st.sampled_from([BinaryOperator.EQ, BinaryOperator.NE]),
        inner,
        st.sampled_from([ir.TRUE, ir.FALSE, ir.Constant(None, ir.BOOL)]),
    )
    return joined | compared


predicates = st.recursive(
    st.builds(_comparison, st.just(Scalar.I32), st.sampled_from(sorted(COMPARISONS, key=str)), literals)
    | st.sampled_from(
        [ir.TRUE, ir.FALSE, ir.IsNull(ir.Property("p", "x", PropertyType(Scalar.I32, nullable=True)), False)]
    ),
    _logic,
    max_leaves=6,
)


@examples(500)
@given(predicates, values_of(Scalar.I32, 2.5))
@example(ir.Compare(BinaryOperator.EQ, _comparison(Scalar.I32, BinaryOperator.EQ, 2.5), ir.FALSE), None)
def test_coercion_inside_of_logic_keeps_exactly_the_same_rows(predicate: ir.Expr, value: object) -> None:
    same_truth(predicate, value)


# --- pushdown and pruning over every plan of the golden files --------------------------------------------

READS = [case.text for case in cases("explain.txt") if "return {" in case.text] + [
    case.text for case in cases("passes.txt")
]


def conditions(root: Operator) -> list[ir.Expr]:
    """Every conjunct that stands anywhere in a tree."""
    found: list[ir.Expr] = []
    if isinstance(root, Filter | Scan | Expand):
        for expression in expressions_of(root):
            is_and = isinstance(expression, ir.Logic) and expression.operator is BinaryOperator.AND
            found.extend(expression.operands if is_and and isinstance(expression, ir.Logic) else [expression])
    for below in inputs(root):
        found.extend(conditions(below))
    return found


def assert_readable(root: Operator) -> None:
    """Every predicate stands where all its variables are bound."""
    for expression in expressions_of(root):
        if isinstance(root, Filter | Scan | Expand):
            assert set(variables_of(expression)) <= bound_variables(root)
    for below in inputs(root):
        assert_readable(below)


@pytest.mark.parametrize("text", READS)
def test_pushing_loses_no_condition_and_puts_each_where_its_variables_are_bound(text: str) -> None:
    before = lowered(text)
    after = push_predicates(before)
    assert sorted(map(repr, conditions(after))) == sorted(map(repr, conditions(before)))
    assert_readable(after)
    assert push_predicates(after) == after


@pytest.mark.parametrize("text", READS)
def test_pruning_brings_only_properties_that_exist_and_changes_nothing_else(text: str) -> None:
    after = prune_columns(push_predicates(lowered(text)))
    assert prune_columns(after) == after
    _assert_columns_are_read(after, after)


def _assert_columns_are_read(root: Operator, operator: Operator) -> None:
    read = {(part.variable, part.name) for part in _properties(root)}
    if isinstance(operator, Scan):
        assert {(operator.variable, name) for name in operator.columns} <= read
    if isinstance(operator, Expand):
        assert {(operator.new_variable, name) for name in operator.columns} <= read
    for below in inputs(operator):
        _assert_columns_are_read(root, below)


def _properties(root: Operator) -> list[ir.Property]:
    own = [part for expression in expressions_of(root) for part in walk(expression) if isinstance(part, ir.Property)]
    return own + [part for below in inputs(root) for part in _properties(below)]
