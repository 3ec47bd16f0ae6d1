"""Commits to a bucket, whose files are stored in parallel: nothing is published before all of them are."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import OmnigraphError, StorageError
from tests.support.faults.fault import DropAt, RespondAt
from tests.support.faults.s3 import Bucket, Server
from tests.support.queues import together
from tests.support.tuning import retuned

pytestmark = pytest.mark.s3

SCHEMA = "node Person { name: String @key\n age: I64? }\nnode City { name: String @key }"
BOTH = "query q($n: String) { insert Person { name: $n } insert City { name: $n } }"
UPDATE = "query q($n: String) { update Person set { age: 7 } where name = $n }"
FILES = 5
"""Files of a commit to two tables that nothing refers to; the sixth request is the swap."""


@pytest.fixture
def graph(s3_server: Server, s3_bucket: Bucket) -> omnigraph.Graph:
    made = omnigraph.create(s3_bucket.uri("g"), SCHEMA, storage_options=s3_server.storage_options())
    made.mutate(BOTH, {"n": "first"})
    return made


def _opened(server: Server, bucket: Bucket) -> omnigraph.Graph:
    return omnigraph.open(bucket.uri("g"), storage_options=server.storage_options())


def _load_many(graph: omnigraph.Graph) -> None:
    graph.load([{"type": "Person", "data": {"name": f"p{number}"}} for number in range(3_000)], "append")


WRITES: dict[str, Callable[[omnigraph.Graph], object]] = {
    "insert": lambda graph: graph.mutate(BOTH, {"n": "second"}),
    "update": lambda graph: graph.mutate(UPDATE, {"n": "first"}),
    "delete": lambda graph: graph.mutate('query q() { delete Person where name = "first" }'),
    "load": _load_many,
    "merge": lambda graph: graph.load([{"type": "Person", "data": {"name": "first", "age": 3}}], "merge"),
    "schema": lambda graph: graph.apply_schema(SCHEMA.replace("age: I64?", "age: I64? town: String?")),
    "optimize": lambda graph: graph.optimize(),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("age", ["new", "old"])
def test_a_process_writes_to_indexed_tables_that_another_one_has_made(
    graph: omnigraph.Graph, s3_server: Server, s3_bucket: Bucket, write: str, age: str
) -> None:
    """Lance reads the indexes of a version from its file, which is in the scratch directory of the other process."""
    with retuned(graph, index_rows_min=0):
        graph.optimize()
        if age == "old":
            # The newest versions are deltas on top of the indexed ones.
            graph.mutate(BOTH, {"n": "third"})
    before, stranger = graph.snapshot(), _opened(s3_server, s3_bucket)
    with retuned(stranger, index_rows_min=0, extended_rows_min=1):
        WRITES[write](stranger)
    after = _opened(s3_server, s3_bucket)
    assert after.verify(deep=True).is_clean
    assert after.snapshot().commit_id == stranger.snapshot().commit_id
    assert len(after.snapshot()) >= len(before) - 1


@pytest.mark.parametrize("position", range(1, FILES + 1))
def test_a_commit_with_a_file_that_is_not_stored_is_never_published(
    graph: omnigraph.Graph, s3_server: Server, s3_bucket: Bucket, position: int
) -> None:
    with (
        s3_server.proxy.recording() as log,
        s3_server.proxy.inject(RespondAt(position, 403)),
        pytest.raises(StorageError),
    ):
        graph.mutate(BOTH, {"n": "lost"})
    assert not [request for request in log.requests() if request.precondition]
    assert graph.snapshot().counts() == {"node:City": 1, "node:Person": 1}
    graph.mutate(BOTH, {"n": "lost"})
    stranger = _opened(s3_server, s3_bucket)
    assert stranger.snapshot().counts() == {"node:City": 2, "node:Person": 2}
    assert stranger.verify(deep=True).is_clean


def test_a_file_that_is_not_stored_fails_its_own_commits_of_a_group(
    graph: omnigraph.Graph, s3_server: Server, s3_bucket: Bucket
) -> None:
    writes = [lambda n=n: graph.mutate(BOTH, {"n": f"n{n}"}) for n in range(3)]
    with s3_server.proxy.inject(RespondAt(1, 403)):
        futures = together(graph, writes)
    failed = {f"n{number}" for number, future in enumerate(futures) if future.exception() is not None}
    assert all(isinstance(futures[int(name[1:])].exception(), StorageError) for name in failed)
    assert 0 < len(failed) < 3
    stranger = _opened(s3_server, s3_bucket)
    names = set(stranger.snapshot().to_arrow("node:Person").column("name").to_pylist())
    assert names == {"first", "n0", "n1", "n2"} - failed
    assert stranger.verify(deep=True).is_clean


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_swap_whose_answer_is_lost_is_one_commit(
    graph: omnigraph.Graph, s3_server: Server, s3_bucket: Bucket, is_stored: bool
) -> None:
    with s3_server.proxy.inject(DropAt(FILES + 1, 1, is_stored)) as injection:
        made = graph.mutate(BOTH, {"n": "once"}).commit
    assert injection.hit is not None
    assert injection.hit.precondition
    assert made is not None
    stranger = _opened(s3_server, s3_bucket)
    assert [commit.id for commit in stranger.commits()].count(made.id) == 1
    assert stranger.snapshot().counts() == {"node:City": 2, "node:Person": 2}


def test_a_writer_goes_on_without_its_scratch_directory(
    graph: omnigraph.Graph, s3_server: Server, s3_bucket: Bucket
) -> None:
    """Programs that tidy the temporary directory remove files of long-lived processes."""
    assert graph._store.outbox is not None
    for number in range(3):
        shutil.rmtree(graph._store.outbox.local(""))
        graph.mutate(BOTH, {"n": f"n{number}"})
        graph.mutate(UPDATE, {"n": "first"})
    names = graph.query("query q() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }").to_pylist()
    expected = [("first", 7), ("n0", None), ("n1", None), ("n2", None)]
    assert [tuple(row.values()) for row in names] == expected
    assert _opened(s3_server, s3_bucket).verify(deep=True).is_clean


def test_without_a_temporary_directory_graphs_of_a_bucket_can_be_read(
    graph: omnigraph.Graph, s3_server: Server, s3_bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "mkdtemp", refused)
    stranger = _opened(s3_server, s3_bucket)
    assert stranger.snapshot().to_arrow("node:Person").num_rows == 1
    with pytest.raises(StorageError, match="temporary directory") as found:
        stranger.mutate(BOTH, {"n": "x"})
    assert "TMPDIR" in str(found.value.hint)


def test_a_process_that_ends_leaves_no_scratch_directory(graph: omnigraph.Graph) -> None:
    assert graph._store.outbox is not None
    directory = Path(graph._store.outbox.local(""))
    assert directory.is_dir()
    graph._store._outbox = None
    assert not os.path.exists(directory)


def test_a_bulk_load_and_branches_share_a_bucket_with_small_commits(
    graph: omnigraph.Graph, s3_server: Server, s3_bucket: Bucket
) -> None:
    graph.create_branch("review")
    rows = [{"type": "Person", "data": {"name": f"p{number}", "age": number}} for number in range(200)]
    graph.load(rows, "append", branch="review")
    graph.mutate(UPDATE, {"n": "p7"}, branch="review")
    graph.mutate(BOTH, {"n": "main"})
    graph.merge("review")
    graph.revert(graph.snapshot().commit_id)
    stranger = _opened(s3_server, s3_bucket)
    assert stranger.snapshot().counts()["node:Person"] == 2
    assert stranger.snapshot("review").counts()["node:Person"] == 201
    with pytest.raises(OmnigraphError):
        stranger.mutate(BOTH, {"n": "main"}, if_commit="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert stranger.verify(deep=True).is_clean
