"""Requests of reads and writes on an object store, counted."""

from collections import Counter
from collections.abc import Callable

import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.errors import StorageError, ViolationError
from tests.promises.cost.counting import CITY, PERSON, SCHEMA, THREE, Counted, grow, puts
from tests.support.faults.request_log import Kind
from tests.support.faults.s3 import Bucket, Server

RECENT_COMMITS_MAX = Tuning().recent_commits_max

pytestmark = pytest.mark.s3


@pytest.fixture
def counted(s3_server: Server, s3_bucket: Bucket) -> Counted:
    return Counted(s3_server, s3_bucket)


def test_a_warm_insert_is_four_puts_however_long_the_history_is(counted: Counted) -> None:
    graph = counted.create()
    grow(graph, 1)
    seen: Counter[int] = Counter()
    for number in range(140):
        counts = counted.counts(lambda number=number: graph.mutate(PERSON, {"n": f"x{number}"}))
        assert set(counts) == {"PUT"}, number
        seen[counts["PUT"]] += 1
    # The spill of the commit log writes one more version of one more table, every 64th commit.
    assert set(seen) == {4, 6}
    assert seen[6] == 140 // RECENT_COMMITS_MAX


@pytest.mark.long
def test_a_warm_insert_is_four_puts_after_a_thousand_commits(counted: Counted) -> None:
    graph = counted.create()
    grow(graph, 1_000)
    costs = Counter(
        counted.counts(lambda number=number: graph.mutate(PERSON, {"n": f"x{number}"}))["PUT"] for number in range(64)
    )
    assert costs == {4: 63, 6: 1}
    cold = counted.requests(lambda: counted.open().snapshot().to_arrow("node:City"))
    assert len([request for request in cold if request.kind is Kind.LIST]) == 1
    assert len(cold) <= 7


@pytest.mark.parametrize(
    "insert",
    [
        'query q() { insert Account {email: "%d", number: %d} }',
        'query q() { insert Knows {from: "p%d", to: "p%d"} }',
        'query q() { insert Owns {from: "p%d", to: "%d"} }',
    ],
    ids=["unique", "edge", "cardinality"],
)
def test_constraints_are_checked_without_asking_the_store(counted: Counted, insert: str) -> None:
    graph = counted.create()
    for number in range(6):
        graph.mutate(THREE, {"n": f"p{number}"})
        graph.mutate(CITY, {"n": str(number)})
    for number in range(6):
        assert counted.counts(lambda number=number: graph.mutate(insert % (number, number))) == puts(4)


def test_an_insert_into_k_tables_is_two_puts_each_and_two_for_the_manifest(counted: Counted) -> None:
    graph = counted.create()
    # The first write to a table reads its empty version.
    graph.mutate(THREE, {"n": "first"})
    both = "query q($n: String) { insert Person {name: $n} insert City {name: $n} }"
    for number in range(3):
        name = f"k{number}"
        assert counted.counts(lambda name=name: graph.mutate(CITY, {"n": f"{name} 1"})) == puts(2 * 1 + 2)
        assert counted.counts(lambda name=name: graph.mutate(both, {"n": f"{name} 2"})) == puts(2 * 2 + 2)
        assert counted.counts(lambda name=name: graph.mutate(THREE, {"n": f"{name} 3"})) == puts(2 * 3 + 2)


def test_a_cold_read_of_one_table_is_seven_requests_in_six_waves_however_long_the_history_is(counted: Counted) -> None:
    graph = counted.create()
    graph.mutate(CITY, {"n": "Rome"})

    def cold_read() -> None:
        assert counted.open().snapshot().to_arrow("node:City").num_rows == 1

    first = counted.counts(cold_read)
    assert first == {"GET": 6, "LIST": 1}
    grow(graph, 70)
    counted.in_waves(cold_read, 1, 1, 1, 2, 1, 1)


UPDATE = "query q($n: String) { update Person set { age: 7 } where name = $n }"
DELETE = "query q($n: String) { delete Person where name = $n }"
POINT = "query q($n: String) { match { $p: Person { name: $n } } return { $p.age } }"
HOP = "query q($n: String) { match { $p: Person { name: $n } $p knows $f } return { $f.name } }"


