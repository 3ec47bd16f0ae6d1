"""Every operator, expression kind, operator sign and aggregate of the IR is run on both executors by some case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import product
from typing import Any, get_args

import pytest

from omnigraph.core.operators import AggregateFunction, BinaryOperator
from omnigraph.exec.shape.aggregates import REDUCERS
from omnigraph.query import aggregates
from omnigraph.query import expressions as ir
from omnigraph.query.compile import compile_text
from omnigraph.query.ir import Direction, Operator, QueryIR
from omnigraph.spark.query import shaping
from tests.features.exec.people import People
from tests.promises.parity.cases import CASES, Case

WITHOUT_SIGN = {BinaryOperator.IN: ir.Member}
"""Operators of the language that the IR has a node of its own for, without a sign."""


def parts(value: Any) -> Iterator[Any]:
    """Every node and enum member below a value. Fields are read generically, so that new ones are not overlooked."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif isinstance(value, Enum):
        yield value
    elif is_dataclass(value):
        yield value
        for field in fields(value):
            yield from parts(getattr(value, field.name))


def covered(people: People) -> list[Any]:
    """The parts of all compiled cases."""
    catalog = people.graph.snapshot().catalog
    queries = [compile_text(case.text, catalog) for case in CASES.values()]
    assert all(isinstance(query, QueryIR) for query in queries)
    return [part for query in queries for part in parts(query)]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_both_executors_agree_on_every_part_of_the_ir(people: People, case: Case) -> None:
    before = people.graph.queries_run  # type: ignore[attr-defined] # a graph of this suite
    people.graph.query(case.text, case.values)
    assert people.graph.queries_run == before + 1  # type: ignore[attr-defined] # as above


def test_every_operator_and_expression_kind_has_a_case(people: People) -> None:
    found = {type(part) for part in covered(people)}
    assert not [kind.__name__ for kind in (*get_args(Operator), *get_args(ir.Expr)) if kind not in found]


@pytest.mark.parametrize("members", [Direction, ir.ComputedPart, ir.SearchKind], ids=lambda members: members.__name__)
def test_every_variant_has_a_case(people: People, members: type[Enum]) -> None:
    found = [part for part in covered(people) if isinstance(part, members)]
    assert not [member.name for member in members if member not in found]


def test_every_sign_has_a_case(people: People) -> None:
    found = covered(people)
    kinds = {type(part) for part in found}
    signs = {part for part in found if isinstance(part, BinaryOperator)}
    signs |= {sign for sign, kind in WITHOUT_SIGN.items() if kind in kinds}
    assert not [operator.name for operator in BinaryOperator if operator not in signs]


def test_every_aggregate_has_a_case_with_and_without_distinct(people: People) -> None:
    found = {(part.function, part.distinct) for part in covered(people) if isinstance(part, ir.Aggregate)}
    assert not set(product(AggregateFunction, (True, False))) - found


def test_every_aggregate_has_a_type_rule_and_an_implementation_in_both_executors() -> None:
    for table in (aggregates.AGGREGATES, REDUCERS, shaping.AGGREGATES):
        assert set(table) == set(AggregateFunction)


def test_a_new_operator_without_a_case_is_noticed(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(CASES, "path")
    monkeypatch.delitem(CASES, "every path")
    with pytest.raises(AssertionError, match="ShortestPath"):
        test_every_operator_and_expression_kind_has_a_case(people)
