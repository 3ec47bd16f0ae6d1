"""Processes that wait for one branch are published by the one whose turn it is, with the effects of their own swaps.

Two handles of one graph behave as two processes do: locks belong to open files.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import OutcomeUnknown, ViolationError
from omnigraph.storage.objects.turns import LocalTurns
from omnigraph.storage.publish import offers
from omnigraph.storage.publish.offers import make_offer, take_offers
from tests.support.sampling import sampled

SCHEMA = """
node Person { name: String @key
    age: I64?
    email: String? @unique
    born: Date? }
edge Knows: Person -> Person
"""
ADD = "query add($name: String, $email: String?) { insert Person { name: $name, age: 1, email: $email } }"
MAIN = "__manifest"


@pytest.fixture
def handles(tmp_path: Path) -> list[omnigraph.Graph]:
    """Handles of one graph that know of each other."""
    first = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    found = [first, *(omnigraph.open(first.uri, durability="os") for _ in range(3))]
    for number, graph in enumerate(found):
        graph.mutate(ADD, {"name": f"warm{number}", "email": None})
        graph._context.publisher._door(graph.id).note_rivals(was_overtaken=True)
    return found


def standing(graph: omnigraph.Graph) -> list[Path]:
    return sorted((Path(graph.uri) / MAIN / offers.DIRECTORY).glob("*.json"))


def version(graph: omnigraph.Graph) -> int:
    return graph.snapshot().state.version


@contextmanager
def held_turn(graph: omnigraph.Graph, seconds: float = 60.0) -> Iterator[None]:
    with LocalTurns(graph._store.root).hold(MAIN, seconds):
        yield


def wait_for_offers(graph: omnigraph.Graph, count: int) -> None:
    while len(standing(graph)) < count:
        threading.Event().wait(0.001)


def offered_together(writes: Sequence[tuple[omnigraph.Graph, str, dict[str, Any]]]) -> list[Future[Any]]:
    """Run writes whose offers all stand when the turn becomes free."""
    with ThreadPoolExecutor(len(writes)) as pool, held_turn(writes[0][0]):
        futures = [pool.submit(graph.mutate, text, params) for graph, text, params in writes]
        wait_for_offers(writes[0][0], len(writes))
    return futures


def test_writers_that_wait_are_published_in_one_swap(handles: list[omnigraph.Graph]) -> None:
    before = version(handles[0])
    made = [
        future.result()
        for future in offered_together(
            [(graph, ADD, {"name": f"p{number}", "email": None}) for number, graph in enumerate(handles)]
        )
    ]
    assert version(handles[0]) == before + 1
    assert [(item.query_name, item.affected_nodes, item.affected_edges) for item in made] == [("add", 1, 0)] * 4
    cold = omnigraph.open(handles[0].uri)
    for number, item in enumerate(made):
        assert item.commit is not None
        changes = [change for table in cold.diff(f"{item.commit.id}~1", item.commit.id) for change in table]
        assert [str(change.id) for change in changes] == [f"p{number}"]
    assert standing(cold) == []
    assert cold.verify(deep=True).is_clean


def test_a_refused_change_fails_its_own_writer_only(handles: list[omnigraph.Graph]) -> None:
    handles[0].mutate(ADD, {"name": "first", "email": "a@x"})
    futures = offered_together(
        [
            (graph, ADD, {"name": f"p{number}", "email": "a@x" if number == 2 else None})
            for number, graph in enumerate(handles)
        ]
    )
    assert [type(future.exception()) for future in futures] == [type(None), type(None), ViolationError, type(None)]
    assert set(handles[0].snapshot().to_arrow("node:Person")["name"].to_pylist()) >= {"first", "p0", "p1", "p3"}


def test_changes_of_one_entity_are_published_one_after_the_other(handles: list[omnigraph.Graph]) -> None:
    text = 'query put($age: I64) { insert Person { name: "same", age: $age } }'
    made = [future.result() for future in offered_together([(g, text, {"age": n}) for n, g in enumerate(handles)])]
    assert all(item.commit is not None and item.affected_nodes == 1 for item in made)
    last = handles[0].snapshot().commit_id
    [age] = [n for n, item in enumerate(made) if item.commit.id == last]
    rows = handles[0].snapshot().to_arrow("node:Person").to_pylist()
    assert [row["age"] for row in rows if row["name"] == "same"] == [age]


WRITES = (
    (ADD, lambda draw: {"name": draw.choice("abcdef"), "email": draw.choice([None, "x@x", "y@x"])}),
    (
        "query put($name: String, $age: I64) { upsert Person { name: $name, age: $age } }",
        lambda draw: {"name": draw.choice("abcdef"), "age": draw.randint(0, 2)},
    ),
    (
        "query know($from: String, $to: String) { insert Knows { from: $from, to: $to } }",
        lambda draw: {"from": draw.choice("abcdef"), "to": draw.choice("abcdef")},
    ),
)


@pytest.mark.parametrize("seed", sampled(range(8), 4))
def test_offered_changes_have_the_effects_of_their_commits_one_after_the_other(
    handles: list[omnigraph.Graph], tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    serial = omnigraph.create(tmp_path / "serial", SCHEMA, durability="os")
    for number in range(len(handles)):
        serial.mutate(ADD, {"name": f"warm{number}", "email": None})
    for _ in range(4):
        chosen = [draw.choice(WRITES) for _ in handles]
        writes = [(graph, text, params(draw)) for graph, (text, params) in zip(handles, chosen, strict=True)]
        made = {}
        for (_, text, params), future in zip(writes, offered_together(writes), strict=True):
            error = future.exception()
            if error is None:
                if future.result().commit is not None:
                    made[future.result().commit.id] = (text, params, future.result())
            else:
                assert isinstance(error, ViolationError)
        order = [commit.id for commit in reversed(list(handles[0].commits())) if commit.id in made]
        assert len(order) == len(made)
        for commit_id in order:
            text, params, result = made[commit_id]
            again = serial.mutate(text, params)
            counts = (result.query_name, result.affected_nodes, result.affected_edges)
            assert (again.query_name, again.affected_nodes, again.affected_edges) == counts
        assert content(handles[0]) == content(serial)
    assert handles[0].verify(deep=True).is_clean


def content(graph: omnigraph.Graph) -> list[list[str]]:
    """The rows of both types; edges without their ids, which are drawn."""
    snapshot = graph.snapshot()
    people = snapshot.to_arrow("node:Person").to_pylist()
    edges = snapshot.to_arrow("edge:Knows").select(["src", "dst"]).to_pylist()
    return [sorted(map(repr, rows)) for rows in (people, edges)]


def test_an_unused_offer_is_withdrawn(handles: list[omnigraph.Graph]) -> None:
    handles[0].mutate(ADD, {"name": "a", "email": None})
    assert standing(handles[0]) == []


@pytest.mark.parametrize(
    ("text", "params"),
    [
        pytest.param(
            'query q($d: Date) { insert Person { name: "d", born: $d } }',
            {"d": datetime.date(2026, 1, 2)},
            id="not JSON",
        ),
        pytest.param('query q() { insert Person { name: "r" } returning { name } }', {}, id="returned rows"),
    ],
)
def test_a_change_that_only_its_process_can_make_is_not_offered(
    handles: list[omnigraph.Graph], text: str, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bytes] = []
    monkeypatch.setattr("omnigraph.manifest.offered.make_offer", lambda root, location, content: made.append(content))
    assert handles[0].mutate(text, params).affected_nodes == 1
    assert made == []


def test_a_writer_whose_offer_was_taken_by_a_killed_process_publishes_itself(handles: list[omnigraph.Graph]) -> None:
    graph = handles[1]
    with ThreadPoolExecutor(1) as pool:
        with held_turn(graph):
            future = pool.submit(graph.mutate, ADD, {"name": "a", "email": None})
            wait_for_offers(graph, 1)
            assert len(take_offers(graph._store.root, MAIN, 10)) == 1
        assert future.result().commit is not None
    assert graph.snapshot().to_arrow("node:Person")["name"].to_pylist().count("a") == 1


def test_a_suspended_taker_delays_nobody_beyond_its_turn_and_publishes_nothing_twice(
    handles: list[omnigraph.Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its late swap is lost: the version is taken."""
    graph = handles[1]
    with ThreadPoolExecutor(1) as pool, held_turn(graph, 0.0):
        monkeypatch.setattr("omnigraph.manifest.offered.make_offer", _taken_at_once)
        future = pool.submit(graph.mutate, ADD, {"name": "a", "email": None})
        assert future.result().commit is not None
    assert graph.snapshot().to_arrow("node:Person")["name"].to_pylist().count("a") == 1


