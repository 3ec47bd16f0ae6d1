"""Reads that memory alone can answer: the same rows as a query, or none at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.engine.query.at_once import is_small, query_at_once
from omnigraph.errors import ParameterError, PolicyDenied
from omnigraph.exec.columns import SMALL_ROWS_MAX
from omnigraph.exec.compiled import query as compiled
from omnigraph.exec.walk.levels import Levels
from tests.features.policy.teams import bundle

POINT = "query q($n: String) { match { $p: Person {name: $n} } return { $p.name, $p.age } }"
HOP = "query q($n: String) { match { $p: Person {name: $n} $p knows $q } return { $q.name } order { $q.name } }"
ALL = "query q() { match { $p: Person } return { $p.name } }"
ADD = "query q($n: String) { insert Person {name: $n, team: 'red', age: 5} }".replace("'", '"')


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = omnigraph.create(
        tmp_path / "g.omni",
        "node Person { name: String @key team: String? age: I32? salary: I64? photo: Blob? bio: String? }\n"
        "node City { name: String @key }\nedge Knows: Person -> Person { since: I32? }\nedge LivesIn: Person -> City",
    )
    people = [{"name": f"p{n}", "team": "red" if n % 2 else "blue", "age": n} for n in range(20)]
    knows = [{"src": f"p{n}", "dst": f"p{(n + step) % 20}"} for n in range(20) for step in (1, 2)]
    made.load({"Person": people, "Knows": knows})
    return made


def warm(graph: Graph, text: str, **params: Any) -> None:
    for _ in range(4):
        graph.query(text, params)


@pytest.mark.parametrize("text", [POINT, HOP])
def test_a_read_that_has_run_a_few_times_is_answered_at_once(graph: Graph, text: str) -> None:
    assert query_at_once(graph, text, {"n": "p1"}) is None
    assert is_small(graph, text, compiles=False) is None
    assert is_small(graph, text)
    warm(graph, text, n="p1")
    for name in ("p1", "p7", "nobody"):
        found = query_at_once(graph, text, {"n": name})
        assert found is not None
        wanted = graph.query(text, {"n": name})
        assert (found.to_dicts(), found.columns, found.commit_id, found.branch, found.query_name) == (
            wanted.to_dicts(),
            wanted.columns,
            wanted.commit_id,
            wanted.branch,
            wanted.query_name,
        )
    # Nothing is left to bring into memory.
    assert is_small(graph, text) is False


def test_a_commit_is_seen_by_the_next_read(graph: Graph) -> None:
    warm(graph, POINT, n="p1")
    for other in (graph, omnigraph.open(graph.uri)):
        name = f"new{id(other)}"
        made = other.mutate(ADD, {"n": name}).commit
        assert made is not None
        found = query_at_once(graph, POINT, {"n": name})
        # A commit of this process makes the programs for its version; another one is brought into memory by a query.
        assert (found is not None) is (other is graph)
        warm(graph, POINT, n=name)
        found = query_at_once(graph, POINT, {"n": name})
        assert found is not None
        assert found.commit_id == made.id
        assert len(found) == 1


def test_large_reads_other_branches_and_mutations_are_not_answered_at_once(graph: Graph) -> None:
    graph.create_branch("side")
    for text in (ALL, ADD):
        assert query_at_once(graph, text, {}) is None
    warm(graph, ALL)
    assert query_at_once(graph, ALL) is None
    assert is_small(graph, ALL) is False
    assert is_small(graph, ADD) is False
    for _ in range(4):
        graph.query(POINT, {"n": "p1"}, branch="side")
    assert query_at_once(graph, POINT, {"n": "p1"}, branch="side") is None
    assert is_small(graph, POINT, branch="side") is False


def test_rights_and_parameters_are_checked_as_for_a_query(graph: Graph, tmp_path: Path) -> None:
    policy = bundle(tmp_path / "policy")
    ann, nobody = (omnigraph.open(graph.uri, policy=policy, actor=name) for name in ("ann", "nobody"))
    warm(ann, POINT, n="p1")
    for name, rows in (("p1", 1), ("p2", 0)):
        # p2 is of the other team, so it does not exist for ann.
        found = query_at_once(ann, POINT, {"n": name})
        assert found is not None
        assert len(found) == rows
    with pytest.raises(PolicyDenied):
        query_at_once(nobody, POINT, {"n": "p1"})
    with pytest.raises(ParameterError):
        query_at_once(ann, POINT, {"n": 3})


def test_a_point_read_of_a_larger_table_is_tried_until_its_columns_are_in_memory(tmp_path: Path) -> None:
    made = omnigraph.create(tmp_path / "large.omni", "node Person { name: String @key age: I32? }")
    made.load({"Person": [{"name": f"p{n}", "age": n % 90} for n in range(SMALL_ROWS_MAX + 1)]})
    # Only the general operators of this process read the columns, so every run here must be one that is_small wants.
    graph = omnigraph.open(made.uri)
    graph.snapshot()
    runs = 0
    while query_at_once(graph, POINT, {"n": f"p{runs}"}) is None:
        assert is_small(graph, POINT), f"run {runs} would go to a reader"
        graph.query(POINT, {"n": f"p{runs}"})
        runs += 1
    assert runs <= 8
    assert is_small(graph, POINT) is False


WALKS = {
    "count": "query q($n: String) { match { $p: Person {name: $n} $p knows{1,5} $q } return { count($q) as n } }",
    "rows": "query q($n: String) { match { $p: Person {name: $n} $p knows{1,5} $q } return { $q.name } }",
    "path": 'query q($n: String) { match { $p: Person {name: $n} $q: Person {name: "p30"} '
    "$p $path: shortest knows{1,20} $q } return { $path.length as n } }",
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """`hub` knows 3,000 people, each of whom knows the next one and the one after; `last` has no outgoing edge."""
    made = omnigraph.create(
        tmp_path_factory.mktemp("hub") / "g.omni", "node Person { name: String @key }\nedge Knows: Person -> Person"
    )
    names = [f"p{n}" for n in range(3_000)]
    pairs = [(f"p{n}", f"p{n + step}") for n in range(2_998) for step in (1, 2)]
    edges = [*(("hub", name) for name in names), *pairs, ("p2999", "last")]
    made.load(
        {
            "Person": [{"name": name} for name in ("hub", "last", *names)],
            "Knows": [dict(zip(("src", "dst"), pair, strict=True)) for pair in edges],
        }
    )
    return made


@pytest.mark.parametrize("kind", WALKS)
def test_a_walk_from_a_hub_is_not_made_on_the_event_loop(
    hub: Graph, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    followed: list[int] = []
    grow = Levels.grow
    monkeypatch.setattr(
        Levels, "grow", lambda self: (followed.append(int(self._lists.degrees(self.last).sum())), grow(self))[1]
    )
    warm(hub, WALKS[kind], n="p7")
    for name, is_short in (("p7", True), ("hub", kind == "path")):
        followed.clear()
        found = query_at_once(hub, WALKS[kind], {"n": name})
        assert sum(followed) <= compiled.EDGES_MAX
        assert (found is not None) is is_short
        if found is not None:
            assert found.to_dicts() == hub.query(WALKS[kind], {"n": name}).to_dicts()


def test_a_walk_that_reaches_many_rows_is_begun_once_more_at_most(hub: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    warm(hub, WALKS["rows"], n="p7")
    levels: list[int] = []
    grow = Levels.grow
    monkeypatch.setattr(Levels, "grow", lambda self: (levels.append(len(self.levels)), grow(self))[1])
    assert len(hub.query(WALKS["rows"], {"n": "hub"})) == 3_001
    assert levels[0] == 1
    assert 2 not in levels[:2], "the closures end when they have too many rows"
