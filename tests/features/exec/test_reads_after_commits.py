"""Compiled reads right after commits: the writer makes their programs, which give what the general operators give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.engine.query import reads
from omnigraph.engine.query.prepared import PreparedQuery
from omnigraph.exec.compiled import query as compiled
from omnigraph.exec.topology import cache
from omnigraph.storage.tables import columns_by_fragment
from omnigraph.storage.tables.store import Store
from tests.support.sampling import sampled

SCHEMA = """
node Person { name: String @key age: I32? }
edge Knows: Person -> Person { since: I32? }
"""
PEOPLE = 30
START = "match { $p: Person { name: $n } "
QUERIES = {
    "point": f"query q($n: String) {{ {START} }} return {{ $p.name, $p.age }} }}",
    "hop": f"query q($n: String) {{ {START} $p knows $f }} return {{ $f.name, $f.age }} }}",
    "edges": f"query q($n: String) {{ {START} $p $e: knows $f }} return {{ $f.name, $e.since }} }}",
    "back": f"query q($n: String) {{ {START} $f knows $p }} return {{ $f.name }} }}",
    "reach": f"query q($n: String) {{ {START} $p knows{{1,3}} $f }} return {{ count($f) as n }} }}",
    "without": f"query q($n: String) {{ {START} $p knows $f  not {{ $f knows $p }} }} return {{ $f.name }} }}",
}
ADD = "query a($from: String, $to: String) { insert Knows { from: $from, to: $to, since: 1 } }"
JOIN = "query j($n: String, $to: String) { insert Person { name: $n } insert Knows { from: $n, to: $to } }"
AGE = "query s($n: String, $age: I32) { update Person set { age: $age } where name = $n }"
REMOVE = "query d($n: String) { delete Person where name = $n }"
UNLINK = "query u($n: String) { delete Knows where from = $n }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = create(tmp_path / "g", SCHEMA, durability="os")
    people = [{"type": "Person", "data": {"name": f"p{number}", "age": number}} for number in range(PEOPLE)]
    pairs = [(number, (number * step + 1) % PEOPLE) for number in range(PEOPLE) for step in (1, 3)]
    knows = [{"edge": "Knows", "from": f"p{start}", "to": f"p{end}", "data": {"since": end}} for start, end in pairs]
    graph.load([*people, *knows])
    return graph


def rows(query: PreparedQuery, name: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in query.rows({"n": name})), key=repr)


def warmed(graph: Graph, *names: str, branch: str | None = None) -> dict[str, PreparedQuery]:
    prepared = {name: graph.prepare(QUERIES[name], branch=branch) for name in names or QUERIES}
    for query in prepared.values():
        for _ in range(4):
            query.rows({"n": "p1"})
    return prepared


def count(place: Any, name: str, run: Callable[[], Any]) -> int:
    with patch.object(place, name, wraps=getattr(place, name)) as called:
        run()
    return called.call_count


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("branch", ["main", "side"])
def test_a_read_right_after_an_insert_makes_nothing(name: str, branch: str, graph: Graph) -> None:
    if branch != "main":
        graph.create_branch(branch)
    query = warmed(graph, name, branch=branch)[name]
    for number in range(3):
        before = rows(query, "p2")
        graph.mutate(ADD, {"from": "p2", "to": f"p{10 + number}"}, branch=branch)
        for place, made in ((compiled, "bind"), (reads, "run_query")):
            assert count(place, made, partial(rows, query, "p2")) == 0
        assert (len(rows(query, "p2")) > len(before)) is (name in {"hop", "edges", "without"})


def test_a_writer_without_reads_makes_no_programs(graph: Graph) -> None:
    warmed(graph, "hop", "reach")
    insert = partial(graph.mutate, ADD, {"from": "p2", "to": "p9"})
    assert [count(compiled, "_followed", insert) for _ in range(4)] == [2, 0, 0, 0]


def test_a_writer_reads_nothing_to_make_programs(graph: Graph) -> None:
    warmed(graph)

    def follow(self: reads.Reads, view: Any) -> None:
        opened = [(Store, "open_own"), (columns_by_fragment, "open_table"), (cache.Topologies, "_nearest")]
        for place, name in opened:
            with patch.object(place, name, side_effect=AssertionError(name)):
                self._programs.follow(view)

    for text, params in (
        (ADD, {"from": "p2", "to": "p9"}),
        (JOIN, {"n": "new", "to": "p2"}),
        (AGE, {"n": "p2", "age": 1}),
    ):
        with patch.object(reads.Reads, "follow", follow):
            graph.mutate(text, params)


def test_a_failure_after_the_commit_does_not_fail_the_write(graph: Graph) -> None:
    query = warmed(graph, "hop")["hop"]
    with patch.object(reads.Reads, "follow", side_effect=RuntimeError("broken")):
        assert graph.mutate(ADD, {"from": "p2", "to": "p9"}).commit is not None
    assert ("p9", 9) in rows(query, "p2")


class Changes:
    """Random changes of one branch, small ones most often."""

    def __init__(self, graph: Graph, branch: str, seed: int) -> None:
        self.graph, self.branch, self.rng, self.next = graph, branch, Random(seed), PEOPLE

    def names(self) -> Iterator[str]:
        alive = sorted(self.graph.snapshot(self.branch).to_arrow("node:Person").column("id").to_pylist())
        while True:
            yield self.rng.choice(alive)

    def make(self) -> None:
        mutate, names, rng = self.graph.mutate, self.names(), self.rng
        match rng.choice(("edge", "edge", "edge", "node", "node", "age", "remove", "unlink", "optimize", "load")):
            case "edge":
                mutate(ADD, {"from": next(names), "to": next(names)}, branch=self.branch)
            case "node":
                mutate(JOIN, {"n": f"p{self.next}", "to": next(names)}, branch=self.branch)
                self.next += 1
            case "age":
                mutate(AGE, {"n": next(names), "age": rng.randrange(100)}, branch=self.branch)
            case "remove":
                mutate(REMOVE, {"n": next(names)}, branch=self.branch)
            case "unlink":
                mutate(UNLINK, {"n": next(names)}, branch=self.branch)
            case "optimize":
                self.graph.optimize()
            case "load":
                edge = {"edge": "Knows", "from": next(names), "to": next(names)}
                self.graph.load([edge, edge], "append", branch=self.branch)


@pytest.mark.parametrize("seed", sampled(range(8), 2))
def test_reads_between_commits_are_those_of_the_general_operators(seed: int, graph: Graph) -> None:
    graph.create_branch("side")
    prepared = {branch: warmed(graph, branch=branch) for branch in ("main", "side")}
    changes = {branch: Changes(graph, branch, seed) for branch in prepared}
    rng, followed = Random(seed), []
    make = compiled._followed

    def counted(*arguments: Any) -> Any:
        followed.append(make(*arguments))
        return followed[-1]

    with patch.object(compiled, "_followed", counted):
        for _ in range(25):
            branch = rng.choice(("main", "side"))
            changes[branch].make()
            asked = rng.sample(sorted(QUERIES), 3)
            for other in prepared:
                for name in asked:
                    person = f"p{rng.randrange(PEOPLE)}"
                    found = rows(prepared[other][name], person)
                    # Measured queries run on the general operators.
                    wanted = graph.query(QUERIES[name], {"n": person}, branch=other, stats=True).to_dicts()
                    assert found == sorted((tuple(row.values()) for row in wanted), key=repr), (other, name, person)
    assert sum(program is not None for program in followed) > 5
