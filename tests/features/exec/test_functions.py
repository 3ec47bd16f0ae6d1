"""Every scalar function and cast gives the values of the naive implementation, for columns and for constants."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.core.functions import ARGUMENTS, ScalarFunction
from omnigraph.core.scalars import Family, Scalar
from omnigraph.errors import CompileError, InputError, ParameterError
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.fold import fold
from omnigraph.exec.frame import Frame
from omnigraph.exec.functions.casts import CASTS
from omnigraph.exec.functions.kernels import KERNELS
from omnigraph.exec.search import Searcher
from omnigraph.query import expressions as ir
from omnigraph.query.types.calls import CALLED
from omnigraph.query.types.rules import RULES, Nulls
from omnigraph.query.variables import transform
from omnigraph.rows.arrow_types import column_type
from tests.features.exec import naive_functions
from tests.features.exec.function_cases import POOLS, SIGNATURES, Case, cases, differences, families, plain
from tests.features.exec.people import People

CASES = cases()


def evaluated(expression: ir.Expr, frame: Frame) -> pa.Array:
    return Evaluator(Searcher(), Budget()).column(expression, frame)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_function_gives_the_values_of_its_definition(case: Case) -> None:
    frame = Frame(case.rows, {})
    for item, values in case.arrays():
        frame = frame.with_values(item.variable, item.name, values)
    found = evaluated(case.expression, frame)
    assert found.type == column_type(case.expression.type)
    assert not differences(case, plain(found))
    assert not len(evaluated(case.expression, frame.take(np.zeros(0, np.int64))))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_function_of_constants_is_folded_to_the_same_value(case: Case) -> None:
    for row in range(0, case.rows, max(case.rows // 12, 1)):
        values = {item.name: values[row] for item, values in case.columns}

        def fill(part: ir.Expr, values: dict[str, Any] = values) -> ir.Expr:
            if not isinstance(part, ir.Property):
                return part
            value = values[part.name]
            return ir.Constant(tuple(value) if isinstance(value, list) else value, part.type)

        folded = fold(transform(case.expression, fill))
        assert isinstance(folded, ir.Constant)
        found = list(folded.value) if isinstance(folded.value, tuple) else folded.value
        one = Case(case.name, case.expression, (), (case.wanted[row],), case.is_approximate)
        assert not differences(one, [found])


def test_every_function_has_a_rule_a_kernel_a_definition_and_cases() -> None:
    for table in (RULES, KERNELS, naive_functions.FUNCTIONS, SIGNATURES):
        assert set(table) == set(ScalarFunction)
    assert set(CALLED) <= set(ARGUMENTS)


def test_every_cast_has_a_kernel() -> None:
    same = {(family, family) for family in {scalar.info.family for scalar in POOLS}}
    internal = {(Family.TIME, Family.INTEGER)}
    assert families() - same <= set(CASTS) <= families() | internal


@pytest.mark.parametrize("function", ScalarFunction, ids=lambda function: function.name)
def test_the_null_rule_of_a_function_is_the_documented_one(function: ScalarFunction) -> None:
    rule = RULES[function]
    for case in CASES:
        if not isinstance(case.expression, ir.Call) or case.expression.function is not function:
            continue
        rows = zip(*(values for _, values in case.columns), strict=True)
        for row, wanted in zip(rows, case.wanted, strict=True):
            if rule.nulls is Nulls.STRICT:
                assert (wanted is None) == (None in row)
            elif rule.nulls is Nulls.DOMAIN:
                assert wanted is None or None not in row
            elif rule.nulls is Nulls.SKIPPED:
                assert (wanted is None) == all(value is None for value in row)


@pytest.mark.parametrize("function", ScalarFunction, ids=lambda function: function.name)
def test_the_example_of_the_manual_has_the_value_it_shows(people: People, function: ScalarFunction) -> None:
    expression, value = RULES[function].example
    rows = people.ask('$p: Person { name: "Ann" }', f"{expression} as x").rows
    assert rows == [{"x": json.loads(value)}]


@pytest.mark.parametrize(
    "expression",
    ["abs($p.big - 9223372036854775807 - 1)", '$p.born + duration(9000, "year")', '$p.seen + duration($p.big, "day")'],
)
def test_a_value_that_does_not_fit_is_an_error(people: People, expression: str) -> None:
    match = "$p: Person $p.big = -1" if "big" in expression else "$p: Person"
    with pytest.raises(InputError):
        people.ask(match if "seen" not in expression else "$p: Person", expression.replace("$p.seen", "now()"))


def test_a_branch_that_is_not_taken_cannot_fail(people: People) -> None:
    rows = people.rows("$p: Person $p.big is not null", "$p, if($p.big < 0, $p.big * 2, 0)")
    assert rows == [("Ann", 0), ("Eve", -2)]
    assert people.rows(
        "$p: Person $p.big is not null", "$p, case when $p.big > 0 then 1 else $p.big * $p.big * $p.big end"
    ) == [
        ("Ann", 1),
        ("Eve", -1),
    ]


def test_an_invalid_pattern_is_refused_when_it_is_bound(people: People) -> None:
    with pytest.raises(ParameterError, match="invalid"):
        people.ask("$p: Person regex_match($p.name, $x)", "$p", params="$x: String", values={"x": "(a"})
    with pytest.raises(CompileError, match="valid pattern"):
        people.ask('$p: Person regex_match($p.name, "(a")', "$p")


def test_functions_of_variables_look_at_the_entity(people: People) -> None:
    assert people.rows('$p: Person { name: "Ann" } $p $e: knows $f', "type($p), type($e), id($e), id($f)") == [
        ("Person", "Knows", "ab1", "Bob"),
        ("Person", "Knows", "ab2", "Bob"),
    ]
    optional = people.rows("$p: Person maybe { $p worksAt $c }", 'type($c), id($c), id($p) = "Dan"')
    assert {(None, None, True), ("Company", "Acme", False)} <= set(optional)


def test_quantifiers_follow_three_valued_logic(people: People) -> None:
    rows = dict(people.rows("$p: Person", '$p, any($t in $p.tags where $t = "x")'))
    assert rows == {"Ann": None, "Bob": True, "Cid": False, "Dan": True, "Eve": None}
    rows = dict(people.rows("$p: Person", '$p, all($t in $p.tags where $t = "x")'))
    assert rows == {"Ann": None, "Bob": False, "Cid": True, "Dan": True, "Eve": None}
    rows = dict(people.rows("$p: Person", "$p, any($n in $p.lucky where $n + $p.age > 21)"))
    assert rows["Bob"] is True
    nested = 'any($t in $p.tags where any($u in ["x", "z"] where $u = $t))'
    assert people.names(f"$p: Person {nested}") == "Bob Dan"


def test_an_unknown_scalar_of_a_case_has_the_common_type(people: People) -> None:
    result = people.ask(
        "$p: Person", "coalesce($p.age, 0) as a, coalesce($p.height, 0) as h, coalesce($p.visits, 1) as v"
    )
    types = [
        column_type(item.type)
        for item in (ir.Constant(0, ir.PropertyType(s)) for s in (Scalar.I32, Scalar.F32, Scalar.U64))
    ]
    assert [field.type for field in result.schema] == types
