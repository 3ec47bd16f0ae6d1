"""Memory: what is counted, what is done in parts, and results that are read in batches."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.engine.graph import create
from omnigraph.engine.query.memory import machine_bytes, parsed, query_memory
from omnigraph.errors import LimitExceeded, QueryCancelled, UsageError
from omnigraph.exec import tables
from tests.features.exec.people import People
from tests.support.tuning import retuned

ROWS = 40_000
LIMIT = 3_000_000
"""Enough for the row numbers and for a part of the texts, which are four million bytes."""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> People:
    """Numbers with texts: every text twice, in an order of their own."""
    graph = create(
        tmp_path_factory.mktemp("graph") / "many",
        "node N { key: String @key text: String? part: I32 } edge E: N -> N",
        durability="os",
    )
    numbers = range(ROWS)
    graph.load(
        pa.table(
            {
                "key": [f"k{number:06}" for number in numbers],
                "text": [f"{number * 7919 % 20_000:06}" + "x" * 94 if number % 5 else None for number in numbers],
                "part": pa.array([number % 700 for number in numbers], pa.int32()),
            }
        ),
        type_name="N",
    )
    return People(graph)


BLOCKING = [
    ("$n.key, $n.part", "order { $n.text }"),
    ("$n.key, $n.part", "order { $n.text desc, $n.part } limit 30000 offset 5"),
    ("$n.key", "order { $n.text desc, $n.part } limit 7"),
    ("$n.key", "order { $n.part, $n.text } limit 20000"),
    ("$n.text", "distinct order { $n.text }"),
    ("$n.part, $n.text", "distinct order { $n.text desc, $n.part }"),
    ("$n.text, count($n) as c", "order { c desc, $n.text } limit 9000"),
    ("$n.part, count(distinct $n.text) as c, max($n.text) as m", "order { c, $n.part }"),
    ("$n.part, min($n.text) as t", "order { t desc, $n.part } limit 3"),
]


@pytest.mark.parametrize(("returns", "rest"), BLOCKING)
def test_what_does_not_fit_at_once_is_done_in_parts(many: People, returns: str, rest: str) -> None:
    wanted = many.ask("$n: N", returns, rest).to_arrow()
    limited = many.ask("$n: N", returns, rest, memory_limit=LIMIT)
    assert pa.Table.from_batches(limited.to_batches(500), wanted.schema) == wanted
    with retuned(many.graph, divided_rows_min=10**9), pytest.raises(LimitExceeded) as caught:
        many.ask("$n: N", returns, rest, memory_limit=LIMIT)
    assert caught.value.facts["resource"] == "bytes"


def test_a_condition_that_does_not_fit_is_tested_in_parts(many: People) -> None:
    match = "$n: N maybe { $n e $m } $n.text < $n.key or $m.text = $n.text"
    found = many.ask(match, "count($n)", memory_limit=LIMIT).to_pylist()
    assert found == many.ask(match, "count($n)").to_pylist() != [{"n": 0}]
    with retuned(many.graph, divided_rows_min=10**9), pytest.raises(LimitExceeded):
        many.ask(match, "count($n)", memory_limit=LIMIT)


def test_a_profile_tells_that_work_was_done_in_parts(many: People) -> None:
    for rest in ("order { $n.text }", "distinct order { $n.text }"):
        result = many.ask("$n: N", "$n.text", rest, memory_limit=LIMIT, stats=True)
        assert any("in parts" in remark for operator in result.operators for remark in operator.remarks), rest


def test_one_group_that_does_not_fit_is_refused(many: People) -> None:
    with pytest.raises(LimitExceeded, match=r"n\.text"):
        many.ask("$n: N", "count(distinct $n.text)", memory_limit=LIMIT)


def test_fetched_properties_count(many: People) -> None:
    assert len(many.ask("$n: N", "count($n.part)", memory_limit=LIMIT)) == 1
    with pytest.raises(LimitExceeded, match=r"n\.text"):
        many.ask('$n: N $n.key != "" $n.text != $n.key', "count($n)", memory_limit=LIMIT)


def test_rows_that_all_have_one_value_are_divided_by_the_next_key(many: People) -> None:
    rows = many.ask("$n: N", "$n.key", "order { $n.part * 0, $n.text, $n.key desc }", memory_limit=LIMIT)
    wanted = many.ask("$n: N", "$n.key", "order { $n.text, $n.key desc }")
    assert rows.to_arrow() == wanted.to_arrow()


# --- batches ---------------------------------------------------------------------------------------------


@pytest.fixture
def reads(many: People, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many values were read, call by call."""
    lengths: list[int] = []
    many_values = tables.TableView.many_values

    def counted(self: tables.TableView, names: Sequence[str], rows: tables.Rows) -> dict[str, pa.Array]:
        lengths.append(len(rows))
        return many_values(self, names, rows)

    monkeypatch.setattr(tables.TableView, "many_values", counted)
    with retuned(many.graph, result_rows_max=1000):
        yield lengths


