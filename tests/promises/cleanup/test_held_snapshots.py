"""A snapshot that is held until cleanup has deleted its files says so, whatever reads it; damage stays damage."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.core.lru import Lru
from omnigraph.engine import blobs
from omnigraph.engine.history.diff import Diff
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import CorruptionError, HistoryCleaned, OmnigraphError
from omnigraph.manifest import cleaned
from tests.promises.cleanup.graphs import root
from tests.promises.protocol.graphs import contents, create, edge, reopen

SCHEMA = "node Person { name: String @key\n photo: Blob? }\nedge Knows: Person -> Person"
QUERY = "query q() { match { $p: Person } return { $p.name } }"
PHOTO = "base64:" + "QUFB" * 40_000


def people(*names: str) -> list[dict[str, Any]]:
    rows = [{"type": "Person", "data": {"name": name, "photo": PHOTO}} for name in names]
    return [*rows, edge("Knows", names[0], names[-1], "k")]


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    graph = create(tmp_path, SCHEMA)
    graph.load(people("a", "b"), "overwrite")
    return graph


@dataclass(frozen=True)
class Held:
    """A snapshot, and its graph as it was opened when the snapshot was taken."""

    graph: omnigraph.Graph
    snapshot: Snapshot


def on_held(read: Callable[[omnigraph.Graph], object]) -> Callable[[Held], object]:
    """A verb of the graph that has found its snapshot, and is slow to read it."""

    def act(held: Held) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(held.graph, "_at", lambda *_, **__: held.snapshot)
            patch.setattr("omnigraph.engine.graph.find_head", lambda *_, **__: held.snapshot.state)
            return read(held.graph)

    return act


READERS: dict[str, Callable[[Held], object]] = {
    "to_arrow": lambda held: held.snapshot.to_arrow("node:Person"),
    "batches": lambda held: list(held.snapshot.batches("edge:Knows")),
    "export": lambda held: list(held.snapshot.export()),
    "pickled": lambda held: contents(pickle.loads(pickle.dumps(held.snapshot))),
    "query": on_held(lambda graph: graph.query(QUERY)),
    "traversal": on_held(
        lambda graph: graph.query("query q() { match { $p: Person\n $p knows $o } return { $o.name } }")
    ),
    "sql": on_held(lambda graph: graph.sql("select name from Person")),
    "explain": on_held(lambda graph: graph.explain(QUERY)),
    "analysis": on_held(lambda graph: graph.analyze.degrees("Knows")),
    "blob": lambda held: blobs.read_blob(held.snapshot, "node", "Person", "a", "photo").read(),
    "diff": lambda held: list(Diff(held.snapshot, reopen(held.graph).snapshot()).changes()),
}


def forget(graph: omnigraph.Graph) -> None:
    """What is open may be read although it was deleted."""
    graph._store._open = Lru(8)


def codes(held: Held) -> dict[str, str]:
    found = {}
    for name, read in READERS.items():
        forget(held.graph)
        try:
            read(held)
        except OmnigraphError as error:
            found[name] = error.code
        else:
            found[name] = "read"
    return found


def test_every_read_of_a_snapshot_that_was_held_too_long_says_so(graph: omnigraph.Graph) -> None:
    held = Held(graph, graph.snapshot())
    for names in ("bc", "cd"):
        reopen(graph).load(people(*names), "overwrite")
    reopen(graph).cleanup(keep=1, grace="0s")
    assert set(codes(held).values()) == {HistoryCleaned.code}
    with pytest.raises(HistoryCleaned, match=held.snapshot.commit_id):
        held.snapshot.to_arrow("node:Person")


def test_a_snapshot_of_a_deleted_branch_that_was_held_too_long_says_so(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    graph.load(people("x", "y"), "overwrite", branch="review")
    held = Held(graph, graph.snapshot("review"))
    graph.delete_branch("review")
    reopen(graph).cleanup(keep=1, grace="0s")
    assert set(codes(held).values()) == {HistoryCleaned.code}
    with pytest.raises(HistoryCleaned, match="was deleted"):
        held.snapshot.to_arrow("node:Person")


@pytest.mark.parametrize("is_given_up", [False, True], ids=["head", "given up"])
def test_damage_of_a_snapshot_that_cleanup_has_not_deleted_is_damage(graph: omnigraph.Graph, is_given_up: bool) -> None:
    held = Held(graph, graph.snapshot())
    if is_given_up:
        reopen(graph).load(people("c", "d"), "overwrite")
    reopen(graph).cleanup(keep=1, grace="24h")
    for path in root(graph).glob("*/*/_versions/d*.manifest"):
        path.unlink()
    found = codes(held)
    # A head does not differ from itself.
    assert found.pop("diff") == (CorruptionError.code if is_given_up else "read")
    assert set(found.values()) == {CorruptionError.code}


def test_a_read_that_succeeds_asks_nothing_about_cleanup(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(cleaned, "_reason", lambda *given: asked.append(given))
    assert set(codes(Held(graph, graph.snapshot())).values()) == {"read"}
    assert asked == []
