"""Writers extend the indexes that a table has: lookups and writes stay cheap without any call of optimize."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.errors import StorageError
from omnigraph.storage.tables.io_meter import IoMeter
from omnigraph.storage.upkeep import index_extension as extension
from tests.features.maintenance.graphs import answers, create, exported, fragments, indexes, load_people, person, table
from tests.promises.cost.counting import SCHEMA, Counted, grow
from tests.support.faults.s3 import Bucket, Server
from tests.support.tuning import EAGER, tuned

FINISHED = 40
"""Rows of a finished fragment in these tests."""
FIND = "query q($n: String) { match { $p: Person {name: $n} } return { $p.age } }"


SMALL = replace(
    EAGER,
    fold_tiers=((4, 4), (16, 2), (FINISHED, 2)),
    extended_rows_min=FINISHED,
    extended_rows_max=8 * FINISHED,
    cached_table_rows_max=0,
)
"""Everything a hundred times smaller, and nothing known from memory."""


@pytest.fixture
def tuning() -> Tuning:
    return SMALL


def tail(graph: omnigraph.Graph) -> dict[str, tuple[int, int]]:
    """Of every index the uncovered rows and the segments."""
    return {name: (item.rows - item.covered_rows, len(item.segments)) for name, item in indexes(graph).items()}


def lookup_reads(graph: omnigraph.Graph, number: int) -> tuple[int, int]:
    """Requests and bytes of a lookup by a process that knows nothing."""
    stranger = omnigraph.open(graph.uri, tuning=SMALL)
    pin = stranger.snapshot().state.tables["node:Person"]
    stranger._store.open(pin.location, pin.lance_version)
    meter = IoMeter(stranger._store)
    assert len(stranger.query(FIND, {"n": f"p{number}"}).to_pylist()) == 1
    return meter.read()


@pytest.fixture
def growing(tmp_path: Path) -> omnigraph.Graph:
    """Sixty people and their indexes."""
    graph = omnigraph.create(tmp_path / "growing", SCHEMA, durability="os", tuning=SMALL)
    graph.load([{"type": "Person", "data": {"name": f"p{number}"}} for number in range(60)], "append")
    graph.optimize()
    return graph


def test_the_uncovered_tail_and_a_lookup_stay_bounded_over_many_small_writes(growing: omnigraph.Graph) -> None:
    grow(growing, 60, start=60)
    before = lookup_reads(growing, 67)
    grow(growing, 150, start=120)
    after = lookup_reads(growing, 67)
    # What is still being folded: two fragments of each tier, and a few rows.
    assert max(lacking for lacking, _ in tail(growing).values()) <= 2 * FINISHED + 2 * 16 + 4 * 4
    assert max(segments for _, segments in tail(growing).values()) <= 4
    assert after[0] <= 2 * before[0]
    assert growing.verify().is_clean


def test_without_extension_the_tail_grows(growing: omnigraph.Graph) -> None:
    """What the test above would see."""
    growing = tuned(growing, extended_rows_max=0)
    grow(growing, 150, start=60)
    assert {lacking for lacking, _ in tail(growing).values()} == {150}


def test_answers_and_content_stay_the_same(graph: omnigraph.Graph, tmp_path: Path) -> None:
    plain = create(tmp_path / "plain", tuning=SMALL)
    load_people(plain, 0, 100)
    load_people(plain, 100, 300)
    graph.optimize()
    for other in (graph, plain):
        for start in range(300, 620, 20):
            load_people(other, start, start + 20)
            other.load([person(start - 150, age=80, bio="special word3")], "merge")
            other.mutate("query q($n: String) { delete Person where name = $n }", {"n": f"p{start - 290:04}"})
    segments = {name: item for name, item in indexes(graph).items() if item.covered_rows > 300}
    assert len(segments) >= 8
    assert sorted(exported(graph).splitlines()) == sorted(exported(plain).splitlines())
    assert answers(graph) == answers(plain)
    for value in (7, 80):
        filtered = table(graph).to_table(filter=f"age = {value}")["name"].to_pylist()
        expected = table(plain).to_table(filter=f"age = {value}")["name"].to_pylist()
        assert sorted(filtered) == sorted(expected)
    stranger = omnigraph.open(graph.uri, tuning=SMALL)
    assert answers(stranger) == answers(plain)
    graph.optimize()
    assert answers(graph) == answers(plain)
    assert graph.verify().is_clean


def test_a_table_without_indexes_gets_none_and_large_rows_are_left_alone(graph: omnigraph.Graph) -> None:
    for start in range(300, 420, FINISHED):
        load_people(graph, start, start + FINISHED)
    assert not any(item.segments for item in indexes(graph).values())
    graph.optimize()
    covered = {name: item.covered_rows for name, item in indexes(graph).items()}
    graph.load([person(number) for number in range(1_000, 1_400)], "append")
    assert {name: item.covered_rows for name, item in indexes(graph).items()} == covered


def test_an_index_is_extended_when_enough_rows_wait(graph: omnigraph.Graph) -> None:
    graph = tuned(graph, extended_rows_min=3 * FINISHED)
    graph.optimize()
    waiting = []
    for start in range(300, 300 + 9 * FINISHED, FINISHED):
        load_people(graph, start, start + FINISHED)
        waiting.append({lacking for name, (lacking, _) in tail(graph).items() if "vector" not in name})
    assert waiting == [{FINISHED}, {2 * FINISHED}, {0}] * 3
    assert {segments for _, segments in tail(graph).values()} <= {1, 2, 3, 4}


def test_a_failure_to_extend_costs_the_index_and_not_the_write(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.optimize()
    tried: list[int] = []

    def fails(*_: Any) -> None:
        tried.append(1)
        raise StorageError("index id (btree) could not be built")

    with monkeypatch.context() as patch:
        patch.setattr(extension, "build_segment", fails)
        load_people(graph, 300, 360)
    assert tried
    assert set(tail(graph).values()) >= {(60, 1)}
    assert graph.snapshot().counts()["node:Person"] == 360
    load_people(graph, 360, 420)
    assert all(lacking == 0 for name, (lacking, _) in tail(graph).items() if "vector" not in name)
    assert graph.verify().is_clean


def test_optimize_and_writers_that_extend_do_not_lose_each_others_work(graph: omnigraph.Graph) -> None:
    graph.optimize()
    errors: list[BaseException] = []
    done = threading.Event()

    def write() -> None:
        try:
            for start in range(300, 650, 50):
                load_people(graph, start, start + 50)
                graph.load([person(start - 100, age=150)], "merge")
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not done.is_set():
        graph.optimize()
    thread.join()
    assert not errors
    assert graph.snapshot().counts()["node:Person"] == 650
    assert table(graph).to_table(filter="age = 150").num_rows == 7
    graph.optimize()
    assert all(lacking == 0 for lacking, _ in tail(graph).values())
    assert graph.verify().is_clean


def test_work_of_optimize_is_kept_when_a_writer_extended_an_index_meanwhile(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    from omnigraph.write.upkeep import optimize

    load_people(graph, 300, 400)
    graph.optimize(types=["Person"])
    graph.mutate('query q() { delete Person where name < "p0100" }')
    original = optimize.work_on
    rounds: list[int] = []

    def disturbed(*arguments: Any, **options: Any) -> Any:
        work = original(*arguments, **options)
        if not rounds:
            load_people(graph, 400, 400 + FINISHED)
        rounds.append(len(work.groups))
        return work

    monkeypatch.setattr(optimize, "work_on", disturbed)
    result = graph.optimize(types=["Person"])
    # The fragment with deleted rows is rewritten, although the writer has added segments.
    assert result.tables[0].deleted_rows_removed == 100
    assert fragments(graph) == 2
    assert graph.verify().is_clean


@pytest.mark.s3
def test_requests_of_a_write_stay_flat_while_indexes_are_extended(s3_server: Server, s3_bucket: Bucket) -> None:
    tuning = replace(SMALL, fold_tiers=((2, 2), (4, 1), (8, 1)), extended_rows_min=8, extended_rows_max=32)
    counted = Counted(s3_server, s3_bucket, tuning)
    graph = counted.create()
    grow(graph, 8)
    graph.optimize()
    first = len(counted.requests(lambda: grow(graph, 24, start=8)))
    grow(graph, 16, start=32)
    last = len(counted.requests(lambda: grow(graph, 24, start=48)))
    assert last <= 1.25 * first
    assert max(lacking for lacking, _ in tail(graph).values()) <= 2 * 8 + 4 + 2
    assert graph.verify().is_clean
