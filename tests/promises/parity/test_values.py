"""Walks that are counted, and values that try to break out or do not fit, on both executors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import InputError
from tests.features.exec.people import People, edge, person
from tests.features.exec.test_counts import (
    MATCHES,
    named,
    test_a_count_beyond_any_float_is_exact,
    test_more_walks_than_can_be_counted_are_refused,
)
from tests.features.exec.test_limits import HOSTILE, test_a_list_of_a_hundred_thousand_items
from tests.promises.parity.both import made_both
from tests.support.sampling import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "test_a_count_beyond_any_float_is_exact",
    "test_a_list_of_a_hundred_thousand_items",
    "test_more_walks_than_can_be_counted_are_refused",
]


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> People:
    """Everybody knows everybody."""
    names = [f"p{number:02}" for number in range(30)]
    records = [person(name, age=number) for number, name in enumerate(names)]
    records += [edge("Knows", source, target) for source in names for target in names]
    schema = "node Person { name: String @key age: I32? } edge Knows: Person -> Person"
    return People(made_both(tmp_path_factory.mktemp("graph") / "dense", schema, records, spark))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> People:
    schema = (
        "node Person { name: String @key nick: String tags: [String] many: [U32] n: I64 } edge Knows: Person -> Person"
    )
    records: list[dict[str, Any]] = [
        person(f"k{text}", nick=text, tags=[text, "t"], many=[1], n=number) for number, text in enumerate(HOSTILE)
    ]
    records += [edge("Knows", f"k{text}", "k") for text in HOSTILE]
    return People(made_both(tmp_path_factory.mktemp("graph") / "hostile", schema, records, spark))


@pytest.mark.parametrize("match", sampled(MATCHES, 2))
def test_counted_walks_are_the_same(people: People, match: str) -> None:
    people.ask(match, "count($a), count($a.age), sum($a.age), count(distinct $a.name)")
    last = named(match)[-1]
    people.ask(match, f"{last}, count($a) as n, collect($a.age) as ages", "order { n desc }")


def test_a_value_is_compared_and_never_interpreted(hostile: People) -> None:
    params = ", ".join(f"$x{number}: String" for number in range(len(HOSTILE)))
    values = {f"x{number}": text for number, text in enumerate(HOSTILE)}
    answers = [f"$x{n}, $q.nick = $x{n}, $q.nick contains $x{n}, $x{n} in $q.tags" for n in range(len(HOSTILE))]
    match = "$p: Person maybe { $p knows $q } $p.nick in [$x1, $x3, $x9]"
    result = hostile.ask(match, f"$p, {', '.join(answers)}", "order { $p }", params, values)
    assert len(result) == 3
    for number in range(len(HOSTILE)):
        assert len(hostile.ask("$p: Person { nick: $x }", "$p.n", "", "$x: String", {"x": HOSTILE[number]})) == 1


def test_arithmetic_of_a_condition_that_does_not_fit_is_an_error(people: People) -> None:
    for match in ("$p: Person $p.big * $p.big * $p.big > 0", "$p knows $q $q.visits + $p.big > 1"):
        with pytest.raises(InputError, match="does not fit I64"):
            people.ask(match, "$p")


def test_every_query_was_asked_twice(people: People) -> None:
    before = people.graph.queries_run  # type: ignore[attr-defined] # a graph of this suite
    people.ask("$p: Person", "$p")
    assert people.graph.queries_run == before + 1  # type: ignore[attr-defined] # as above