@pytest.mark.parametrize(
    ("write", "unreferenced"),
    [
        pytest.param(lambda graph, n: graph.mutate(PERSON, {"n": f"new {n}"}), 3, id="insert"),
        pytest.param(lambda graph, n: graph.mutate(THREE, {"n": f"new {n}"}), 7, id="three tables"),
        pytest.param(lambda graph, n: graph.mutate(UPDATE, {"n": f"p{n}"}), 3, id="update"),
        # Two tables, whose fragments of one row go without a file.
        pytest.param(lambda graph, n: graph.mutate(DELETE, {"n": f"p{n}"}), 3, id="delete"),
        pytest.param(
            lambda graph, n: graph.load(
                [{"type": "Person", "data": {"name": f"{m} {n}", "age": n}} for m in ("p1", "q")], "merge"
            ),
            3,
            id="load",
        ),
    ],
)
def test_a_small_warm_write_waits_twice_for_the_store(
    counted: Counted, write: Callable[[omnigraph.Graph, int], object], unreferenced: int
) -> None:
    """Everything that nothing refers to in one wave, the manifest of the branch in another."""
    graph = counted.create()
    for number in range(5):
        graph.mutate(THREE, {"n": f"p{number}"})
    write(graph, 0)
    for number in (1, 2, 3):
        requests = counted.in_waves(lambda number=number: write(graph, number), unreferenced, 1)
        assert {request.kind for request in requests} == {Kind.PUT}
        assert [request.key for request in requests if request.precondition] == [requests[-1].key]


def _written(counted: Counted) -> None:
    graph = counted.create()
    for number in range(5):
        graph.mutate(THREE, {"n": f"p{number}"})
    graph.mutate(UPDATE, {"n": "p1"})


def test_a_cold_point_read_is_eleven_requests_in_six_waves(counted: Counted) -> None:
    """Stamp; list of versions; state; its rows and the schema; version of the table; all its files."""
    _written(counted)
    counted.in_waves(lambda: counted.open().query(POINT, {"n": "p3"}).to_pylist(), 1, 1, 1, 2, 1, 5)


def test_a_cold_hop_fetches_every_file_once_in_eight_waves(counted: Counted) -> None:
    """As many waves as a point read, and two for the table of the edges."""
    _written(counted)
    requests = counted.in_waves(lambda: counted.open().query(HOP, {"n": "p3"}).to_pylist(), 1, 1, 1, 2, 1, 5, 1, 5)
    fetched = [request.key for request in requests if request.kind is Kind.GET]
    assert len(fetched) == len(set(fetched))


def test_a_file_that_a_process_has_written_is_never_fetched_by_it(counted: Counted) -> None:
    graph = counted.create()
    for number in range(5):
        graph.mutate(THREE, {"n": f"p{number}"})
    graph.mutate(UPDATE, {"n": "p1"})
    read = counted.counts(lambda: graph.query(HOP, {"n": "p3"}).to_pylist())
    assert read == {"LIST": 1}


def test_a_cold_read_touches_no_other_table(counted: Counted) -> None:
    graph = counted.create()
    graph.mutate(THREE, {"n": "a"})
    tables = graph.snapshot().state.tables
    mine = tables["node:City"].location
    others = [pin.location for key, pin in tables.items() if key != "node:City"]
    requests = counted.requests(lambda: counted.open().snapshot().to_arrow("node:City"))
    assert [request for request in requests if mine in request.key]
    assert not [request for request in requests if any(other in request.key for other in others)]


def test_making_a_branch_touches_no_table(counted: Counted) -> None:
    graph = counted.create()
    graph.mutate(THREE, {"n": "a"})
    requests = counted.requests(lambda: graph.create_branch("review"))
    assert not [request for request in requests if "nodes/" in request.key or "edges/" in request.key]
    # Data, transaction and version of the manifest, the ref, and the copy of the ref.
    assert len([request for request in requests if request.kind is Kind.PUT]) == 5
    assert len(requests) <= 13


def test_a_warm_insert_into_a_branch_asks_only_for_its_name(counted: Counted) -> None:
    graph = counted.create()
    graph.create_branch("review")
    graph.mutate(CITY, {"n": "a"}, branch="review")
    assert counted.counts(lambda: graph.mutate(CITY, {"n": "b"}, branch="review")) == {"PUT": 4, "GET": 1}


def test_a_refusal_and_a_no_op_put_nothing(counted: Counted) -> None:
    graph = counted.create()
    grow(graph, 1)

    def refused() -> None:
        with pytest.raises(ViolationError):
            graph.mutate('query q() { insert Knows {from: "nobody", to: "p0"} }')

    def changes_nothing() -> None:
        assert graph.mutate('query q() { delete Person where name = "nobody" }').commit is None

    for call in (refused, changes_nothing):
        assert "PUT" not in counted.counts(call)


def test_a_store_that_ignores_conditional_writes_is_refused(s3_server: Server, s3_bucket: Bucket) -> None:
    with s3_server.proxy.ignoring_preconditions(), pytest.raises(StorageError, match="If-None-Match") as refused:
        omnigraph.create(s3_bucket.uri("g"), SCHEMA, storage_options=s3_server.storage_options())
    assert refused.value.hint
    assert s3_bucket.keys() == []
