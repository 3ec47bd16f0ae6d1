"""Differences between two versions of a table, and the bytes read to find them."""

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.compare.tables import TableChanges, rows_compared, table_changes
from omnigraph.core.scalars import Scalar
from omnigraph.core.tables import TablePin
from omnigraph.core.tuning import Tuning
from omnigraph.schema.ir import PropertyIR
from omnigraph.schema.types import PropertyType
from omnigraph.storage.tables.difference import difference
from omnigraph.storage.tables.io_meter import IoMeter
from tests.promises.protocol.graphs import create, reopen, run

SCHEMA = """
node Doc { name: String @key
    rank: I64?
    tags: [String]?
    v: Vector(2)?
    body: Blob? }
"""
KEY = "node:Doc"


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return create(tmp_path, SCHEMA)


def doc(name: str, **properties: Any) -> dict[str, Any]:
    if properties.get("body") is not None:
        properties["body"] = f"base64:{base64.b64encode(properties['body']).decode()}"
    return {"type": "Doc", "data": {"name": name, **properties}}


def pin(graph: omnigraph.Graph) -> TablePin:
    return graph.snapshot().state.tables[KEY]


def compare(
    graph: omnigraph.Graph, before: TablePin | None, after: TablePin | None, ids: list[str] | None = None
) -> TableChanges:
    return table_changes(graph._store, graph.catalog().nodes["Doc"], before, after, ids)


def changes_by_kind(changes: TableChanges) -> dict[str, Any]:
    """Ids by what happened to them, with the changed properties of updates."""
    updated = {
        id_: [name for name, mask in changes.differs.items() if mask[row].as_py()]
        for row, id_ in enumerate(changes.after.column("id").to_pylist())
    }
    assert changes.before.column("id").to_pylist() == list(updated)
    found = {
        "inserted": changes.inserted.column("id").to_pylist(),
        "deleted": changes.deleted.column("id").to_pylist(),
        "updated": updated,
    }
    return {kind: ids for kind, ids in found.items() if ids}


def test_inserts_updates_and_deletes_are_told_with_the_changed_properties(graph: omnigraph.Graph) -> None:
    graph.load([doc(f"d{n}", rank=n, tags=["a"]) for n in range(6)])
    before = pin(graph)
    run(graph, 'delete Doc where name = "d1"')
    run(graph, 'update Doc set {rank: 20, tags: ["b"]} where name = "d2"')
    run(graph, 'insert Doc {name: "new"}')
    changes = compare(graph, before, pin(graph))
    assert changes_by_kind(changes) == {"inserted": ["new"], "deleted": ["d1"], "updated": {"d2": ["rank", "tags"]}}
    assert changes.before.column("rank").to_pylist() == [2]
    assert changes.after.column("rank").to_pylist() == [20]
    back = compare(graph, pin(graph), before)
    assert changes_by_kind(back) == {"inserted": ["d1"], "deleted": ["new"], "updated": {"d2": ["rank", "tags"]}}
    assert changes_by_kind(compare(graph, before, pin(graph), ["d2", "d3"])) == {"updated": {"d2": ["rank", "tags"]}}


def test_what_is_written_again_as_it_was_is_no_change(graph: omnigraph.Graph) -> None:
    rows = [doc(f"d{n}", rank=n, tags=["a", "b"], v=[n, 0.5], body=b"x" * n) for n in range(6)]
    graph.load(rows)
    before = pin(graph)
    graph.load(rows[:1], "overwrite")
    graph.load(rows, "overwrite")
    assert pin(graph).lance_version != before.lance_version
    assert compare(graph, before, pin(graph)).is_empty


def test_compaction_is_no_change(graph: omnigraph.Graph) -> None:
    for n in range(5):
        graph.load([doc(f"d{n}-{m}", rank=m, body=b"abc") for m in range(4)])
    run(graph, "delete Doc where rank = 2")
    before = pin(graph)
    assert graph.optimize(index=False).commits
    changed = pin(graph)
    assert changed.lance_version != before.lance_version
    assert compare(graph, before, changed).is_empty
    run(graph, 'update Doc set {rank: 7} where name = "d0-1"')
    assert changes_by_kind(compare(graph, before, pin(graph))) == {"updated": {"d0-1": ["rank"]}}