def test_a_large_result_is_read_batch_by_batch(many: People, reads: list[int]) -> None:
    result = many.ask("$n: N $n.part < 350", "$n.key, $n.text")
    reads.clear()
    assert len(result) == 20_000 + 50
    assert result.columns == ["n.key", "n.text"]
    assert reads == []
    assert "20,040 more" in repr(result)
    assert set(reads) == {10}
    reads.clear()
    batches = result.to_batches(4000)
    assert next(batches).num_rows == 4000
    assert reads == [4000]
    rest = list(batches)
    assert max(reads) == 4000
    assert [batch.num_rows for batch in rest] == [4000, 4000, 4000, 4000, 50]


def test_every_way_to_read_a_large_result_gives_the_same_rows(many: People, reads: list[int]) -> None:
    def ask() -> Any:
        return many.ask("$n: N $n.part < 50", "$n.key, $n.text, $n.part + 1 as p", "order { $n.text, $n.key }")

    wanted = ask().to_arrow()
    assert wanted.num_rows == len(ask()) > 1000
    assert pa.Table.from_batches(ask().to_batches(99)) == wanted
    assert ask().to_reader(99).read_all() == wanted
    assert pa.table(ask()) == wanted
    assert list(ask()) == ask().to_pylist() == wanted.to_pylist()
    assert ask().to_polars().rows() == [tuple(row.values()) for row in wanted.to_pylist()]
    again = ask()
    assert again.to_arrow() is again.to_arrow()
    assert pa.Table.from_batches(again.to_batches(7)) == wanted


def test_a_result_too_large_for_one_table_can_be_read_in_batches(many: People) -> None:
    result = many.ask("$n: N", "$n.key as a, $n.text as b, $n.text as c", memory_limit=LIMIT)
    lengths = [batch.num_rows for batch in result.to_batches()]
    assert sum(lengths) == len(result) == ROWS
    assert max(lengths) < ROWS / 2
    with pytest.raises(LimitExceeded, match="as one table"):
        result.to_arrow()


def test_keys_of_groups_are_read_for_the_groups_that_are_left(many: People, reads: list[int]) -> None:
    result = many.ask("$n: N", "$n.key, count($n) as c", "order { c desc } limit 2")
    assert result.to_pylist() == [{"n.key": "k000000", "c": 1}, {"n.key": "k000001", "c": 1}]
    reads.clear()
    many.ask("$n: N", "$n.key, max($n.part) as c", "order { c desc } limit 2")
    assert sum(reads) < ROWS * 1.1


def test_a_result_can_be_cancelled_while_it_is_read(many: People, reads: list[int]) -> None:
    cancel = threading.Event()
    batches = many.ask("$n: N", "$n.key", cancel=cancel, timeout=1000.0).to_batches(10)
    next(batches)
    cancel.set()
    with pytest.raises(QueryCancelled):
        next(batches)


# --- the setting -----------------------------------------------------------------------------------------


def test_the_limit_is_given_or_set_or_half_of_the_machine(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    assert query_memory(17, {"OMNIGRAPH_QUERY_MEMORY": "5"}) == 17
    assert query_memory(None, {"OMNIGRAPH_QUERY_MEMORY": " 5 "}) == 5
    assert query_memory(None, {}) == machine_bytes() // 2
    monkeypatch.setenv("OMNIGRAPH_QUERY_MEMORY", "16")
    with pytest.raises(LimitExceeded, match="OMNIGRAPH_QUERY_MEMORY"):
        people.ask("$a: Person $a knows $b", "$b.name")
    assert len(people.ask("$a: Person $a knows $b", "$b.name", memory_limit=10_000)) == 5


def test_sizes_have_units() -> None:
    sizes = {"0": 0, "12": 12, "3k": 3072, "5 MiB": 5 * 2**20, "2GB": 2**31, "1T": 2**40}
    assert {text: parsed(text) for text in sizes} == sizes
    for text in ("", "x", "-1", "1.5G", "5 miles", "G"):
        with pytest.raises(UsageError):
            parsed(text)


def test_a_container_may_have_less_than_the_machine(tmp_path: Path) -> None:
    whole = machine_bytes(tmp_path / "absent")
    limit = tmp_path / "memory.max"
    for text, expected in (("max\n", whole), ("1000000\n", 1_000_000), (f"{2**60}\n", whole)):
        limit.write_text(text, encoding="ascii")
        machine_bytes.cache_clear()
        assert machine_bytes(limit) == expected
