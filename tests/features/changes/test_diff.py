"""The difference of any two moments of a graph."""

import itertools
import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.history.changes import read_filter
from omnigraph.storage.tables.io_meter import IoMeter
from omnigraph.wire.changes import diff_json
from tests.features.changes.histories import Step, applied, make_history, steps
from tests.promises.protocol.graphs import START_US, create, edge, person, reopen, run

TYPED = """
node Doc { name: String @key
    born: Date?
    days: [Date]?
    at: DateTime?
    x: F64?
    v: Vector(2)?
    body: Blob? }
edge Cites: Doc -> Doc { weight: F32? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    """``main`` with three people, and the branch ``b`` with one change of each kind on top."""
    made = create(tmp_path)
    made.load([person("ann", age=3), person("bo", age=4), person("cy"), edge("Knows", "ann", "bo", "k")])
    made.create_branch("b")
    run(made, 'update Person set {age: 5} where name = "bo"', branch="b")
    run(made, 'insert Person {name: "dee"} delete Person where name = "ann"', branch="b")
    return made


def changes_of(diff: Any) -> list[tuple[str, str, str]]:
    return [(change.op.value, change.type_name, change.id) for change in diff.changes()]


FORTH = [
    ("delete", "Person", "ann"),
    ("update", "Person", "bo"),
    ("insert", "Person", "dee"),
    ("delete", "Knows", "k"),
]


def test_two_branches_differ_by_counts_and_changes_with_both_images(graph: omnigraph.Graph) -> None:
    diff = graph.diff("main", "b")
    assert changes_of(diff) == FORTH
    assert {key: str(counts) for key, counts in diff.counts.items()} == {"node:Person": "+1 ~1 -1", "edge:Knows": "-1"}
    assert (len(diff), diff.total.deleted, bool(diff)) == (4, 2, True)
    update = next(change for change in diff["Person"] if change.op.value == "update")
    assert update.changed == ("age",)
    assert update.before is not None
    assert update.after is not None
    assert (update.before.properties["age"], update.after.properties["age"]) == (4, 5)
    gone = next(iter(diff["edge:Knows"]))
    assert gone.before is not None
    assert (gone.before.source, gone.before.target, gone.after) == ("ann", "bo", None)


def test_the_way_back_is_the_inverse(graph: omnigraph.Graph) -> None:
    inverse = {"insert": "delete", "delete": "insert", "update": "update"}
    assert changes_of(graph.diff("b", "main")) == [(inverse[op], name, id_) for op, name, id_ in FORTH]


def test_moments_are_branches_commits_times_and_snapshots(graph: omnigraph.Graph) -> None:
    first, second = [commit.id for commit in graph.commits("b")][1::-1]
    assert changes_of(graph.diff(first, second)) == [item for item in FORTH if item[0] != "update"]
    assert changes_of(graph.diff(graph.snapshot("main"), graph.snapshot("b"))) == FORTH
    early = datetime.fromtimestamp(START_US / 1_000_000 + 1.5, UTC)
    assert [op for op, _, _ in changes_of(graph.diff(early))] == ["insert"] * 4
    assert not graph.diff("b", second)
    with pytest.raises(NotFoundError, match="no branch and no commit 'nowhere'"):
        graph.diff("main", "nowhere")
    with pytest.raises(UsageError, match="'~1' is no moment"):
        graph.diff("main", "~1")


def test_a_snapshot_of_another_graph_is_refused(graph: omnigraph.Graph, tmp_path: Path) -> None:
    other = create(tmp_path / "other").snapshot()
    for moments in (("main", other), (other, "main"), (other, other)):
        with pytest.raises(UsageError, match="which is not this graph"):
            graph.diff(*moments)
    assert not reopen(graph).diff(graph.snapshot(), "main")


def test_filters_choose_kinds_types_and_operations(graph: omnigraph.Graph) -> None:
    assert changes_of(graph.diff("main", "b", kind="edge")) == FORTH[3:]
    assert changes_of(graph.diff("main", "b", type=["Knows", "Person"], op="delete")) == [FORTH[0], FORTH[3]]
    assert changes_of(graph.diff("main", "b", type="Note")) == []
    assert list(graph.diff("main", "b").changes(2)) == list(graph.diff("main", "b").changes())[:2]
    with pytest.raises(UsageError, match="unknown operation of a change: 'upsert'"):
        graph.diff("main", "b", op="upsert")
    with pytest.raises(UsageError, match="unknown kind of entity: 'table'"):
        graph.diff("main", "b", kind="table")
    with pytest.raises(NotFoundError, match="no type 'Persn'") as raised:
        graph.diff("main", "b", type="Persn")
    assert raised.value.hint is not None
    assert "Person" in raised.value.hint


def test_filters_that_want_the_same_have_the_same_digest() -> None:
    assert read_filter(kind=["edge", "node"], op=["insert", "update", "delete"]).digest == read_filter().digest
    assert read_filter(type=["A", "B"]).digest == read_filter(type=["B", "A"]).digest
    assert read_filter(type="A").digest != read_filter().digest


def test_a_diff_is_readable_and_goes_to_arrow_and_pandas(graph: omnigraph.Graph) -> None:
    diff = graph.diff("main", "b")
    lines = repr(diff).splitlines()
    assert lines[0].endswith(": +1 ~1 -2>")
    assert [line.strip() for line in lines[1:]] == [
        "node:Person: +1 ~1 -1",
        "edge:Knows: -1",
        "- node Person ann",
        "~ node Person bo  age: 4 -> 5",
        '+ node Person dee  name: "dee"',
        "- edge Knows k (ann -> bo)",
    ]
    flat = diff.to_arrow()
    assert flat.column("op").to_pylist() == [op for op, _, _ in FORTH]
    assert json.loads(flat.column("after")[1].as_py())["properties"]["age"] == 5
    assert diff.to_pandas(2).id.tolist() == ["ann", "bo"]
    typed = diff["Person"].to_arrow()
    assert typed.column("before").to_pylist()[2] is None
    assert typed.column("after").combine_chunks().field("age").to_pylist() == [None, 5, None]
    shown = diff_json(diff, 1)
    assert shown["stats"] == {"inserts": 1, "updates": 1, "deletes": 2, "types_affected": 2}
    assert (len(shown["changes"]), shown["truncated"]) == (1, True)
    assert "changes" not in diff_json(diff, summary=True)
    shown_html = diff._repr_html_()
    assert "node:Person" in shown_html
    assert "age: 4 -&gt; 5" in shown_html


def test_values_are_shown_readably_and_blobs_by_their_size(tmp_path: Path) -> None:
    graph = create(tmp_path, TYPED)
    data = {"name": "a", "born": "2020-02-29", "days": ["1969-12-31"], "at": "2020-01-01T00:00:00.5Z", "v": [1, 0.5]}
    start = graph.snapshot()
    graph.load([{"type": "Doc", "data": {**data, "body": "base64:QUJD"}}])
    (change,) = graph.diff(start).changes()
    assert change.after is not None
    assert change.after.properties == {
        "name": "a",
        "born": "2020-02-29",
        "days": ["1969-12-31"],
        "at": "2020-01-01T00:00:00.500Z",
        "x": None,
        "v": [1.0, 0.5],
        "body": {"size": 3},
    }
    table = graph.diff(start)["Doc"].to_arrow()
    assert table.schema.field("after").type.field("body").type == pa.struct([pa.field("size", pa.uint64())])


def test_compaction_is_no_difference(graph: omnigraph.Graph) -> None:
    before = graph.snapshot("b")
    graph.optimize("b", index=False)
    assert not graph.diff(before, "b")


@settings(max_examples=12)
@given(planned=steps)
def test_a_diff_applied_to_its_first_side_gives_the_second(planned: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as place:
        history = make_history(Path(place), planned)
        commits = sorted(history.states)
        pairs = [*itertools.pairwise(commits), (commits[-1], commits[0]), (commits[len(commits) // 2],) * 2]
        for before, after in pairs:
            changes = history.graph.diff(before, after).changes()
            assert applied(history.states[before], changes) == history.states[after]
        for name, tables in history.heads.items():
            assert applied(history.heads["main"], history.graph.diff("main", name).changes()) == tables


def test_what_a_diff_reads_follows_the_change_and_not_the_table(tmp_path: Path) -> None:
    tuning = Tuning(fold_tiers=((1, 1),))
    read: list[tuple[int, int]] = []
    for rows in (20_000, 80_000):
        made = create(tmp_path / str(rows), "node Item { name: String @key\n rank: I64? }", tuning=tuning)
        names = pa.array([f"i{n}" for n in range(rows)])
        made.load(pa.table({"name": names, "rank": pa.array(range(rows))}), type_name="Item")
        made.create_branch("b")
        made.load([{"type": "Item", "data": {"name": f"i{n}", "rank": -1}} for n in range(0, 1000, 10)], branch="b")
        graph = reopen(made)
        graph.snapshot(), graph.snapshot("b")
        meter = IoMeter(graph._store)
        assert str(graph.diff("main", "b").total) == "~100"
        read.append(meter.read())
    assert read[1][0] <= read[0][0] + 2
    assert read[1][1] <= 2 * read[0][1]
