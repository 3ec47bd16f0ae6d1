"""Rows that the query does not return are counted without being materialised, with the same counts."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import create
from omnigraph.errors import LimitExceeded
from omnigraph.exec.graph_view import Traversal
from omnigraph.exec.multiplicity import ROWS_MAX, product, sums, total
from omnigraph.exec.topology.cache import Topologies
from tests.features.exec.people import People, edge, person
from tests.support.tuning import retuned

MATCHES = [
    "$a: Person $a knows $b $b knows $c",
    "$a: Person $b knows $a $c knows $b",
    "$a: Person $a <knows> $b $b <knows> $c",
    "$a: Person $a $e: knows $b $b $f: knows $c",
    "$a: Person $a $e: knows $b $e.note is null $b knows $c",
    "$a: Person $a <knows> $b $b $f: knows $c $f.since is null",
    "$a: Person $a.age > 20 $a knows $b $b knows $c $c.age is not null",
    "$a: Person $a knows $b $b.age > 1 $b knows $c $c knows $d $d.active = true",
    "$a: Person $a knows{1,2} $b $b knows $c",
    "$a: Person $a knows $b $a knows $c $b knows $d",
    "$a: Person $a knows $b $b <knows> $a $a knows $c",
    "$a: Person $a knows $b $c: Company $b worksAt $c",
    "$a: Person $b: Person $a knows $c",
    "$a: Person maybe { $a knows $b $b knows $c }",
    "$a: Person maybe { $a worksAt $c } maybe { $a wrote $b }",
    "$a: Person $a knows $b maybe { $b worksAt $c maybe { $a wrote $d } }",
    "$a: Person $a knows $b $b knows $c not { $c worksAt $_ }",
    "$a: Person not { $a knows $x $x knows $y $y.age < 25 } maybe { $a knows $b } maybe { $a wrote $c }",
    "$a: Person $a knows $b $b knows $c $c.name != $a.name",
    "$a: Person $a $p: shortest knows $b $b: Person $b knows $c",
]


@pytest.fixture(params=[Tuning().counted_share, 0], ids=["dense", "one by one"])
def way(people: People, request: pytest.FixtureRequest) -> Iterator[None]:
    """Arrays over all nodes, or row by row."""
    with retuned(people.graph, counted_share=request.param, collapsed_rows_min=0):
        yield


def named(match: str) -> list[str]:
    """The node variables of a pattern that are visible in its result."""
    return [name for name in ("$a", "$b", "$c", "$d") if f"{name} " in f"{match} "]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("match", MATCHES)
def test_a_count_is_the_number_of_rows(people: People, match: str) -> None:
    rows = people.rows(match, "$a, $a.age" if "$b" not in match else "$a, $b, $a.age")
    assert people.rows(match, "count($a)") == [(len(rows),)]
    assert people.rows(match, "count($a.name), count($a.age), sum($a.age)") == [
        (len(rows), sum(row[-1] is not None for row in rows), sum(row[-1] or 0 for row in rows))
    ]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("match", MATCHES)
def test_every_variable_can_be_the_only_one_that_is_looked_at(people: People, match: str) -> None:
    for name in named(match):
        found = [row[0] for row in people.rows(match, name)]
        grouped = people.rows(match, f"{name}, count($a) as n")
        assert dict(grouped) == Counter(found), name
        assert people.rows(match, f"count({name}), count(distinct {name})") == [
            (sum(item is not None for item in found), len(set(found) - {None}))
        ]
        assert people.rows(match, name, "distinct") == sorted(((item,) for item in set(found)), key=repr)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("match", MATCHES)
def test_aggregates_weigh_rows(people: People, match: str) -> None:
    ages = [row[0] for row in people.rows(match, "$a.age, $a.name")]
    known = [age for age in ages if age is not None]
    columns = "avg($a.age), min($a.age), max($a.age), collect($a.age) as all, sum(distinct $a.age)"
    ((average, least, most, collected, different),) = people.rows(match, columns)
    assert (average, least, most) == (sum(known) / len(known), min(known), max(known))
    assert (sorted(collected), different) == (sorted(known), sum(set(known)))


# --- nothing is made -------------------------------------------------------------------------------------


def made(result: Any) -> dict[str, int]:
    """Rows of every operator that follows an edge."""
    return {
        operator.operator: operator.rows for operator in result.operators if operator.operator.lower().startswith("exp")
    }


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> People:
    """Thirty people who all know each other and themselves."""
    graph = create(
        tmp_path_factory.mktemp("graph") / "dense",
        "node Person { name: String @key age: I32? } edge Knows: Person -> Person",
        durability="os",
    )
    names = [f"p{number:02}" for number in range(30)]
    graph.load(
        [person(name, age=number) for number, name in enumerate(names)]
        + [edge("Knows", source, target) for source in names for target in names],
        "append",
    )
    return People(graph)


@pytest.mark.parametrize(
    ("match", "returns", "rest", "expected"),
    [
        ("$a: Person $a knows $b $b knows $c", "count($c)", "", [(30**3,)]),
        ("$a: Person $a knows $b $b knows $c $c knows $d", "count($d)", "", [(30**4,)]),
        ("$a: Person $a.age < 10 $a knows $b $b knows $c $c.age < 3", "count($c)", "", [(10 * 30 * 3,)]),
        ("$a: Person $a knows $b $b knows $c", "$a, count($c) as n", "order { n desc } limit 1", [("p00", 900)]),
        ("$a: Person $a knows $b $b knows $c", "$c, count($a) as n", "order { n desc } limit 1", [("p00", 900)]),
        ("$a: Person $a knows $b $b knows $c", "$b", "distinct order { $b } limit 1", [("p00",)]),
    ],
)
def test_walks_are_counted_and_not_made(dense: People, match: str, returns: str, rest: str, expected: Any) -> None:
    # Numbers for every node and edge fit; the walks themselves would not.
    result = dense.ask(match, returns, rest, stats=True, memory_limit=40_000)
    assert [tuple(row.values()) for row in result.to_pylist()] == expected
    assert max(made(result).values()) <= 30
    remarks = " ".join(remark for operator in result.operators for remark in operator.remarks)
    assert "counted without" in remarks or "aggregated per node" in remarks


def test_whether_a_walk_exists_is_asked_without_making_it(dense: People) -> None:
    for block in ("$a knows $x", "$a knows $x $x knows $y $y.age > 100", "$a knows $x $x knows $y"):
        result = dense.ask(f"$a: Person not {{ {block} }}", "$a", stats=True)
        assert len(result) == (30 if "100" in block else 0)
        assert max(made(result).values()) <= 30


def test_counting_the_neighbours_of_few_nodes_makes_no_lists(dense: People, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("neighbour lists were asked for")

    monkeypatch.setattr(dense.graph._derived, "traversal", Traversal.INDEXED)
    monkeypatch.setattr(Topologies, "get", refuse)
    assert dense.rows('$a: Person { name: "p07" } $a knows $b', "count($b)") == [(30,)]
    assert dense.rows('$a: Person { name: "p07" } $a knows $b $b knows $c', "count($c), count(distinct $c) as d") == [
        (900, 30)
    ]
    assert dense.rows('$a: Person { name: "p07" } not { $a knows $b }', "$a") == []


def test_a_count_beyond_any_float_is_exact(dense: People) -> None:
    steps = " ".join(f"$v{number} knows $v{number + 1}" for number in range(11))
    assert dense.rows(f"$v0: Person {steps}", "count($v11)") == [(30**12,)]
    assert 30**12 > 2**53
    assert dense.rows(f"$v0: Person {steps}", "$v11, count($v0) as n", "order { n } limit 1") == [("p00", 30**11)]


def test_more_walks_than_can_be_counted_are_refused(dense: People) -> None:
    steps = " ".join(f"$v{number} knows $v{number + 1}" for number in range(13))
    with pytest.raises(LimitExceeded) as caught:
        dense.rows(f"$v0: Person {steps}", "count($v11)")
    assert caught.value.facts["resource"] == "rows"


def test_collecting_what_was_counted_respects_the_memory_limit(dense: People) -> None:
    steps = " ".join(f"$v{number} knows $v{number + 1}" for number in range(6))
    with pytest.raises(LimitExceeded) as caught:
        dense.ask(f"$v0: Person {steps}", "collect($v0)", memory_limit=10_000_000)
    assert caught.value.facts["resource"] == "bytes"


@pytest.mark.parametrize(
    ("match", "shown", "after"),
    [
        ("$a: Person $a $k: knows $b $k.since > 0", "count($a) as n", [{"n": 0}]),
        ("$a: Person not { $a $k: knows $b $k.since > 0 }", "count($a) as n", [{"n": 6}]),
        ("$a: Person $a $k: knows $b $k.since > 0", "$a.name, count($b) as n", []),
        ("$a: Person $a $k: knows $b $k.since > 0 $b $l: knows $c $l.since > 0", "count($c) as n", [{"n": 0}]),
    ],
)
def test_counts_by_filtered_edges_follow_the_deletion_of_every_edge(
    tmp_path: Path, match: str, shown: str, after: list[dict[str, int]]
) -> None:
    text = "node Person { name: String @key }\nedge Knows: Person -> Person { since: I32? }"
    # The lists of the first version stay in use, whatever has changed.
    graph = create(tmp_path / "g", text, tuning=Tuning(counted_share=10**6, changed_share=1, collapsed_rows_min=0))
    edges = [{"src": f"p{n}", "dst": f"p{(n * step + 1) % 6}", "since": step} for n in range(6) for step in (1, 2, 3)]
    graph.load({"Person": [{"name": f"p{number}"} for number in range(6)], "Knows": edges})
    query = f"match {{ {match} }} return {{ {shown} }}".replace(" $", "\n$")
    assert graph.query(query).to_dicts() != after
    graph.mutate("query q() { delete Knows where since > 0 }")
    assert graph.query(query).to_dicts() == after


# --- weights ---------------------------------------------------------------------------------------------


def test_sums_of_weights_are_exact_or_refused() -> None:
    groups = np.array([0, 1, 0])
    large = np.array([2**61, 1, 2**61 + 1])
    assert sums(groups, large, 3).tolist() == [2**62 + 1, 1, 0]
    assert sums(groups, None, 3).tolist() == [2, 1, 0]
    assert total(large, 3) == 2**62 + 2
    assert total(np.array([ROWS_MAX, ROWS_MAX]), 2) == 2 * ROWS_MAX
    with pytest.raises(LimitExceeded):
        sums(groups, np.array([ROWS_MAX, 1, 1]), 2)


def test_products_of_weights_are_exact_or_refused() -> None:
    assert product(None, None) is None
    weights = product(np.array([2**31, 3]), np.array([2**31, 5]))
    assert weights is not None
    assert weights.tolist() == [2**62, 15]
    with pytest.raises(LimitExceeded):
        product(np.array([2**32]), np.array([2**31]))
