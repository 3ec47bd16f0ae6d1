"""Neighbour lists: a base with changes on top is worth as much as one made anew, in memory and from disk."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from omnigraph.engine.graph import Graph, create, open_graph
from omnigraph.exec import adjacency as lists_of
from omnigraph.exec import tables
from omnigraph.exec.graph_view import Derived, GraphView, Traversal
from omnigraph.exec.topology import cache
from omnigraph.exec.topology.cache import Topologies, build
from omnigraph.exec.topology.indexed import IndexedLists, IndexedTopology
from omnigraph.exec.topology.neighbours import Topology
from omnigraph.exec.topology.walkable import Steps
from omnigraph.storage.tables.array_cache import ArrayCache
from tests.support.sampling import sampled
from tests.support.tuning import retuned

SCHEMA = """
node Person { name: String @key age: I32? }
node City { name: String @key }
edge Knows: Person -> Person { since: I32? }
edge Lives: Person -> City { }
"""
CHANGES = ("insert", "upsert", "edges", "unlink", "delete", "bulk")


@dataclass
class World:
    """A graph that changes at random."""

    graph: Graph
    rng: Random
    made: int = 0

    def people(self, count: int) -> list[dict[str, Any]]:
        self.made += count
        return [
            {"type": "Person", "data": {"name": f"p{number}", "age": number}}
            for number in range(self.made - count, self.made)
        ]

    def edges(self, count: int, branch: str = "main") -> list[dict[str, Any]]:
        names = self.graph.snapshot(branch).to_arrow("node:Person").column("id").to_pylist()
        known = [{"edge": "Knows", "from": self.rng.choice(names), "to": self.rng.choice(names)} for _ in range(count)]
        lives = [{"edge": "Lives", "from": self.rng.choice(names), "to": f"c{self.rng.randrange(4)}"} for _ in "ab"]
        return known + lives if names else []

    def change(self, branch: str) -> None:
        graph, rng = self.graph, self.rng
        match rng.choice(CHANGES):
            case "insert":
                graph.load(self.people(rng.randrange(1, 4)), "append", branch=branch)
            case "upsert":
                names = graph.snapshot(branch).to_arrow("node:Person").column("id").to_pylist()
                chosen = rng.sample(names, min(len(names), 3))
                graph.load([{"type": "Person", "data": {"name": name, "age": -1}} for name in chosen], branch=branch)
            case "edges":
                graph.load(self.edges(rng.randrange(1, 6), branch), "append", branch=branch)
            case "unlink":
                name = f"p{rng.randrange(self.made)}"
                graph.mutate("query u($n: String) { delete Knows where from = $n }", {"n": name}, branch=branch)
            case "delete":
                name = f"p{rng.randrange(self.made)}"
                graph.mutate("query d($n: String) { delete Person where name = $n }", {"n": name}, branch=branch)
            case "bulk":
                graph.load(self.people(300) + self.edges(200, branch), "append", branch=branch)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(create(tmp_path / "g", SCHEMA, durability="os"), Random(7))
    world.graph.load([{"type": "City", "data": {"name": f"c{number}"}} for number in range(4)])
    world.graph.load(world.people(60))
    world.graph.load(world.edges(150))
    return world


def view(graph: Graph, known: Topologies, **where: str) -> GraphView:
    snapshot = graph.snapshot(**where)  # type: ignore[arg-type] # branch or at
    derived = Derived.kept_in(ArrayCache(None))
    derived.topologies = known
    return GraphView(snapshot.store, snapshot.state, snapshot.catalog, derived)


def pins(world: GraphView, edge: str) -> cache.Pins:
    return world.pins(edge)


def connected(lists: Steps, starts: Any, *, keep_edges: bool) -> set[tuple[int, ...]]:
    """From row to row, with the edge's row if edges count."""
    position, neighbour, edge = lists.step(lists.near.to_number(starts), keep_edges=keep_edges)
    rows = starts[position], lists.far.to_row(neighbour)
    pairs = list(zip(*(column.tolist() for column in (*rows, *([edge] if keep_edges else []))), strict=True))
    assert len(pairs) == len(set(pairs)), "every pair comes once"
    return set(pairs)


def assert_indexed_equal(graph: GraphView, edge: str) -> None:
    """What is looked up for some nodes is what the lists say of them."""
    three = pins(graph, edge)
    fresh = cache._exact(build(three))
    for direction in ("out", "into", *(("both",) if fresh.within_one_type else ())):
        starts = three[2 if direction == "into" else 1].live()[::3]
        found = getattr(IndexedTopology(three, starts), direction)
        for keep_edges in (False, True):
            wanted = connected(getattr(fresh, direction), starts, keep_edges=keep_edges)
            assert connected(found, starts, keep_edges=keep_edges) == wanted
    loops = IndexedTopology(three, three[1].live()).loops
    assert loops.tolist() == fresh.loops.tolist()


