"""Loads that go through disk: bounded, invisible until they are whole, and nothing left when they fail."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from omnigraph.engine.graph import Graph, create, open_graph
from omnigraph.errors import KeyConflictError, ViolationError
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.storage.stage import staging
from omnigraph.write.load import bulk as bulk_load
from omnigraph.write.load import fragments as bulk_fragments
from omnigraph.write.load import keys
from omnigraph.write.load.mode import LoadMode
from tests.features.bulk.loading import lines, load_sources, through_disk
from tests.support.tuning import retuned

SCHEMA = """
node Person {
    name: String @key
    age: I32?
}
node Note {
    text: String?
    picture: Blob?
}
edge Knows: Person -> Person
"""


def person(number: int, age: int = 0) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": f"p{number}", "age": age}}


def note(id_: str, text: str, picture: str | None = None) -> dict[str, Any]:
    return {"type": "Note", "data": {"id": id_, "text": text, "picture": picture}}


def knows(source: int, target: int) -> dict[str, Any]:
    return {"edge": "Knows", "from": f"p{source}", "to": f"p{target}", "data": {"id": f"e{source}-{target}"}}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def data_files(graph: Graph) -> set[str]:
    """Everything in data directories of tables, blob sidecars included."""
    root = Path(graph.uri)
    return {str(path) for kind in ("nodes", "edges") for path in root.glob(f"{kind}/*/data/**/*") if path.is_file()}


# --- bounded -------------------------------------------------------------------------------------------


def test_a_load_holds_a_bounded_number_of_rows_however_many_there_are(graph: Graph) -> None:
    given: list[weakref.ref[Any]] = []
    most = 0
    add = bulk_fragments.FragmentWriter.add

    def watched(self: bulk_fragments.FragmentWriter, source: str, rows: TypedRows) -> None:
        nonlocal most
        given.append(weakref.ref(rows.batch))
        add(self, source, rows)
        alive = [batch for batch in (reference() for reference in given) if batch is not None]
        most = max(most, sum(batch.num_rows for batch in alive))

    batch_bytes = 600
    records = [person(number) for number in range(3_000)]
    with (
        through_disk(graph, fragment_bytes=4 * batch_bytes),
        patch.object(bulk_fragments.FragmentWriter, "add", watched),
    ):
        load_sources(graph, "main", {"big": records}, LoadMode.APPEND, batch_rows=20)
    assert len(lines(graph, "main")) == 3_000
    # A fragment that fills, one that is being written, and a batch in each hand.
    assert most <= 300


def test_many_types_together_hold_no_more_than_one(graph: Graph) -> None:
    peak = 0
    add = bulk_fragments.FragmentWriter.add

    def watched(self: bulk_fragments.FragmentWriter, source: str, rows: TypedRows) -> None:
        nonlocal peak
        add(self, source, rows)
        peak = max(peak, sum(pending.bytes for pending in self._pending.values()))

    records = [record for number in range(200) for record in (person(number), note(f"n{number}", "x"))]
    with (
        through_disk(graph, fragment_bytes=10**9, pending_bytes_max=2_000),
        patch.object(bulk_fragments.FragmentWriter, "add", watched),
    ):
        load_sources(graph, "main", {"big": records}, LoadMode.APPEND, batch_rows=2)
    assert 0 < peak < 2_000


def test_a_first_load_of_sorted_nodes_needs_no_key_table(graph: Graph) -> None:
    insert = keys.InputKeys._insert_waiting
    inserted: list[int] = []

    def watched(self: keys.InputKeys, table: keys.KeyTable) -> None:
        inserted.append(table.written)
        insert(self, table)

    with through_disk(graph), patch.object(keys.InputKeys, "_insert_waiting", watched):
        load_sources(graph, "main", {"first": [note(f"n{number}", "x") for number in range(10, 20)]}, LoadMode.APPEND)
        assert inserted == []
        with pytest.raises(KeyConflictError):
            load_sources(graph, "main", {"again": [note("n15", "y"), note("n16", "y")]}, LoadMode.APPEND)
        assert inserted == [2]
        with pytest.raises(ViolationError, match="n3"):
            load_sources(graph, "main", {"twice": [note("n3", "y"), note("n4", "y"), note("n3", "z")]}, LoadMode.APPEND)


def test_a_type_waits_for_its_turn_while_the_fragment_of_another_is_open(graph: Graph) -> None:
    records = [record for number in range(100) for record in (person(number), note(f"n{number}", "x"))]
    with through_disk(graph, fragment_bytes=10_000, chunk_bytes=1):
        load_sources(graph, "main", {"mixed": records}, LoadMode.APPEND, batch_rows=2)
    assert len(lines(graph, "main")) == 200
    assert len(data_files(graph)) == 2


def test_input_is_read_once_and_goes_through_disk_from_the_limit_on(graph: Graph) -> None:
    given: list[int] = []

    def records() -> Iterator[dict[str, Any]]:
        for number in range(40):
            given.append(number)
            yield person(number)

    with (
        retuned(graph, buffered_rows_max=39),
        patch.object(bulk_load, "load_bulk", wraps=bulk_load.load_bulk) as through,
    ):
        told: list[int] = []
        result = graph.load(records(), "append", progress=told.append)
        assert through.call_count == 1
        graph.load([person(number) for number in range(100, 139)], "append")
        assert through.call_count == 1
    assert given == list(range(40))
    assert told == [40]
    assert result.nodes == {"Person": 40}


@pytest.mark.parametrize(("mode", "counts"), [(LoadMode.MERGE, (2, 3, 0)), (LoadMode.OVERWRITE, (2, 3, 1))])
def test_a_preview_through_disk_counts_as_the_commit_does(
    graph: Graph, mode: LoadMode, counts: tuple[int, int, int]
) -> None:
    graph.load([person(number) for number in range(4)], "append")
    with through_disk(graph):
        preview = graph.load_preview([person(number, 7) for number in range(1, 6)], mode.value)
        assert len(lines(graph, "main")) == 4
        graph.load([person(number, 7) for number in range(1, 6)], mode.value)
    for tables in (preview.tables, next(graph.commits()).tables):
        assert [(item.key, item.inserted, item.updated, item.deleted) for item in tables] == [("node:Person", *counts)]


# --- nothing is left -----------------------------------------------------------------------------------


def test_a_violation_leaves_no_file(graph: Graph, temporary: Path) -> None:
    blob = "base64:" + "A" * 400_000
    records = [*(person(number) for number in range(20)), note("n", "x", blob), knows(1, 99)]
    before = data_files(graph)
    with through_disk(graph), pytest.raises(ViolationError, match="big:22: dst 'p99' not found in Person"):
        load_sources(graph, "main", {"big": records}, LoadMode.APPEND)
    assert data_files(graph) == before
    assert not list(temporary.iterdir())
    assert not lines(graph, "main")


@pytest.mark.parametrize("moment", ["reading", "writing", "checking", "staging"])
def test_an_interrupt_leaves_the_graph_as_it_was_and_no_temporary_file(
    graph: Graph, temporary: Path, moment: str
) -> None:
    load_sources(graph, "main", {"seed": [person(0)]}, LoadMode.APPEND)
    head, before = next(graph.commits()).id, data_files(graph)

    def records() -> Iterator[dict[str, Any]]:
        yield from (person(number) for number in range(1, 5_000))
        if moment == "reading":
            raise KeyboardInterrupt

    where = {
        "reading": (bulk_load, "settle_duplicates"),
        "writing": (bulk_fragments, "write_rows"),
        "checking": (bulk_load, "settle_duplicates"),
        "staging": (staging, "stage_grouped"),
    }[moment]
    with through_disk(graph), patch.object(*where, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        load_sources(graph, "main", {"big": records()}, LoadMode.APPEND, batch_rows=100)  # type: ignore[dict-item]
    assert next(graph.commits()).id == head
    assert data_files(graph) == before
    assert not list(temporary.iterdir())
    load_sources(graph, "main", {"after": [person(1)]}, LoadMode.APPEND)
    assert graph.verify().is_clean


# --- several rows of one id ----------------------------------------------------------------------------


def test_the_last_of_several_rows_of_one_id_wins_across_fragments(graph: Graph) -> None:
    records = [note(f"n{number % 3}", str(number)) for number in range(31)]
    with through_disk(graph):
        counts = load_sources(graph, "main", {"big": records}, LoadMode.MERGE)
    assert counts == {"node:Note": 3}
    assert sorted(json.loads(line)["data"]["text"] for line in lines(graph, "main")) == ["28", "29", "30"]
    report = graph.verify()
    assert report.is_clean, report.problems


def test_an_upsert_replaces_rows_in_every_fragment(graph: Graph) -> None:
    with through_disk(graph):
        load_sources(graph, "main", {"seed": [person(number) for number in range(100)]}, LoadMode.APPEND)
        load_sources(graph, "main", {"new": [person(number, 7) for number in range(0, 150, 3)]}, LoadMode.MERGE)
    ages = {data["name"]: data["age"] for data in (json.loads(line)["data"] for line in lines(graph, "main"))}
    assert ages == {f"p{n}": 7 if n % 3 == 0 else 0 for n in range(150) if n < 100 or n % 3 == 0}
    [change] = next(graph.commits()).tables
    assert (change.inserted, change.updated, change.deleted) == (16, 34, 0)
    assert graph.verify().is_clean


# --- others publish first ------------------------------------------------------------------------------


def publish_meanwhile(graph: Graph, records: list[dict[str, Any]]) -> Any:
    """Somebody else publishes after the load was staged for the first time."""
    stage = bulk_load.PreparedBulk.stage
    done: list[bool] = []

    def staged(self: bulk_load.PreparedBulk, *arguments: Any) -> Any:
        plan = stage(self, *arguments)
        if not done:
            done.append(True)
            open_graph(graph.uri, durability="os").load(records, "append")
        return plan

    return patch.object(bulk_load.PreparedBulk, "stage", staged)


def test_when_others_publish_first_the_same_fragments_are_staged_again(graph: Graph) -> None:
    with (
        through_disk(graph),
        publish_meanwhile(graph, [person(900), person(3, age=5)]),
        patch.object(bulk_fragments, "write_rows", wraps=staging.write_rows) as write,
    ):
        load_sources(graph, "main", {"big": [person(number, 1) for number in range(10)]}, LoadMode.MERGE)
    assert write.call_count == 5
    ages = {data["name"]: data["age"] for data in (json.loads(line)["data"] for line in lines(graph, "main"))}
    assert ages == {**{f"p{number}": 1 for number in range(10)}, "p900": 0}
    assert len(list(graph.commits())) == 3
    assert graph.verify().is_clean


def test_an_id_that_others_published_first_is_still_a_conflict(graph: Graph) -> None:
    with (
        through_disk(graph),
        publish_meanwhile(graph, [person(3)]),
        pytest.raises(KeyConflictError, match="big:4: Person 'p3' exists already"),
    ):
        load_sources(graph, "main", {"big": [person(number) for number in range(10)]}, LoadMode.APPEND)
    assert len(lines(graph, "main")) == 1
    assert graph.verify().is_clean


# --- files ---------------------------------------------------------------------------------------------


def test_several_files_are_one_commit_and_each_is_named_in_messages(graph: Graph, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text("".join(json.dumps(record) + "\n" for record in (knows(1, 2), person(1))))
    two.write_text("".join(json.dumps(record) + "\n" for record in (person(2), person(3))))
    result = graph.load([one, str(two)], "append")
    assert (result.nodes, result.edges) == ({"Person": 3}, {"Knows": 1})
    assert len(list(graph.commits())) == 2
    two.write_text(json.dumps(person(1)) + "\n")
    for limit in (1_000, 0):
        with (
            retuned(graph, buffered_rows_max=limit),
            pytest.raises(ViolationError, match=f"^{one}:2: Person 'p1' is given twice: again in {two}:1\n"),
        ):
            graph.load((one, two), "merge")
