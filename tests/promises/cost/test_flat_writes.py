"""A table that grows row by row stays cheap to write and to open, without any maintenance call."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from tests.promises.cost.counting import PERSON, Counted, fragments, grow
from tests.promises.cost.counting import SCHEMA as GROWING
from tests.support.faults.s3 import Bucket, Server

TIERS = Tuning().fold_tiers

SCHEMA = "node Item { name: String @key\n count: I64? }\nedge Next: Item -> Item\n"
WINDOW = 100
"""Commits over which work is averaged: several folds of the smallest tier."""


def _fragments_per_commit(graph: omnigraph.Graph, start: int) -> float:
    opened = 0
    for number in range(start, start + WINDOW):
        graph.mutate(PERSON, {"n": f"p{number}"})
        opened += fragments(graph)
    return opened / WINDOW


def _flatness(graph: omnigraph.Graph, commits: int) -> float:
    """Fragments per commit at the end, relative to the start."""
    grow(graph, 50)
    first = _fragments_per_commit(graph, 50)
    grow(graph, commits - 2 * WINDOW - 50, start=50 + WINDOW)
    last = _fragments_per_commit(graph, commits - WINDOW)
    assert graph.snapshot().counts()["node:Person"] == commits
    return last / first


@pytest.mark.parametrize("commits", [300, pytest.param(2_000, marks=pytest.mark.long)])
def test_a_table_that_grows_row_by_row_keeps_its_number_of_fragments(tmp_path: Path, commits: int) -> None:
    graph = omnigraph.create(tmp_path / "g", GROWING, durability="os")
    assert _flatness(graph, commits) <= 1.2


@pytest.mark.parametrize("size", [20, 300, 1_500])
def test_a_table_that_grows_by_small_loads_keeps_its_number_of_fragments(tmp_path: Path, size: int) -> None:
    graph = omnigraph.create(tmp_path / "g", GROWING, durability="os")
    seen = []
    for number in range(30):
        names = [f"p{number * size + row}" for row in range(size)]
        graph.load(pa.table({"name": names}), "append", type_name="Person")
        held = [fragment.metadata.physical_rows for fragment in _parts(graph)]
        seen.append(sum(rows < TIERS[-1][0] for rows in held))
    assert max(seen) <= sum(fragments_max for _, fragments_max in TIERS[1:])
    assert graph.snapshot().counts()["node:Person"] == 30 * size


def _parts(graph: omnigraph.Graph) -> list[Any]:
    pin = graph.snapshot().state.tables["node:Person"]
    return list(graph._store.open(pin.location, pin.lance_version).get_fragments())


@pytest.mark.s3
@pytest.mark.long
def test_the_requests_of_a_commit_stay_the_same_over_thousands_of_commits(s3_server: Server, s3_bucket: Bucket) -> None:
    counted = Counted(s3_server, s3_bucket)
    graph = counted.create()
    grow(graph, 1)
    first = len(counted.requests(lambda: grow(graph, WINDOW, start=1)))
    grow(graph, 2_000 - 2 * WINDOW, start=1 + WINDOW)
    last = len(counted.requests(lambda: grow(graph, WINDOW, start=2_000)))
    assert last <= 1.2 * first


def _rows(graph: omnigraph.Graph) -> dict[str, Any]:
    table = graph.snapshot().to_arrow("node:Item")
    return dict(zip(table.column("name").to_pylist(), table.column("count").to_pylist(), strict=True))


@pytest.mark.parametrize("reopen", [False, True], ids=["warm", "reopened"])
def test_folds_between_inserts_updates_and_deletes_change_no_row(tmp_path: Path, reopen: bool) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    draw = random.Random(7)
    model: dict[str, int | None] = {}
    rewritten = 0
    for step in range(220):
        if reopen and step % 10 == 0:
            # A process that did not write the small fragments has to read them to fold them.
            graph = omnigraph.open(tmp_path / "g", durability="os")
        before = fragments(graph, "node:Item")
        name = f"n{draw.randrange(60)}"
        action = draw.choice(["insert", "insert", "many", "update", "delete"])
        if action == "insert":
            graph.mutate("query q($n: String, $c: I64) { insert Item {name: $n, count: $c} }", {"n": name, "c": step})
            model[name] = step
        elif action == "many":
            rows = {f"n{draw.randrange(60)}": step for _ in range(draw.randrange(1, 20))}
            graph.load([{"type": "Item", "data": {"name": n, "count": c}} for n, c in rows.items()], "merge")
            model.update(rows)
        elif action == "update":
            graph.mutate("query q($n: String) { update Item set {count: -1} where name = $n }", {"n": name})
            if name in model:
                model[name] = -1
        else:
            graph.mutate("query q($n: String) { delete Item where name = $n }", {"n": name})
            model.pop(name, None)
        rewritten += fragments(graph, "node:Item") < before - 2
        if step % 10 == 0:
            assert _rows(graph) == model
    assert _rows(graph) == model
    assert rewritten > 2
    assert graph.verify().is_clean


def test_a_fold_keeps_every_type_of_value(tmp_path: Path) -> None:
    schema = """
    node Every { name: String @key
        b: Bool?
        u: U64?
        f: F32?
        d: Date?
        t: DateTime?
        l: [String]?
        v: Vector(2)?
        e: enum(red, green)? }
    """
    graph = omnigraph.create(tmp_path / "g", schema, durability="os")
    given = [
        {"name": f"n{n:03}", "b": bool(n % 2), "u": 2**64 - 1 - n, "f": n / 4, "d": n, "t": n * 1000}
        | {"l": ["x"] * (n % 3), "v": [n, -n], "e": "red"}
        for n in range(40)
    ]
    for row in given:
        graph.load([{"type": "Every", "data": row}], "merge")
    assert fragments(graph, "node:Every") < 20
    other = omnigraph.create(tmp_path / "at-once", schema, durability="os")
    other.load([{"type": "Every", "data": row} for row in given], "merge")
    assert graph.snapshot().to_arrow("node:Every").equals(other.snapshot().to_arrow("node:Every"))
