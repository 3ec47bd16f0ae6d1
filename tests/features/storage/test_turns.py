"""A turn is respected by those who look for it, ends with its holder, and costs a winning writer nothing."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest

import omnigraph
from omnigraph.manifest import publisher
from omnigraph.manifest.contention import TURN_AFTER_LONG
from omnigraph.storage.objects.turns import FILE, LocalTurns, RemoteTurns
from omnigraph.storage.tables.store import Store
from tests.support.faults.s3 import Bucket, Server

SCHEMA = "node Person { name: String @key }"
INSERT = "query q($name: String) { insert Person { name: $name } }"
PLACE = "__manifest"


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def graphs(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[omnigraph.Graph, omnigraph.Graph]:
    """One graph, opened twice."""
    if request.param == "local":
        graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
        return graph, omnigraph.open(graph.uri, durability="os")
    server: Server = request.getfixturevalue("s3_server")
    bucket: Bucket = request.getfixturevalue("s3_bucket")
    options = server.storage_options()
    graph = omnigraph.create(bucket.uri("g"), SCHEMA, storage_options=options)
    return graph, omnigraph.open(graph.uri, storage_options=options)


def _turns(graph: omnigraph.Graph) -> LocalTurns | RemoteTurns:
    store: Store = graph._store
    assert isinstance(store.turns, LocalTurns | RemoteTurns)
    return store.turns


def test_a_writer_waits_while_another_holds_the_turn(graphs: tuple[omnigraph.Graph, omnigraph.Graph]) -> None:
    holder, other = graphs
    is_through = threading.Event()

    def wait() -> None:
        _turns(other).note_lost(PLACE)
        _turns(other).wait(PLACE)
        is_through.set()

    waiting = threading.Thread(target=wait)
    with _turns(holder).hold(PLACE, 600):
        _turns(holder).wait(PLACE)
        waiting.start()
        assert not is_through.wait(0.3), "it waits"
    waiting.join(60)
    assert is_through.is_set()


def test_a_turn_that_lasts_longer_than_announced_is_not_waited_for(
    graphs: tuple[omnigraph.Graph, omnigraph.Graph],
) -> None:
    holder, other = graphs
    with _turns(holder).hold(PLACE, 0.0):
        for number in range(3):
            _turns(other).note_lost(PLACE)
            other.mutate(INSERT, {"name": f"p{number}"})
    assert other.snapshot().to_arrow("node:Person").num_rows == 3


def test_a_writer_that_always_comes_second_gets_through_with_its_turn(
    graphs: tuple[omnigraph.Graph, omnigraph.Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other publishes right before each of its swaps, unless a turn makes it wait."""
    slow, fast = graphs
    published: list[str] = []
    swap = publisher.replace_state

    def overtaken(manifests: object, *arguments: object) -> object:
        if manifests is slow._manifests and PLACE not in _turns(slow)._held:
            name = f"fast{len(published)}"
            fast.mutate(INSERT, {"name": name})
            published.append(name)
        return swap(manifests, *arguments)  # type: ignore[arg-type] # what the caller gave

    monkeypatch.setattr(publisher, "replace_state", overtaken)
    slow.mutate(INSERT, {"name": "slow"})
    assert len(published) <= TURN_AFTER_LONG, "on a busy machine even a short write may count as long"
    assert set(slow.snapshot().to_arrow("node:Person")["name"].to_pylist()) == {"slow", *published}


@pytest.mark.s3
def test_a_turn_that_nobody_asked_for_costs_no_request(s3_server: Server, s3_bucket: Bucket) -> None:
    graph = omnigraph.create(s3_bucket.uri("g"), SCHEMA, storage_options=s3_server.storage_options())
    with s3_server.proxy.recording() as log:
        for number in range(20):
            graph.mutate(INSERT, {"name": f"p{number}"})
    assert not [request for request in log.requests() if FILE in request.key]


def test_a_turn_that_cannot_be_had_is_done_without(tmp_path: Path) -> None:
    """A directory can be locked and neither read nor written: its calls fail as those of a broken disk do."""
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    (tmp_path / "g" / PLACE / FILE).mkdir()
    holder = os.open(tmp_path / "g" / PLACE / FILE, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with _turns(graph).hold(PLACE, 600):
            assert graph.mutate(INSERT, {"name": "a"}).commit is not None
        assert graph.mutate(INSERT, {"name": "b"}).commit is not None
    finally:
        os.close(holder)
