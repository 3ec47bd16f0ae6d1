"""Liveness: the columns that later operators need, operator by operator."""

import pytest

from omnigraph.query.ir import AntiJoin, Distinct, Expand, Group, Operator, OptionalJoin, Outer, Project, Scan
from omnigraph.query.liveness import (
    Demand,
    Multiplicity,
    forgotten_walk,
    inner_demand,
    input_demand,
    near_variable,
    outer_variables,
    shaped_demand,
)
from omnigraph.query.rewrite.tree import inputs
from tests.unit.query.fixture import plan_of


def shaping(root: Operator) -> tuple[Group | Project, bool]:
    """The operator that makes the columns, and whether equal rows are then dropped."""
    distinct = False
    while not isinstance(root, Group | Project):
        distinct = isinstance(root, Distinct)
        (root,) = inputs(root)
    return root, distinct


def top(match: str, returns: str) -> tuple[Operator, Demand]:
    """The highest operator that gives rows, and what is wanted of it."""
    operator, distinct = shaping(plan_of(f"query q() {{ match {{ {match} }} return {returns} }}").root)
    return operator.input, shaped_demand(operator, under_distinct=distinct)


@pytest.mark.parametrize(
    ("returns", "variables", "multiplicity"),
    [
        ("{ $p.name }", "p", Multiplicity.ROWS),
        ("{ count($p) }", "", Multiplicity.COUNTED),
        ("{ count($p.name), count($c) }", "", Multiplicity.COUNTED),
        ("{ count($p.age) }", "p", Multiplicity.COUNTED),
        ("{ count(distinct $c) }", "c", Multiplicity.EXISTS),
        ("{ $p, count($c) }", "p", Multiplicity.COUNTED),
        ("{ $p.name, max($c.founded) }", "cp", Multiplicity.EXISTS),
        ("{ max($c.founded), sum($p.age) }", "cp", Multiplicity.COUNTED),
        ("{ collect($c.name) }", "c", Multiplicity.COUNTED),
        ("distinct { $c.name }", "c", Multiplicity.EXISTS),
        ("distinct { $c.name, count($p) }", "c", Multiplicity.COUNTED),
        ("{ count($d) }", "d", Multiplicity.COUNTED),
        ("{ count($d.title) }", "d", Multiplicity.COUNTED),
        ("{ count(2) }", "", Multiplicity.COUNTED),
    ],
)
def test_what_is_wanted_follows_from_what_is_returned(returns: str, variables: str, multiplicity: Multiplicity) -> None:
    _, demand = top("$p: Person $p worksAt $c maybe { $p wrote $d }", returns)
    assert "".join(sorted(demand.variables)) == variables
    assert demand.multiplicity is multiplicity


def test_conditions_expansions_and_blocks_want_their_variables() -> None:
    operator, demand = top("$p: Person $p worksAt $c $c.name = $p.nick not { $p wrote $d }", "{ count($c) }")
    seen: list[tuple[str, str]] = []
    while not isinstance(operator, Scan):
        seen.append((type(operator).__name__, "".join(sorted(demand.variables))))
        demand = input_demand(operator, demand)
        operator = inputs(operator)[0]
    assert seen == [("AntiJoin", ""), ("Filter", "p"), ("Expand", "cp")]
    assert demand.reads == {("c", "name"), ("p", "nick")}


def test_a_negated_block_only_has_to_exist() -> None:
    operator, demand = top("$p: Person not { $p wrote $d $d cites $e }", "{ $p }")
    assert isinstance(operator, AntiJoin)
    assert inner_demand(operator, demand) == Demand(frozenset(), frozenset(), Multiplicity.EXISTS)
    assert outer_variables(operator.inner) == ("p",)


def test_an_optional_block_is_wanted_for_what_it_introduces() -> None:
    operator, demand = top("$p: Person maybe { $p wrote $d $d cites $e }", "{ $p, $d.title, count($p) }")
    assert isinstance(operator, OptionalJoin)
    inner = inner_demand(operator, demand)
    assert inner.variables == {"d"}
    assert inner.reads == {("d", "title")}
    assert inner.multiplicity is Multiplicity.COUNTED


@pytest.mark.parametrize(
    ("match", "returns", "walk"),
    [
        ("$a: Person $a knows $b $b knows $c $c knows $d", "{ count($d) }", "abc"),
        ("$a: Person $a knows $b $b knows $c $c knows $d", "{ $b, count($d) }", "bc"),
        ("$a: Person $a knows $b $b knows $c $c knows $d", "{ $c, count($d) }", "c"),
        ("$a: Person $a knows $b $b knows $c $c knows $d", "{ count(distinct $d) }", ""),
        ("$d: Person $c knows $d $b knows $c", "{ count($b) }", "dc"),
        ("$a: Person $a $e: knows $b $b knows $c", "{ count($e.since) }", "b"),
        ("$a: Person $a $e: knows $b $e.since is null $b knows $c", "{ count($a) }", "ab"),
        ("$a: Person $a knows $b $a knows $c", "{ count($a) }", "a"),
        ("$a: Person $a knows $b $b knows{1,2} $c", "{ count($a) }", ""),
        ("$a: Person $a knows{1,2} $b $b knows $c", "{ count($a) }", "b"),
        ("$a: Person $a knows $b $b knows $a", "{ count($a) }", ""),
    ],
)
def test_a_walk_is_forgotten_as_far_as_nobody_looks(match: str, returns: str, walk: str) -> None:
    operator, demand = top(match, returns)
    assert isinstance(operator, Expand)
    assert "".join(near_variable(step) for step in forgotten_walk(operator, demand)) == walk


def test_the_leaf_of_a_block_names_what_it_mentions() -> None:
    assert outer_variables(Outer(("a", "b"))) == ("a", "b")
