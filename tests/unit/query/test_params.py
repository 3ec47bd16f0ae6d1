"""Parameters: every row of the conversion table, and what becomes of the values in a plan."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from omnigraph.core.scalars import Scalar
from omnigraph.errors import ParameterError
from omnigraph.query import expressions as ir
from omnigraph.query.ir import InsertNode, ParameterIR, UpdateNodes
from omnigraph.query.params import bind_mutation, bind_query, bind_values
from omnigraph.schema.types import PropertyType
from tests.unit.query.fixture import drawn, mutation_of, plan_of, read, write

F32_TENTH = float(np.float32(0.1))
DAY = 86_400_000
VECTOR = PropertyType(Scalar.VECTOR, dimension=2)


def convert(type_: PropertyType, value: object) -> object:
    return bind_values([ParameterIR("k", type_)], {"k": value})["k"].value


def scalar(name: str, *, is_list: bool = False, nullable: bool = False) -> PropertyType:
    return PropertyType(Scalar(name), is_list, nullable)


ACCEPTED = [
    ("String", "x", "x"),
    ("String", "", ""),
    ("Blob", "base64:AA==", "base64:AA=="),
    ("Bool", True, True),
    ("I32", 5, 5),
    ("I32", "5", 5),
    ("I32", "-2147483648", -(2**31)),
    ("I64", 2**63 - 1, 2**63 - 1),
    ("I64", "9223372036854775807", 2**63 - 1),
    ("I64", "+7", 7),
    ("I64", "0007", 7),
    ("I64", np.int64(7), 7),
    ("U32", 2**32 - 1, 2**32 - 1),
    ("U64", 2**64 - 1, 2**64 - 1),
    ("U64", "18446744073709551615", 2**64 - 1),
    ("F64", 1, 1.0),
    ("F64", 0.1, 0.1),
    ("F64", 2**53 + 1, float(2**53)),
    ("F32", 0.1, F32_TENTH),
    ("F32", np.float32(0.1), F32_TENTH),
    ("Date", "2024-05-31", 19874),
    ("Date", "2024-5-3", 19846),
    ("Date", "20240531", 19874),
    ("Date", "2024-05-31T23:30:00-01:00", 19875),
    ("Date", date(2024, 5, 31), 19874),
    ("Date", datetime(2024, 5, 31, 23, 30, tzinfo=timezone(timedelta(hours=-1))), 19875),
    ("DateTime", "1970-01-02T00:00:00Z", DAY),
    ("DateTime", "1970-01-02", DAY),
    ("DateTime", "1970-01-01 01:00", 3_600_000),
    ("DateTime", "1970-01-01T01:00:00.1239+01:00", 123),
    ("DateTime", "1969-12-31T23:59:59.999Z", -1),
    ("DateTime", datetime(1970, 1, 1, 0, 0, 1), 1000),
    ("DateTime", datetime(1970, 1, 1, 0, 0, 1, 1999, tzinfo=UTC), 1001),
    ("DateTime", date(1970, 1, 2), DAY),
]
REFUSED = [
    ("String", 3, "expected string, got number"),
    ("String", ["x"], "expected string, got array"),
    ("Blob", b"x", "expected string, got bytes"),
    ("Bool", 1, "expected bool, got number"),
    ("Bool", "true", "expected bool, got string"),
    ("I32", 2**31, "2147483648 is out of range for I32"),
    ("I32", 1.0, "expected integer, got number"),
    ("I32", True, "expected integer, got bool"),
    ("I32", "1.0", "expected integer, got '1.0'"),
    ("I32", "", "expected integer, got ''"),
    ("I32", "\u0661", "expected integer, got"),
    ("I64", "9" * 10_000, "expected integer, got '999"),
    ("I64", 2**63, "out of range for I64"),
    ("U32", -1, "-1 is out of range for U32"),
    ("U64", "-1", "-1 is out of range for U64"),
    ("U64", 2**64, "out of range for U64"),
    ("F64", "1.5", "expected number, got string"),
    ("F64", True, "expected number, got bool"),
    ("F64", math.nan, "nan is not a finite F64"),
    ("F64", math.inf, "inf is not a finite F64"),
    ("F64", 10**400, "is not a finite F64"),
    ("F32", 1e39, "is not a finite F32"),
    ("Date", 19874, "expected Date string, got number"),
    ("Date", "2024-02-30", "'2024-02-30' is not a Date"),
    ("Date", "31.05.2024", "is not a Date"),
    ("DateTime", "2024-05-31T25:00:00Z", "is not a DateTime"),
    ("DateTime", "9999-12-31T23:59:59-23:59", "is not a DateTime"),
    ("DateTime", "0001-01-01T00:00:00+01:00", "is not a DateTime"),
    ("DateTime", {"a": 1}, "expected DateTime string, got object"),
]


@pytest.mark.parametrize(("name", "given", "expected"), ACCEPTED)
def test_an_accepted_value_becomes_the_literal_of_its_declared_type(name: str, given: object, expected: object) -> None:
    value = convert(scalar(name), given)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(("name", "given", "message"), REFUSED)
def test_a_wrong_value_is_refused_by_name_and_kind(name: str, given: object, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        convert(scalar(name), given)
    assert "param 'k': " in str(caught.value)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", [item.value for item in Scalar if item is not Scalar.VECTOR])
def test_null_is_allowed_exactly_for_nullable_parameters(name: str) -> None:
    assert convert(scalar(name, nullable=True), None) is None
    with pytest.raises(ParameterError, match="got null"):
        convert(scalar(name), None)


def test_lists_are_converted_item_by_item() -> None:
    assert convert(scalar("I32", is_list=True), [1, "2"]) == (1, 2)
    assert convert(scalar("Date", is_list=True), ("1970-01-02",)) == (1,)
    assert convert(scalar("F32", is_list=True), np.array([1.5, 2.5])) == (1.5, 2.5)
    assert convert(scalar("String", is_list=True), []) == ()
    for wrong, message in [("x", "expected array, got string"), ([1, None], "k[1]"), ([[1]], "k[0]")]:
        with pytest.raises(ParameterError) as caught:
            convert(scalar("I32", is_list=True), wrong)
        assert message in str(caught.value)


def test_vectors_have_exactly_their_dimension_of_finite_numbers() -> None:
    assert convert(VECTOR, [1, 0.1]) == (1.0, F32_TENTH)
    assert convert(VECTOR, np.array([1, 2], dtype=np.float32)) == (1.0, 2.0)
    wrongs: list[tuple[Any, str]] = [
        ([1], "expected 2 numbers, got 1"),
        ([1, "2"], "k[1]"),
        ([1, math.nan], "k[1]"),
        ([1, 1e300], "k[1]"),
        ("xx", "expected array of 2 numbers, got string"),
        (np.array(1.0), "expected array of 2 numbers"),
    ]
    for wrong, message in wrongs:
        with pytest.raises(ParameterError) as caught:
            convert(VECTOR, wrong)
        assert message in str(caught.value)


def test_a_missing_required_parameter_is_an_error_that_helps() -> None:
    declared = [ParameterIR("name", scalar("String")), ParameterIR("other", scalar("String", nullable=True))]
    with pytest.raises(ParameterError, match="parameter 'name' not provided"):
        bind_values(declared, None)
    with pytest.raises(ParameterError) as caught:
        bind_values(declared, {"$name": "x"})
    known = "the query declares $name: String, $other: String?"
    assert caught.value.hint == f"name it without the dollar sign: 'name'; {known}"
    with pytest.raises(ParameterError, match="the query has no parameter 'nam', and 1 more") as caught:
        bind_values(declared, {"nam": "x", 3: 4})  # type: ignore[dict-item]  # what a caller may well do
    assert caught.value.hint == f"did you mean `name`?; {known}"
    with pytest.raises(ParameterError, match="no parameter 'x'") as caught:
        bind_values([], {"x": 1})
    assert caught.value.hint == "the query declares no parameters"


def test_an_omitted_optional_parameter_is_null() -> None:
    bound = bind_values([ParameterIR("k", scalar("I32", nullable=True))], {})
    assert bound == {"k": ir.Constant(None, scalar("I32", nullable=True))}


def test_parameters_that_are_no_object_are_refused() -> None:
    with pytest.raises(ParameterError, match="must be an object, got array"):
        bind_values([], [1])  # type: ignore[arg-type]  # what a caller may well do


# --- into a plan -----------------------------------------------------------------------------------------


def bound_plan(text: str, values: dict[str, object], now_ms: int = 0) -> str:
    plan = plan_of(text)
    return drawn(bind_query(plan, bind_values(plan.parameters, values), now_ms).root)


def test_values_are_coerced_to_the_columns_they_meet() -> None:
    text = read("$p: Person $p.age < $x $p.name in $names", parameters="$x: F64, $names: [String]")
    assert 'where ($p.age <= 2) and ($p.name in ["a"])' in bound_plan(text, {"x": 2.7, "names": ["a", "a"]})


@pytest.mark.parametrize(
    ("condition", "parameters"),
    [
        ("$p.name = $x", "$x: String?"),
        ("$p.name != $x", "$x: String?"),
        ("$p.name in $x", "$x: [String]?"),
        ("$p.age in [$x]", "$x: I32?"),
        ("$p.tags contains $x", "$x: String?"),
    ],
)
def test_null_matches_nothing(condition: str, parameters: str) -> None:
    assert "Scan $p: Person where false" in bound_plan(read(f"$p: Person {condition}", parameters=parameters), {})


def test_now_is_one_value_for_the_whole_query() -> None:
    shown = bound_plan(read("$p: Person $p.seen < now()", "now()"), {}, now_ms=1000)
    assert shown.count('datetime("1970-01-01T00:00:01.000Z")') == 2


def test_the_constant_of_a_fusion_must_be_positive_at_run_time_too() -> None:
    rest = 'order { rrf(bm25($d.title, "x"), bm25($d.body, "x"), $k) } limit 1'
    text = read("$d: Doc", "$d", rest=rest, parameters="$k: I64")
    assert ", 3) required" in bound_plan(text, {"k": 3})
    with pytest.raises(ParameterError, match="positive integer, not 0"):
        bound_plan(text, {"k": 0})


ASSIGNED: list[tuple[str, str, object, object]] = [
    ("age", "I64", 5, 5),
    ("age", "I64?", None, None),
    ("score", "I64", 5, 5.0),
    ("height", "F64", 0.1, F32_TENTH),
    ("level", "String", "low", "low"),
    ("lucky", "[I64]", [1, 2], (1, 2)),
    ("born", "Date", "1970-01-02", 1),
    ("photo", "String", "base64:", "base64:"),
]
UNASSIGNABLE: list[tuple[str, str, object, str]] = [
    ("age", "I64", 2**31, "param 'x': 2147483648 does not fit `age`: I32 holds"),
    ("name", "String?", None, "None does not fit `name`: String cannot be null"),
    ("level", "String", "top", "expected one of high, low, mid"),
    ("height", "F64", 1e300, "F32 cannot hold it"),
    ("height", "I64", 2**24 + 1, "F32 cannot hold it"),
    ("lucky", "[I64]", [1, 2**40], "I32 holds"),
]


def assigned_value(name: str, type_: str, value: object) -> ir.Expr:
    mutation = mutation_of(write(f'update Person set {{ {name}: $x }} where email = "e"', f"$x: {type_}"))
    bound = bind_mutation(mutation, bind_values(mutation.parameters, {"x": value}), 0)
    statement = bound.statements[0]
    assert isinstance(statement, UpdateNodes)
    return statement.assignments[0].value


@pytest.mark.parametrize(("name", "type_", "given", "expected"), ASSIGNED)
def test_an_assigned_parameter_gets_exactly_the_type_of_its_property(
    name: str, type_: str, given: object, expected: object
) -> None:
    value = assigned_value(name, type_, given)
    assert isinstance(value, ir.Constant)
    assert value.value == expected
    assert type(value.value) is type(expected)


@pytest.mark.parametrize(("name", "type_", "given", "message"), UNASSIGNABLE)
def test_a_parameter_that_its_property_cannot_hold_is_refused_before_anything_runs(
    name: str, type_: str, given: object, message: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        assigned_value(name, type_, given)
    assert message in str(caught.value)


def test_endpoints_and_conditions_of_a_mutation_are_filled_in() -> None:
    text = write("insert Follows { from: $a to: $b } delete Person where age < $x", "$a: String, $b: String?, $x: F64")
    mutation = mutation_of(text)
    values: dict[str, object] = {"a": "1", "b": "2", "x": 2.7}
    bound = bind_mutation(mutation, bind_values(mutation.parameters, values), 0)
    assert bound.statements[0].source == ir.Constant("1", ir.TEXT)  # type: ignore[union-attr]  # an InsertEdge
    assert bound.statements[1].predicate.right.value == 2  # type: ignore[union-attr]  # a comparison
    with pytest.raises(ParameterError, match="`to`: String cannot be null"):
        bind_mutation(mutation, bind_values(mutation.parameters, {**values, "b": None}), 0)


def test_now_is_assigned_as_milliseconds() -> None:
    mutation = mutation_of(write('insert Person { name: "n" email: "e" seen: now() }'))
    statement = bind_mutation(mutation, {}, 42).statements[0]
    assert isinstance(statement, InsertNode)
    assert statement.assignments[-1].value == ir.Constant(42, ir.DATETIME)
