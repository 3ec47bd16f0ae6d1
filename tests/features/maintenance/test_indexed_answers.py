"""An index changes how long an answer takes, never what it is: indexed against unindexed graphs of the same content."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import OmnigraphError
from omnigraph.exec.tables import TableView
from omnigraph.storage.tables.filters import RowFilter
from tests.support.tuning import EAGER

SCHEMA = """
node Thing {
  key: String @key
  t: String? @index
  kind: enum(k00, k01, k02, k03, k04, k05, k06, k07, k08, k09, k10, k11, k12, k13, k14, k15, k16, k17, k18, k19)? @index
  b: Bool? @index
  i: I32? @index
  l: I64? @index
  u: U32? @index
  w: U64? @index
  f: F32? @index
  d: F64? @index
  day: Date? @index
  at: DateTime? @index
}
"""
VALUES: dict[str, list[Any]] = {
    "i": [-(2**31), -1, 0, 1, 7, 2**31 - 1],
    "l": [-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1],
    "u": [0, 1, 7, 2**32 - 1],
    "w": [0, 1, 2**63, 2**64 - 1],
    "f": [-0.0, 0.0, 0.5, -1.5, 3.4028234663852886e38, 1.401298464324817e-45],
    "d": [-0.0, 0.0, 0.1, -1e308, 1e308, 5e-324],
    "b": [True, False],
    "kind": [f"k{number:02}" for number in range(20)],
    "day": ["0001-01-01", "1970-01-01", "2024-02-29", "9999-12-31"],
    "at": ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00.001Z", "2024-02-29T23:59:59.999Z"],
}
TYPES = {
    "i": "I64", "l": "I64", "u": "I64", "w": "U64", "f": "F64", "d": "F64",
    "b": "Bool", "kind": "String", "day": "Date", "at": "DateTime",
}  # fmt: skip
STRANGE: dict[str, list[Any]] = {
    "i": [2**31, -(2**40)],
    "l": [],
    "u": [-1, 2**32],
    "w": [],
    "f": [0.1, 1e300],
    "d": [],
    "b": [],
    "kind": ["k00' OR '1'='1"],
    "day": [],
    "at": [],
}
TEXTS = [
    "",
    "stone",
    "stones",
    "Größe",
    "größe",
    "日本 語",
    "naïve café",
    "🦀 crab",
    "o'clock",
    'a"b',
    "stone the river",
]
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


def things(seed: int, start: int, stop: int) -> list[dict[str, Any]]:
    drawn = random.Random(seed)

    def data(number: int) -> dict[str, Any]:
        values = {name: drawn.choice([*pool, None]) for name, pool in VALUES.items()}
        return {"key": f"{TEXTS[number % len(TEXTS)]}-{number}", "t": drawn.choice([*TEXTS, None]), **values}

    return [{"type": "Thing", "data": data(number)} for number in range(start, stop)]


def fill(graph: omnigraph.Graph) -> None:
    graph.load(things(1, 0, 200), "append")
    graph.load(things(2, 200, 300), "append")


def change(graph: omnigraph.Graph) -> None:
    """Updates, deletions and a tail that no index covers."""
    graph.load(things(3, 20, 60), "merge")
    graph.mutate("query q() { delete Thing where i = 7 }")
    graph.load(things(4, 300, 340), "append")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[omnigraph.Graph, omnigraph.Graph]:
    plain = omnigraph.create(tmp_path / "plain", SCHEMA, durability="os")
    tuning = replace(EAGER, compared_rows_max=-1)
    indexed = omnigraph.create(tmp_path / "indexed", SCHEMA, durability="os", tuning=tuning)
    fill(plain)
    fill(indexed)
    indexed.optimize()
    return plain, indexed


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[RowFilter]:
    """The conditions that indexes were asked for. The columns of an indexed graph in memory do not replace them."""
    asked: list[RowFilter] = []
    original = TableView.looked_up

    def looked_up(table: TableView, condition: RowFilter) -> Any:
        asked.append(condition)
        return original(table, condition)

    monkeypatch.setattr(TableView, "looked_up", looked_up)
    return asked


def outcome(graph: omnigraph.Graph, text: str, params: dict[str, Any]) -> Any:
    try:
        return graph.query(text, params).to_pylist()
    except OmnigraphError as error:
        return type(error), error.message


def conditions() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, pool in VALUES.items():
        constants = [*pool, *STRANGE[name]]
        for value in constants:
            for operator in COMPARISONS:
                yield f"$x.{name} {operator} $a", {name: TYPES[name], "a": value}
        yield f"$x.{name} in $s", {name: f"[{TYPES[name]}]", "s": constants}
        yield f"$x.{name} in $s", {name: f"[{TYPES[name]}]", "s": []}
        for low, high in itertools.pairwise(constants):
            yield f"$x.{name} > $a $x.{name} <= $z", {name: TYPES[name], "a": low, "z": high}
            yield f"$x.{name} >= $a $x.{name} < $z", {name: TYPES[name], "a": high, "z": low}
    yield "$x.i = 1 $x.kind = $a", {"kind": "String", "a": "k03"}


def compare(plain: omnigraph.Graph, indexed: omnigraph.Graph) -> None:
    for condition, given in conditions():
        (declared,) = [value for key, value in given.items() if key not in ("a", "z", "s")]
        params = {key: value for key, value in given.items() if key in ("a", "z", "s")}
        signature = ", ".join(f"${key}: {declared}" for key in params)
        text = f"query q({signature}) {{ match {{ $x: Thing {condition} }} return {{ $x.key }} order {{ $x.key }} }}"
        assert outcome(indexed, text, params) == outcome(plain, text, params), (condition, params)


def test_conditions_find_the_same_rows(pair: tuple[omnigraph.Graph, omnigraph.Graph], lookups: list[RowFilter]) -> None:
    plain, indexed = pair
    compare(plain, indexed)
    assert len(lookups) > 60


def test_conditions_find_the_same_rows_after_changes(
    pair: tuple[omnigraph.Graph, omnigraph.Graph], lookups: list[RowFilter]
) -> None:
    plain, indexed = pair
    change(plain)
    change(indexed)
    compare(plain, indexed)
    assert len(lookups) > 60
    indexed.optimize()
    compare(plain, indexed)


SEARCHES = [
    'search($x.t, "stone")',
    'search($x.t, "STONE größe")',
    'search($x.t, "café 語")',
    'match_text($x.t, "the")',
    'search($x.t, "")',
    'fuzzy($x.t, "stome", 1)',
    'fuzzy($x.t, "rivr crbb", 2)',
    'fuzzy($x.t, "STOMES", 1)',
    'fuzzy($x.t, "The Rivers")',
    'fuzzy($x.t, "the of")',
    'search($x.key, "river")',
    'search($x.t, "stone") = false',
    'search($x.t, "stone") $x.i = 1',
    'search($x.t, "stone") search($x.t, "river")',
    'not { search($x.t, "stone") }',
]


def compare_searches(plain: omnigraph.Graph, indexed: omnigraph.Graph) -> None:
    for condition in SEARCHES:
        text = f"query q() {{ match {{ $x: Thing {condition} }} return {{ $x.key }} order {{ $x.key }} }}"
        assert outcome(indexed, text, {}) == outcome(plain, text, {}), condition
    for words in ("stone", "größe café", "stone river clock", "nothing"):
        text = (
            f'query q() {{ match {{ $x: Thing }} return {{ $x.key, bm25($x.t, "{words}") as s }} '
            f'order {{ bm25($x.t, "{words}") }} limit 400 }}'
        )
        found, expected = outcome(indexed, text, {}), outcome(plain, text, {})
        assert [row["x.key"] for row in found] == [row["x.key"] for row in expected]
        assert [row["s"] for row in found] == pytest.approx([row["s"] for row in expected], rel=1e-6)


def test_searches_find_the_same_rows_with_the_same_scores(pair: tuple[omnigraph.Graph, omnigraph.Graph]) -> None:
    plain, indexed = pair
    compare_searches(plain, indexed)
    # A second segment, no row changed: scores still come from the index.
    for graph in pair:
        graph.load(things(9, 500, 520), "append")
    indexed.optimize(compact=False)
    compare_searches(plain, indexed)
    for graph in pair:
        change(graph)
    compare_searches(plain, indexed)
    indexed.optimize(index=False)
    compare_searches(plain, indexed)
    indexed.optimize()
    compare_searches(plain, indexed)


def test_scores_do_not_count_rows_that_compaction_dropped(pair: tuple[omnigraph.Graph, omnigraph.Graph]) -> None:
    plain, indexed = pair
    for graph in pair:
        graph.mutate("query q() { delete Thing where i >= 1 }")
    indexed.optimize(index=False)
    compare_searches(plain, indexed)
    indexed.optimize()
    compare_searches(plain, indexed)
    (column,) = [item for item in indexed.optimize().tables[0].coverage if str(item.spec) == "t (text)"]
    assert not column.has_dead_rows
    assert column.is_complete
