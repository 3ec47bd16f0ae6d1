"""Compiled queries: used from the second run on, at the newest commit, and only for plans that they obey fully."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import omnigraph
from omnigraph.core.classes.dataclass import dataclass
from omnigraph.engine.graph import Graph, create
from omnigraph.engine.query import reads
from omnigraph.errors import CompileError, LimitExceeded, ParameterError, QueryCancelled, UsageError
from omnigraph.exec.compiled import query as compiled_query
from omnigraph.exec.compiled.known import EXPRESSIONS, LEFT, OPERATORS, check_known
from omnigraph.exec.compiled.query import compile_query
from omnigraph.exec.compiled.recipe import NotCompiled
from omnigraph.query.compile import compile_text
from omnigraph.query.expressions import FALSE, TRUE
from omnigraph.query.ir import Expand, Operator, QueryIR, Scan, VisibleEdges
from omnigraph.query.rewrite.tree import map_inputs
from tests.features.exec.people import FixedClock, People

FRIENDS = "query q($n: String) { match { $p: Person { name: $n } $p knows $f } return { $f.name, $f.age } }"

SCHEMA = """
node Person { name: String @key age: I32? born: Date? height: F32? tags: [String]? }
edge Knows: Person -> Person { since: I32? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = create(tmp_path / "g", SCHEMA, durability="os", clock=FixedClock())
    people = [{"type": "Person", "data": {"name": name, "age": len(name)}} for name in ("Ann", "Bob", "Cid", "Dora")]
    edges = [{"edge": "Knows", "from": "Ann", "to": to, "data": {"since": 2000}} for to in ("Bob", "Cid")]
    made.load([*people, *edges], "append")
    return made


def count_general(run: Callable[[], Any]) -> int:
    """How often the general operators run."""
    with patch.object(reads, "run_query", wraps=reads.run_query) as general:
        run()
    return general.call_count


def names(graph: Graph, name: str = "Ann", **where: Any) -> set[str]:
    return {row["f.name"] for row in graph.query(FRIENDS, {"n": name}, **where).to_dicts()}


def warm(graph: Graph, text: str = FRIENDS, params: dict[str, Any] | None = None) -> None:
    for _ in range(4):
        graph.query(text, params or {"n": "Ann"})


def test_a_repeated_lookup_runs_without_the_general_operators(graph: Graph) -> None:
    warm(graph)
    assert count_general(lambda: [names(graph, name) for name in ("Ann", "Bob", "nobody")]) == 0


def test_a_query_that_runs_once_is_not_compiled(graph: Graph) -> None:
    with patch.object(compiled_query, "compile_query", wraps=compile_query) as compiled:
        names(graph)
    assert compiled.call_count == 0


def test_every_commit_is_seen_at_once(graph: Graph) -> None:
    warm(graph)
    graph.mutate('query m() { insert Knows { from: "Ann", to: "Dora" } }')
    assert names(graph) == {"Bob", "Cid", "Dora"}
    graph.mutate('query m() { insert Person { name: "Eve" } insert Knows { from: "Ann", to: "Eve" } }')
    assert names(graph) == {"Bob", "Cid", "Dora", "Eve"}
    graph.mutate('query m() { delete Person where name = "Bob" }')
    assert names(graph) == {"Cid", "Dora", "Eve"}
    graph.mutate('query m() { update Person set { age: 99 } where name = "Cid" }')
    rows = graph.query(FRIENDS, {"n": "Ann"}).to_dicts()
    assert {row["f.name"]: row["f.age"] for row in rows} == {"Cid": 99, "Dora": 4, "Eve": None}


def test_commits_of_another_process_are_seen(graph: Graph) -> None:
    warm(graph)
    omnigraph.open(graph.uri).mutate('query m() { insert Knows { from: "Ann", to: "Dora" } }')
    assert "Dora" in names(graph)


def test_branches_and_moments_do_not_share_answers(graph: Graph) -> None:
    warm(graph)
    before = graph.snapshot().commit_id
    graph.create_branch("side")
    graph.mutate('query m() { insert Knows { from: "Ann", to: "Dora" } }', branch="side")
    for _ in range(3):
        assert names(graph, branch="side") == {"Bob", "Cid", "Dora"}
        assert names(graph) == {"Bob", "Cid"}
        assert names(graph, at=before) == {"Bob", "Cid"}


def test_a_changed_schema_is_compiled_again(graph: Graph) -> None:
    warm(graph)
    graph.apply_schema(SCHEMA.replace("name: String @key", "name: String @key nick: String?"))
    text = FRIENDS.replace("$f.age", "$f.nick")
    warm(graph, text)
    assert graph.query(text, {"n": "Ann"}).columns == ["f.name", "f.nick"]
    assert names(graph) == {"Bob", "Cid"}


def test_values_are_those_of_the_general_operators(people: People) -> None:
    columns = "$p.name, $p.age, $p.score, $p.height, $p.visits, $p.big, $p.nick, $p.active, $p.born, $p.seen, $p.tags"
    text = f"query q($n: String) {{ match {{ $p: Person {{ name: $n }} }} return {{ {columns}, $p.level, $p }} }}"
    for name in ("Ann", "Bob", "Cid", "Dan", "Eve"):
        first = people.graph.query(text, {"n": name})
        warm(people.graph, text, {"n": name})
        again = people.graph.query(text, {"n": name})
        assert again.to_dicts() == first.to_dicts()
        assert again.arrow() == first.arrow()
        assert again.rows == first.rows
        assert (again.columns, len(again), again.commit_id) == (first.columns, len(first), first.commit_id)


def test_limits_hold_for_compiled_queries(graph: Graph) -> None:
    warm(graph)
    with pytest.raises(LimitExceeded):
        graph.query(FRIENDS, {"n": "Ann"}, timeout=0.0)
    with pytest.raises(LimitExceeded):
        graph.query(FRIENDS, {"n": "Ann"}, memory_limit=1)
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(QueryCancelled):
        graph.query(FRIENDS, {"n": "Ann"}, cancel=cancelled)


def test_a_measured_query_runs_on_the_general_operators(graph: Graph) -> None:
    warm(graph)
    assert graph.query(FRIENDS, {"n": "Ann"}, stats=True).operators


def test_many_rows_are_left_to_the_general_operators(graph: Graph) -> None:
    others = [{"type": "Person", "data": {"name": f"p{number}"}} for number in range(2_000)]
    graph.load([*others, *({"edge": "Knows", "from": "Ann", "to": one["data"]["name"]} for one in others)], "append")
    warm(graph)
    assert len(names(graph)) == 2_002
    assert count_general(lambda: names(graph)) == 1
    assert count_general(lambda: names(graph, "Bob")) == 0


def test_columns_that_leave_the_cache_take_their_programs_along(graph: Graph) -> None:
    warm(graph)
    programs = graph._reads._programs
    assert len(programs._known)
    graph._derived.columns._columns.evictions += 1
    assert names(graph) == {"Bob", "Cid"}
    assert len(programs._known) == 1


def test_wrong_parameters_are_refused_before_anything_runs(graph: Graph) -> None:
    warm(graph)
    for params in ({}, {"n": 1}, {"n": "Ann", "m": 1}, {"n": None}):
        with pytest.raises(ParameterError):
            graph.query(FRIENDS, params)


# --- prepared ------------------------------------------------------------------------------------------------


def test_a_prepared_query_knows_its_parameters_and_columns(graph: Graph) -> None:
    prepared = graph.prepare(FRIENDS)
    assert (prepared.name, prepared.parameters, prepared.columns) == ("q", {"n": "String"}, ("f.name", "f.age"))


def test_a_prepared_query_checks_its_arguments_as_a_query_does(graph: Graph) -> None:
    prepared = graph.prepare(FRIENDS)
    for params, limits in (
        ("Ann", {}),
        ({"n": "Ann"}, {"timeout": "1"}),
        ({"n": "Ann"}, {"memory_limit": 1.5}),
        ({"n": "Ann"}, {"memory_limit": True}),
        ({"n": "Ann"}, {"cancel": 1}),
    ):
        with pytest.raises(UsageError) as asked:
            graph.query(FRIENDS, params, **limits)  # type: ignore[call-overload] # wrong on purpose
        with pytest.raises(type(asked.value)) as run:
            prepared.run(params, **limits)  # type: ignore[arg-type] # wrong on purpose
        assert str(run.value) == str(asked.value)


def test_a_prepared_query_reads_the_newest_commit_on_every_run(graph: Graph) -> None:
    prepared = graph.prepare(FRIENDS)
    assert len(prepared.rows({"n": "Ann"})) == 2
    graph.mutate('query m() { insert Knows { from: "Ann", to: "Dora" } }')
    assert {row["f.name"] for row in prepared.rows({"n": "Ann"})} == {"Bob", "Cid", "Dora"}
    assert len(prepared.run({"n": "Ann"}, timeout=10).arrow()) == 3


def test_a_prepared_query_of_a_branch_or_commit_stays_there(graph: Graph) -> None:
    at = graph.prepare(FRIENDS, at=graph.snapshot().commit_id)
    graph.create_branch("side")
    side = graph.prepare(FRIENDS, branch="side")
    graph.mutate('query m() { insert Knows { from: "Ann", to: "Dora" } }', branch="side")
    assert (len(at.rows({"n": "Ann"})), len(side.rows({"n": "Ann"}))) == (2, 3)


def test_one_of_several_queries_is_prepared_by_name(graph: Graph) -> None:
    both = f"{FRIENDS} query other() {{ match {{ $p: Person }} return {{ count($p) as n }} }}"
    assert graph.prepare(both, name="other").rows() == [{"n": 4}]
    with pytest.raises(UsageError):
        graph.prepare(both)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("query q() { match { $p: Nobody } return { $p } }", CompileError),
        ('query q() { delete Person where name = "Ann" }', UsageError),
    ],
)
def test_a_query_that_cannot_run_is_not_prepared(graph: Graph, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        graph.prepare(text)


# --- recognition ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*OPERATORS, *EXPRESSIONS])
def test_every_field_of_the_ir_is_decided_upon(kind: type[Any]) -> None:
    """A new field: obey it in ``exec/compiled`` and list it, or leave the plan to the general operators."""
    decided = {**OPERATORS, **EXPRESSIONS}[kind] | LEFT.get(kind, frozenset())
    assert {item.name for item in fields(kind)} == decided


def test_a_walk_over_visible_edges_is_not_compiled(graph: Graph) -> None:
    def restrict(operator: Operator) -> Operator:
        changed = map_inputs(operator, restrict)
        return (
            replace(changed, visible=VisibleEdges(TRUE, (("Person", FALSE),)))
            if isinstance(changed, Expand)
            else changed
        )

    plan = plan_of(graph, FRIENDS)
    check_known(plan.root)
    with pytest.raises(NotCompiled, match="visible"):
        check_known(restrict(plan.root))


def plan_of(graph: Graph, text: str) -> QueryIR:
    plan = compile_text(text, graph.catalog())
    assert isinstance(plan, QueryIR)
    return plan


def test_a_plan_with_an_unknown_restriction_is_not_compiled(graph: Graph) -> None:
    @dataclass(frozen=True)
    class Restricted(Scan):
        visible_only: bool = True

    def restrict(operator: Operator) -> Operator:
        if isinstance(operator, Scan):
            return Restricted(operator.variable, operator.type_name, operator.predicate, operator.columns)
        return map_inputs(operator, restrict)

    plan = plan_of(graph, FRIENDS)
    check_known(plan.root)
    with pytest.raises(NotCompiled):
        check_known(restrict(plan.root))


@pytest.mark.parametrize(
    "text",
    [
        "query q() { match { $p: Person } return { $p.name } }",
        "query q() { match { $p: Person { age: 3 } } return { $p.name } }",
        'query q() { match { $p: Person { name: "a" } } return { $p.age + 1 as n } }',
        'query q($n: I64) { match { $p: Person { name: "a" } } return { $p.age } limit $n }',
        'query q() { match { $p: Person { name: "a" } } return { first($p.age) as n } }',
        'query q() { match { $p: Person { name: "a" } } return { count(*) as n } having { n > 1 } }',
        'query q() { match { $p: Person { name: "a" } } return { $p.* } }',
    ],
)
def test_other_plans_are_left_to_the_general_operators(graph: Graph, text: str) -> None:
    assert compile_query(plan_of(graph, text), graph.catalog()) is None
