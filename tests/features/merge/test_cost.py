"""Cost of a merge on an object store, in requests and bytes."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.storage.tables.io_meter import IoMeter
from tests.promises.cost.counting import CITY, PERSON, THREE, Counted, grow
from tests.promises.protocol.graphs import create, reopen
from tests.support.faults.fixtures import s3_bucket, s3_server
from tests.support.faults.request_log import Request
from tests.support.faults.s3 import Bucket, Server

__all__ = ["s3_bucket", "s3_server"]


@pytest.fixture
def counted(s3_server: Server, s3_bucket: Bucket) -> Counted:
    return Counted(s3_server, s3_bucket)


def of_tables(requests: tuple[Request, ...]) -> list[Request]:
    return [request for request in requests if "nodes/" in request.key or "edges/" in request.key]


@pytest.mark.s3
def test_a_fast_forward_touches_no_table_however_much_was_changed(counted: Counted) -> None:
    graph = counted.create()
    graph.mutate(THREE, {"n": "a"})
    counts = []
    for rows in (1, 500):
        graph.create_branch(f"b{rows}")
        graph.load([{"type": "Person", "data": {"name": f"p{rows}-{n}"}} for n in range(rows)], branch=f"b{rows}")
        for cold in (False, True):
            handle = counted.open() if cold else graph
            name = f"b{rows}"
            requests = counted.requests(lambda handle=handle, name=name: handle.merge_preview(name))
            assert of_tables(requests) == []
            assert {request.kind.value for request in requests} <= {"GET", "HEAD", "LIST"}
        requests = counted.requests(lambda rows=rows: graph.merge(f"b{rows}"))
        assert of_tables(requests) == []
        counts.append(len(requests))
    assert counts[0] == counts[1]


@pytest.mark.s3
def test_tables_that_one_side_left_alone_are_adopted_without_a_request_to_any_table(counted: Counted) -> None:
    graph = counted.create()
    graph.mutate(THREE, {"n": "a"})
    graph.create_branch("b")
    grow_on_branch = "query q($n: String) { insert Person {name: $n} insert Knows {from: $n, to: $n} }"
    graph.mutate(grow_on_branch, {"n": "b1"}, branch="b")
    graph.mutate(CITY, {"n": "Oslo"})
    cold = counted.open()
    requests = counted.requests(lambda: cold.merge("b"))
    assert of_tables(requests) == []
    assert cold.snapshot().counts() == graph.snapshot().counts()
    assert graph.snapshot().counts()["edge:Knows"] == 2
    assert graph.snapshot().counts()["node:City"] == 2


@pytest.mark.s3
def test_an_up_to_date_branch_puts_nothing(counted: Counted) -> None:
    graph = counted.create()
    grow(graph, 1)
    graph.create_branch("b")
    graph.mutate(PERSON, {"n": "x"})
    assert "PUT" not in counted.counts(lambda: graph.merge("b"))


SCHEMA = """
node Person { name: String @key
    age: I64?
    city: String? }
edge Knows: Person -> Person
"""
CHANGED = 100


def large(path: Path, rows: int) -> omnigraph.Graph:
    """So many people in a ring, and 100 changes on a branch and 100 on main, some of the same people."""
    graph = create(path, SCHEMA)
    names = [f"p{number:07}" for number in range(rows)]
    graph.load(pa.table({"name": names, "age": list(range(rows))}), type_name="Person")
    graph.load(pa.table({"id": names, "src": names, "dst": names[1:] + names[:1]}), type_name="Knows")
    graph.create_branch("b")
    step = rows // CHANGED
    for branch, name, first in (("b", "age", 0), ("main", "city", 50)):
        changed = pa.table(
            {
                "name": names[first * step :: step],
                "age": list(range(first * step, rows, step)) if name == "city" else [-1] * (CHANGED - first),
                "city": ["Rome" if name == "city" else None] * (CHANGED - first),
            }
        )
        graph.load(changed, type_name="Person", branch=branch)
    return reopen(graph)


def metered(graph: omnigraph.Graph, call: Callable[[], object]) -> tuple[int, int]:
    meter = IoMeter(graph._store)
    call()
    return meter.read()


ONE = "query q($name: String) { match { $p: Person { name: $name } } return { $p.age as age, $p.city as city } }"


def test_what_a_three_way_merge_reads_follows_the_change_and_not_the_table(tmp_path: Path) -> None:
    read = []
    for rows in (40_000, 240_000):
        graph = large(tmp_path / str(rows), rows)
        read.append(metered(graph, lambda graph=graph: graph.merge("b")))
        for number, city in ((0, None), (rows // 2, "Rome")):
            merged = graph.query(ONE, {"name": f"p{number:07}"})
            assert merged.table.to_pylist() == [{"age": -1, "city": city}]
        assert graph.snapshot().counts()["node:Person"] == rows
    (_, size), (requests_more, size_more) = read
    # Rows that lie far apart are read one by one: three columns of the changed rows of both sides, and a few manifests.
    assert requests_more <= 3 * (CHANGED + CHANGED // 2) + 20
    assert size_more <= 2 * size
    assert size_more < 4 * 1024 * 1024