def test_a_failure_beside_a_suspended_taker_is_an_unknown_outcome(
    handles: list[omnigraph.Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = handles[1]
    handles[0].mutate(ADD, {"name": "first", "email": "a@x"})
    with held_turn(graph, 0.0):
        monkeypatch.setattr("omnigraph.manifest.offered.make_offer", _taken_at_once)
        with pytest.raises(OutcomeUnknown):
            graph.mutate(ADD, {"name": "a", "email": "a@x"})


def _taken_at_once(root: Any, location: str, content: bytes) -> Any:
    offer = make_offer(root, location, content)
    assert take_offers(root, location, 1) == [content]
    return offer


def test_an_offer_is_taken_once(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    offer = make_offer(graph._store.root, MAIN, b"x")
    assert offer is not None
    assert take_offers(graph._store.root, MAIN, 0) == []
    assert take_offers(graph._store.root, MAIN, 10) == [b"x"]
    assert take_offers(graph._store.root, MAIN, 10) == []
    assert not offer.withdraw()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[[]]", b'[["main", {}, "x"]]', json.dumps([["main", None, "x"]]).encode()]
)
def test_an_offer_that_cannot_be_read_harms_no_other_write(handles: list[omnigraph.Graph], content: bytes) -> None:
    offer = make_offer(handles[0]._store.root, MAIN, content)
    assert offer is not None
    assert handles[0].mutate(ADD, {"name": "a", "email": None}).commit is not None
    offer.withdraw()


def test_the_offer_of_a_killed_writer_is_published_by_no_one(handles: list[omnigraph.Graph]) -> None:
    graph = handles[0]
    with held_turn(graph):
        program = (
            "import sys, omnigraph\n"
            "graph = omnigraph.open(sys.argv[1], durability='os')\n"
            "graph._context.publisher._door(graph.id).note_rivals(was_overtaken=True)\n"
            f"graph.mutate({ADD!r}, {{'name': 'ghost', 'email': None}})\n"
        )
        child = subprocess.Popen([sys.executable, "-c", program, graph.uri])
        wait_for_offers(graph, 1)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert len(standing(graph)) == 1
    graph.mutate(ADD, {"name": "a", "email": None})
    assert standing(graph) == []
    assert "ghost" not in graph.snapshot().to_arrow("node:Person")["name"].to_pylist()


@pytest.mark.parametrize("killed_after", [2, *(pytest.param(n, marks=pytest.mark.long) for n in (0, 1, 4, 7, 9))])
def test_a_killed_holder_takes_no_acknowledged_commit_with_it(tmp_path: Path, killed_after: int) -> None:
    """Three processes write; one is killed while they publish for each other. The others go on."""
    graph = omnigraph.create(tmp_path / "g", SCHEMA)
    program = (
        "import sys, omnigraph\n"
        "graph = omnigraph.open(sys.argv[1])\n"
        "for number in range(12):\n"
        f"    graph.mutate({ADD!r}, {{'name': f'{{sys.argv[2]}}-{{number}}', 'email': None}})\n"
        "    print(number, flush=True)\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", program, graph.uri, name], stdout=subprocess.PIPE, text=True)
        for name in "abc"
    ]
    assert children[0].stdout is not None
    seen = -1
    while seen < killed_after:
        seen = int(children[0].stdout.readline())
    children[0].kill()
    told = [child.communicate()[0].split() for child in children]
    assert [child.returncode for child in children[1:]] == [0, 0]
    names = graph.snapshot().to_arrow("node:Person")["name"].to_pylist()
    assert len(names) == len(set(names))
    acknowledged = {f"a-{number}" for number in range(seen + 1)} | {f"a-{number}" for number in told[0]}
    assert set(names) >= acknowledged | {f"{name}-{number}" for name in "bc" for number in range(12)}
    assert len([name for name in names if name.startswith("a-")]) <= len(acknowledged) + 1
    assert graph.verify(deep=True).is_clean