def assert_equal(found: Topology, graph: GraphView, edge: str) -> None:
    three = pins(graph, edge)
    fresh = cache._exact(build(three))
    for direction in ("out", "into", *(("both",) if found.within_one_type else ())):
        mine, other = getattr(found, direction), getattr(fresh, direction)
        starts = three[2 if direction == "into" else 1].live()
        for keep_edges in (False, True):
            assert connected(mine, starts, keep_edges=keep_edges) == connected(other, starts, keep_edges=keep_edges)
        ends = three[1 if direction == "into" else 2].live()
        pairs = np.array([(start, end) for start in starts[::2] for end in ends[::2]])
        held = mine.connected(mine.near.to_number(pairs[:, 0]), mine.far.to_number(pairs[:, 1]), 2**40)
        if held is not None:
            every = connected(other, starts, keep_edges=False)
            assert held.tolist() == [(start, end) in every for start, end in pairs.tolist()]
        assert (mine.degrees(mine.near.to_number(starts)) >= other.degrees(starts)).all()
        assert mine.whole.offsets.tolist() == other.base.offsets.tolist()
        assert mine.whole.neighbours.tolist() == other.base.neighbours.tolist()
        assert sorted(mine.whole.edges.tolist()) == sorted(other.base.edges.tolist())
    assert sorted(found.source.to_row(found.loops).tolist()) == fresh.loops.tolist()


@pytest.mark.parametrize("seed", sampled(range(4), 2))
def test_changes_on_top_of_a_base_are_as_good_as_a_new_one(seed: int, world: World) -> None:
    world.rng = Random(seed)
    graph = world.graph
    known = Topologies(ArrayCache(None))
    for edge in ("Knows", "Lives"):
        known.get(pins(view(graph, known), edge))
    places: list[dict[str, str]] = [{"branch": "main"}]
    graph.create_branch("side")
    with retuned(graph, changed_share=1e-9), patch.object(cache, "build") as built:
        for step in range(14):
            branch = world.rng.choice(["main", "side"])
            world.change(branch)
            places = [{"branch": "main"}, {"branch": "side"}, {"at": graph.snapshot(branch).commit_id}]
            place = places[step % 3]
            for edge in ("Knows", "Lives"):
                current = view(graph, known, **place)
                assert_equal(known.get(pins(current, edge)), current, edge)
                assert_indexed_equal(current, edge)
    assert not built.called, "everything came from the first base"


def test_many_changes_make_a_new_base_without_encoding_everything_again(world: World, tmp_path: Path) -> None:
    known = Topologies(ArrayCache(str(tmp_path / "cache")), persisted_edges_min=0)
    first = known.get(pins(view(world.graph, known), "Knows"))
    world.graph.load(world.people(30) + world.edges(20), "append")
    current = view(world.graph, known)
    with patch.object(cache, "build") as built:
        second = known.get(pins(current, "Knows"))
    assert not built.called
    assert second.base.key != first.base.key
    assert second.edge.changes == 0
    assert_equal(second, current, "Knows")


class Kept:
    """A cache directory and the topology in it."""

    def __init__(self, world: World, path: Path) -> None:
        self.graph, self.path = world.graph, path
        self.made = self.get()

    def get(self) -> Topology:
        known = Topologies(ArrayCache(str(self.path)), persisted_edges_min=0)
        return known.get(pins(view(self.graph, known), "Knows"))

    def files(self) -> list[Path]:
        return sorted(self.path.rglob("*.npy"))


@pytest.fixture
def kept(world: World, tmp_path: Path) -> Kept:
    return Kept(world, tmp_path / "cache")


def test_another_process_maps_what_one_has_made(kept: Kept) -> None:
    assert kept.files()
    with patch.object(cache, "build") as built:
        again = kept.get()
    assert not built.called
    assert isinstance(again.out.base.neighbours.base, np.memmap)
    assert_equal(again, view(kept.graph, Topologies(ArrayCache(None))), "Knows")
    assert isinstance(again.into.base.neighbours.base, np.memmap), "a direction is kept when it was first walked"


def test_the_cache_may_be_deleted_at_any_time(kept: Kept) -> None:
    shutil.rmtree(kept.path)
    assert_equal(kept.made, view(kept.graph, Topologies(ArrayCache(None))), "Knows")
    assert_equal(kept.get(), view(kept.graph, Topologies(ArrayCache(None))), "Knows")


def test_damaged_files_are_made_again(kept: Kept) -> None:
    for path in kept.files():
        path.write_bytes(path.read_bytes()[:50])
    assert_equal(kept.get(), view(kept.graph, Topologies(ArrayCache(None))), "Knows")
    for path in kept.path.rglob("about.json"):
        path.write_text("{")
    assert_equal(kept.get(), view(kept.graph, Topologies(ArrayCache(None))), "Knows")