def test_a_table_that_is_missing_on_one_side_has_everything_on_the_other(graph: omnigraph.Graph) -> None:
    graph.load([doc("a"), doc("b")])
    assert changes_by_kind(compare(graph, None, pin(graph))) == {"inserted": ["a", "b"]}
    assert changes_by_kind(compare(graph, pin(graph), None)) == {"deleted": ["a", "b"]}


def test_blobs_are_compared_by_size_and_place_and_only_then_by_bytes(graph: omnigraph.Graph) -> None:
    large = b"z" * 100_000
    bodies = {"same": b"abc", "other": b"abc", "longer": b"abc", "null": b"abc", "large": large, "empty": b""}
    graph.load([doc(name, body=body) for name, body in bodies.items()])
    graph.load([doc("absent")])
    before = pin(graph)
    graph.load([doc("same", body=b"abc"), doc("other", body=b"abd"), doc("longer", body=b"abcd")])
    graph.load([doc("null", body=None)])
    graph.load([doc("large", body=large), doc("empty", body=b""), doc("absent", body=b"")])
    changes = compare(graph, before, pin(graph))
    assert changes_by_kind(changes) == {"updated": {name: ["body"] for name in ("absent", "longer", "null", "other")}}
    sizes = [None if value is None else value["size"] for value in changes.after.column("body").to_pylist()]
    assert sizes == [0, 4, None, 3]


def test_a_property_that_a_version_does_not_have_is_null_there_and_a_rename_is_no_change(
    graph: omnigraph.Graph,
) -> None:
    graph.load([doc("a", rank=1)])
    before = pin(graph)
    graph.load([doc("a", rank=2)])
    entity = graph.catalog().nodes["Doc"]
    later = {name: prop for name, prop in entity.properties.items() if name != "rank"}
    later["place"] = replace(entity.properties["rank"], name="place")
    later["added"] = PropertyIR(99, "added", PropertyType(Scalar.STRING, nullable=True))
    changes = table_changes(graph._store, replace(entity, properties=later), before, pin(graph))
    assert changes_by_kind(changes) == {"updated": {"a": ["place"]}}
    assert changes.after.column("added").to_pylist() == [None]


def test_versions_of_two_branches_are_compared_like_any_others(graph: omnigraph.Graph) -> None:
    graph.load([doc(f"d{n}", rank=n) for n in range(40)])
    graph.create_branch("b")
    run(graph, 'delete Doc where name = "d1"', branch="b")
    run(graph, "update Doc set {rank: 100} where rank < 3")
    here, there = pin(graph), graph.snapshot("b").state.tables[KEY]
    assert changes_by_kind(compare(graph, here, there)) == {
        "deleted": ["d1"],
        "updated": {"d0": ["rank"], "d2": ["rank"]},
    }


def test_what_is_read_follows_the_change_and_not_the_table(tmp_path: Path) -> None:
    tuning = Tuning(fold_tiers=((1, 1),))
    read: list[tuple[int, int]] = []
    for rows in (20_000, 80_000):
        made = create(tmp_path / str(rows), SCHEMA, tuning=tuning)
        texts = pa.array([f"d{n}" for n in range(rows)])
        made.load(pa.table({"name": texts, "rank": pa.array(range(rows))}), type_name="Doc")
        made.create_branch("b")
        made.load([doc(f"d{n}", rank=-1) for n in range(0, 1000, 10)], branch="b")
        graph = reopen(made)
        before, after = pin(graph), graph.snapshot("b").state.tables[KEY]
        assert rows_compared(graph._store, before, after) == 200
        assert [piece.offsets is None for piece in difference(graph._store, before, after).before] == [False]
        meter = IoMeter(graph._store)
        assert compare(graph, before, after).after.num_rows == 100
        read.append(meter.read())
    assert read[1][0] <= read[0][0] + 2
    assert read[1][1] <= 2 * read[0][1]