def test_a_directory_that_cannot_be_written_is_no_error(world: World, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    known = Topologies(ArrayCache(str(blocked)), persisted_edges_min=0)
    current = view(world.graph, known)
    assert_equal(known.get(pins(current, "Knows")), current, "Knows")


def test_the_least_recently_used_go_when_the_cache_is_full(world: World, tmp_path: Path) -> None:
    path = tmp_path / "cache"
    known = Topologies(ArrayCache(str(path), bytes_max=14_000), persisted_edges_min=0)
    for _ in range(6):
        world.graph.load(world.people(100) + world.edges(100), "append")
        known.get(pins(view(world.graph, known), "Knows"))
        entries = [entry for entry in path.glob("*/*") if entry.is_dir()]
        assert len(entries) <= 3
    newest = max(entries, key=lambda entry: (entry / "about.json").stat().st_mtime_ns)
    assert sum(file.stat().st_size for entry in entries for file in entry.iterdir()) <= 14_000 or entries == [newest]


def test_a_graph_keeps_large_topologies_below_its_root(world: World) -> None:
    graph = world.graph
    text = "query q() { match { $a: Person  $a knows{1,2} $b } return { count($b) as n } }"
    with patch.object(graph._derived.topologies, "_persisted_edges_min", 0):
        first = graph.query(text).to_pylist()
    assert list(Path(graph.uri).glob("cache/topology-*/*/out-neighbours.npy"))
    with patch.object(cache, "build") as built:
        assert open_graph(graph.uri).query(text).to_pylist() == first
    assert not built.called
    assert graph.verify().is_clean


def test_lists_that_were_missed_repeatedly_are_made_in_the_background(world: World) -> None:
    graph = world.graph
    with (
        retuned(graph, indexed_edges_min=0),
        patch.object(tables.TableView, "is_indexed", lambda *_: True),
    ):
        derived = graph._derived
        text = 'query q() { match { $p: Person { name: "p1" } $p knows $q } return { $q.name } order { $q.name } }'
        answers = []
        for _ in range(cache.MISSED_MAX):
            assert derived.topologies.find(pins(view(graph, derived.topologies), "Knows")) is None
            answers.append(graph.query(text).to_pylist())
        for thread in threading.enumerate():
            if thread.name == "omnigraph-topology":
                thread.join()
        assert derived.topologies.find(pins(view(graph, derived.topologies), "Knows")) is not None
        answers.append(graph.query(text).to_pylist())
    assert all(answer == answers[0] for answer in answers)


def test_optimize_builds_the_lists_that_traversals_would_build(world: World) -> None:
    graph = world.graph
    text = 'query q() { match { $p: Person { name: "p1" } $p knows $q } return { $q.name } order { $q.name } }'
    before = open_graph(graph.uri).query(text).to_pylist()
    with retuned(graph, indexed_edges_min=0), patch.object(graph._derived.topologies, "_persisted_edges_min", 0):
        for options in ({"index": False}, {"types": ["Person"]}):
            with patch.object(cache, "build") as built:
                graph.optimize(**options)
            assert not built.called
        graph.optimize()
    with patch.object(cache, "build") as built:
        for opened in (graph, open_graph(graph.uri)):
            topologies = opened._derived.topologies
            assert topologies.find(pins(view(opened, topologies), "Knows")) is not None
            assert opened.query(text).to_pylist() == before
    assert not built.called


@pytest.mark.parametrize("steps", [1, 2])
def test_an_indexed_walk_looks_up_every_edge_once(steps: int, world: World) -> None:
    graph = world.graph
    text = (
        f'query q() {{ match {{ $p: Person {{ name: "p1" }} $p knows{{1,{steps}}} $q }} return {{ count($q) as n }} }}'
    )
    lists = graph.query(text).to_pylist()
    counted = patch.object(IndexedLists, "_along", autospec=True, side_effect=IndexedLists._along)
    with patch.object(graph._derived, "traversal", Traversal.INDEXED), counted as looked_up:
        assert graph.query(text).to_pylist() == lists
    # Self-loops of the start are found among the edges of its first step.
    assert looked_up.call_count <= steps


@pytest.mark.parametrize("bits", [4, 20, 30, 50])
def test_packed_keys_sort_edges_as_separate_keys_do(bits: int) -> None:
    rng = np.random.default_rng(bits)
    for count in (1, 2, 300, 3_000):
        # Few large numbers, so that the lists have an offset for every node and parallel edges.
        sources = rng.integers(0, 50, count)
        targets = rng.choice(rng.integers(0, 1 << bits, 20), count)
        edges = rng.permutation(count)
        packed = lists_of._packed(sources, targets)
        assert (packed is None) == (bits == 50 and count >= 300)
        made = lists_of.adjacency(sources, targets, edges, 50)
        order = np.lexsort((np.arange(count), targets, sources))
        assert made.neighbours.tolist() == targets[order].tolist()
        assert np.diff(made.offsets).tolist() == np.bincount(sources, minlength=50).tolist()
        held = sorted(zip(made.origins().tolist(), made.neighbours.tolist(), made.edges.tolist(), strict=True))
        assert held == sorted(zip(sources.tolist(), targets.tolist(), edges.tolist(), strict=True))
        if packed is not None:
            assert packed[1].tolist() == order.tolist()
