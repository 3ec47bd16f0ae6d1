"""The change feed: every commit of a branch, in order, page by page, from where a reader says it stands."""

import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import omnigraph
from omnigraph.core import limits
from omnigraph.core.tuning import Tuning
from omnigraph.engine.history import commit_changes
from omnigraph.engine.history.feed import ChangePage
from omnigraph.errors import (
    ChangeFeedGap,
    CorruptionError,
    CursorRejected,
    HistoryCleaned,
    LimitExceeded,
    NotFoundError,
    UsageError,
)
from omnigraph.storage.tables.io_meter import IoMeter
from omnigraph.wire.changes import baseline_json, change_page_json, commit_changes_json
from tests.features.changes.histories import Step, applied, make_history, steps
from tests.promises.model import plain
from tests.promises.protocol.graphs import create, edge, insert, person, reopen, run
from tests.support.tuning import tuned

BLOBS = "node Doc { name: String @key\n born: Date?\n at: DateTime?\n x: F64?\n body: Blob? }"


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    made = create(tmp_path)
    made.load([person("ann", age=3), person("bo"), edge("Knows", "ann", "bo", "k")], actor="ann", message="first")
    run(made, 'update Person set {age: 4} where name = "ann"')
    made.optimize(index=False)
    run(made, 'delete Person where name = "bo"')
    return made


def changes_of(page: ChangePage) -> list[list[tuple[str, str, str]]]:
    return [[(change.op.value, change.type_name, change.id) for change in block] for block in page]


FIRST = [("insert", "Person", "ann"), ("insert", "Person", "bo"), ("insert", "Knows", "k")]
LAST = [("delete", "Person", "bo"), ("delete", "Knows", "k")]


def pages(graph: omnigraph.Graph, since: str = "beginning", **options: Any) -> list[ChangePage]:
    """All pages from a place on."""
    found = [graph.changes(since, **options)]
    while not found[-1].caught_up:
        found.append(graph.changes(found[-1].cursor, **options))
        assert len(found) < 1_000
    return found


def test_every_commit_comes_once_in_order_with_its_cause(graph: omnigraph.Graph) -> None:
    page = graph.changes("beginning")
    commits = [commit.id for commit in graph.commits()][::-1]
    assert [block.commit.id for block in page] == commits[1:]
    assert changes_of(page) == [FIRST, [("update", "Person", "ann")], [], LAST]
    assert page.blocks[2].commit.kind.value == "maintenance"
    assert (page.caught_up, page.is_partial, len(page)) == (True, False, 6)
    shown = change_page_json(page)
    assert shown["blocks"][0]["cause"] == {
        "graph_commit_id": commits[1],
        "parent_commit_id": commits[0],
        "authored_branch": "main",
        "actor_id": "ann",
        "authored_at": page.blocks[0].commit.created_at_us,
        "kind": "load",
        "message": "first",
    }
    assert shown["blocks"][3]["changes"][1] == {
        "kind": "edge",
        "type": {"id": page.blocks[3].changes[1].type_id, "name": "Knows"},
        "id": "k",
        "op": "delete",
        "before": {"properties": {"since": None}, "endpoints": {"from": "ann", "to": "bo"}},
    }
    assert (shown["cursor"], shown["caught_up"]) == (page.cursor, True)


def test_a_reader_goes_on_where_it_stopped(graph: omnigraph.Graph) -> None:
    start = graph.changes()
    assert (start.blocks, start.caught_up) == ((), True)
    insert(graph, "cy")
    page = reopen(graph).changes(start.cursor)
    assert changes_of(page) == [[("insert", "Person", "cy")]]
    assert changes_of(graph.changes(start.cursor)) == changes_of(page)
    assert changes_of(graph.changes(page.cursor)) == []
    assert changes_of(graph.changes(f"after:{page.blocks[0].commit.parents[0]}")) == changes_of(page)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_cut_commits_and_lose_nothing(graph: omnigraph.Graph, limit: int) -> None:
    whole = [(block.commit.id, change) for block in graph.changes("beginning") for change in block]
    found = pages(graph, limit=limit)
    assert [(block.commit.id, change) for page in found for block in page for change in block] == whole
    assert all(len(page) <= limit for page in found)
    for page in found:
        assert ("next_page_token" in change_page_json(page)) == page.is_partial
        assert ("cursor" in change_page_json(page)) != page.is_partial


def test_reading_on_within_a_commit_does_not_compare_it_again(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load([person(f"p{n}") for n in range(20)])
    compared = []
    real = commit_changes.diff_rows
    monkeypatch.setattr(commit_changes, "diff_rows", lambda *args: compared.append(args) or real(*args))
    found = pages(graph, limit=6)
    assert sum(map(len, found)) == 26
    assert len(compared) == 4


def test_a_page_ends_by_bytes_and_by_commits_too(tmp_path: Path) -> None:
    graph = create(tmp_path, BLOBS)
    bodies = dict.fromkeys("abc", "base64:" + "QUJD" * 100000)
    graph.load([{"type": "Doc", "data": {"name": name, "body": body}} for name, body in bodies.items()])
    graph = tuned(graph, feed_page_bytes=100_000)
    found = pages(graph)
    assert [[change.id for change in page.changes()] for page in found] == [["a"], ["b"], ["c"]]
    graph = tuned(graph, feed_page_commits=2)
    for number in range(5):
        run(graph, f'insert Doc {{name: "d{number}"}}')
    more = pages(graph, found[-1].cursor)
    assert [len(page.blocks) for page in more] == [2, 2, 1]


def test_values_are_those_of_exports_and_load_again(tmp_path: Path) -> None:
    graph = create(tmp_path, BLOBS)
    data = {"name": "a", "born": "2020-02-29", "at": "2020-01-01T00:00:00.5Z", "x": 0.1, "body": "base64:QUJD"}
    graph.load([{"type": "Doc", "data": data}, {"type": "Doc", "data": {"name": "b"}}])
    images = {
        change.id: dict(change.after.properties) for change in graph.changes("beginning").changes() if change.after
    }
    exported = [json.loads(line)["data"] for line in b"".join(graph.export()).splitlines()]
    assert images == {row.pop("id"): row for row in exported}
    assert (images["a"]["born"], images["a"]["body"]) == (18321, "base64:QUJD")


def test_filters_are_part_of_the_cursor(graph: omnigraph.Graph) -> None:
    page = graph.changes("beginning", kind="edge")
    assert changes_of(page) == [[("insert", "Knows", "k")], [], [], [("delete", "Knows", "k")]]
    assert changes_of(graph.changes("beginning", type="Person", op=["insert", "update", "delete"]))[3] == LAST[:1]
    with pytest.raises(CursorRejected, match="another filter"):
        graph.changes(page.cursor)
    assert graph.changes(page.cursor, kind=["edge"]).caught_up
    with pytest.raises(NotFoundError, match="no type 'Knws'"):
        graph.changes("beginning", type="Knws")


def test_a_cursor_is_refused_wherever_it_was_not_made_for(graph: omnigraph.Graph, tmp_path: Path) -> None:
    cursor = graph.changes().cursor
    graph.create_branch("b")
    other = create(tmp_path / "other", ids=None)
    with pytest.raises(CursorRejected, match="change cursor rejected: it belongs to another branch"):
        graph.changes(cursor, branch="b")
    with pytest.raises(CursorRejected, match="another graph"):
        other.changes(cursor)
    on_b = graph.changes(branch="b").cursor
    graph.delete_branch("b")
    graph.create_branch("b")
    with pytest.raises(CursorRejected, match="earlier branch of this name"):
        graph.changes(on_b, branch="b")
    wrong = [cursor[:-1], cursor + "A", "x" + cursor[1:], "nonsense", "", "ü", "A" * 5_000, "after:nothing"]
    for text in wrong:
        with pytest.raises(CursorRejected, match="change cursor rejected"):
            graph.changes(text)
    token = graph.commit_changes(graph.changes("beginning").blocks[0].commit.id, limit=1).next_page_token
    assert token is not None
    with pytest.raises(CursorRejected, match="another branch or commit"):
        graph.changes(token)


def test_a_cursor_survives_the_rename_of_its_branch(graph: omnigraph.Graph) -> None:
    graph.create_branch("b")
    cursor = graph.changes(branch="b").cursor
    graph.rename_branch("b", "c")
    insert(graph, "cy", branch="c")
    assert changes_of(graph.changes(cursor, branch="c")) == [[("insert", "Person", "cy")]]


def test_limits_are_refused_with_what_is_allowed(graph: omnigraph.Graph) -> None:
    with pytest.raises(UsageError, match="at least one"):
        graph.changes(limit=0)
    with pytest.raises(LimitExceeded, match="at most 8,192") as raised:
        graph.changes(limit=limits.FEED_CHANGES_PER_PAGE_MAX + 1)
    assert raised.value.facts["limit"] == 8_192


def test_a_branch_tells_what_it_inherited_and_what_is_its_own(graph: omnigraph.Graph) -> None:
    graph.create_branch("b")
    insert(graph, "cy", branch="b")
    insert(graph, "dee")
    assert changes_of(graph.changes("beginning", branch="b"))[-2:] == [LAST, [("insert", "Person", "cy")]]


def test_cleaned_history_is_a_gap_and_a_baseline_leads_on(graph: omnigraph.Graph) -> None:
    blocks = graph.changes("beginning").blocks
    within = graph.changes("beginning", limit=1)
    assert within.is_partial
    graph.cleanup(keep=2)
    cleaned = reopen(graph)
    for since, cursor in (("beginning", None), (within.cursor, within.cursor)):
        with pytest.raises(ChangeFeedGap, match="are no longer available") as raised:
            cleaned.changes(since)
        assert raised.value.facts == {"cursor": cursor, "first_unreadable_commit_id": blocks[0].commit.id}
    assert changes_of(cleaned.changes(f"after:{blocks[2].commit.id}")) == [LAST]
    baseline = cleaned.change_baseline()
    assert baseline_json(baseline)["baseline"]["snapshot_commit_id"] == graph.snapshot().commit_id
    assert b"".join(baseline.lines()) == b"".join(graph.export())
    insert(cleaned, "cy")
    assert changes_of(cleaned.changes(baseline.cursor)) == [[("insert", "Person", "cy")]]


def test_a_page_ends_before_a_gap(graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    third = insert(graph, "cy").commit
    start = graph.changes("beginning").blocks[2].commit.id
    real = graph._manifests.at

    def at(commit: Any) -> Any:
        if commit.id == third.id:
            raise HistoryCleaned("gone", commit=commit.id)
        return real(commit)

    monkeypatch.setattr(graph._manifests, "at", at)
    page = graph.changes(f"after:{start}")
    assert (changes_of(page), page.caught_up) == ([LAST], False)
    with pytest.raises(ChangeFeedGap) as raised:
        graph.changes(page.cursor)
    assert raised.value.facts["first_unreadable_commit_id"] == third.id


def test_damage_is_not_told_as_a_gap(graph: omnigraph.Graph) -> None:
    place = graph.commit(graph.changes("beginning").blocks[0].commit.id).manifest
    path = Path(graph.uri.removeprefix("file://")) / graph._manifests.location(place.incarnation)
    (path / "_versions" / f"{2**64 - 1 - place.version:020d}.manifest").unlink()
    with pytest.raises(CorruptionError):
        reopen(graph).changes("beginning")


def test_a_baseline_is_filtered_like_its_cursor(graph: omnigraph.Graph) -> None:
    graph.load([edge("Knows", "ann", "ann", "self")])
    baseline = graph.change_baseline(kind="edge", op="insert")
    assert [json.loads(line)["edge"] for line in b"".join(baseline.lines()).splitlines()] == ["Knows"]
    run(graph, 'delete Knows where from = "ann"')
    assert changes_of(graph.changes(baseline.cursor, kind="edge", op="insert")) == [[]]


def test_one_commit_tells_its_changes_page_by_page(graph: omnigraph.Graph) -> None:
    commits = [commit.id for commit in graph.commits()][::-1]
    page = graph.commit_changes(commits[1], limit=2)
    assert [change.id for change in page] == ["ann", "bo"]
    last = graph.commit_changes(commits[1], limit=2, page_token=page.next_page_token)
    assert ([change.id for change in last], last.next_page_token) == (["k"], None)
    assert "next_page_token" not in commit_changes_json(last)
    assert len(graph.commit_changes(commits[0])) == len(graph.commit_changes(commits[3])) == 0
    with pytest.raises(CursorRejected):
        graph.commit_changes(commits[2], page_token=page.next_page_token)
    with pytest.raises(NotFoundError, match="no commit 'nowhere'"):
        graph.commit_changes("nowhere")


def test_a_long_history_is_told_from_the_log(tmp_path: Path) -> None:
    graph = create(tmp_path)
    for number in range(150):
        insert(graph, f"p{number}")
    found = pages(reopen(graph))
    assert [len(page.blocks) for page in found] == [128, 22]
    assert [change.id for page in found for change in page.changes()] == [f"p{number}" for number in range(150)]


def test_a_poll_reads_by_the_change_and_not_by_the_table(tmp_path: Path) -> None:
    tuning = Tuning(fold_tiers=((1, 1),))
    read = []
    for rows in (5_000, 50_000):
        made = create(tmp_path / str(rows), "node Item { name: String @key\n rank: I64? }", tuning=tuning)
        names = pa.array([f"i{n}" for n in range(rows)])
        made.load(pa.table({"name": names, "rank": pa.array(range(rows))}), type_name="Item")
        cursor = made.changes().cursor
        run(made, 'update Item set {rank: -7} where name = "i77"')
        graph = reopen(made)
        graph.snapshot()
        meter = IoMeter(graph._store)
        assert changes_of(graph.changes(cursor)) == [[("update", "Item", "i77")]]
        read.append(meter.read())
    assert read[1][0] <= read[0][0] + 2
    assert read[1][1] <= 2 * read[0][1]


@settings(max_examples=12)
@given(planned=steps)
def test_replaying_the_feed_from_the_beginning_gives_the_state_at_every_commit(planned: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as place:
        history = make_history(Path(place), planned)
        for branch, tables in history.heads.items():
            state = plain.empty()
            replayed = {block.commit.id: block for block in history.graph.changes("beginning", branch=branch)}
            for commit_id, block in replayed.items():
                state = applied(state, block)
                assert state == history.states[commit_id]
            assert state == tables
            again = [change for page in pages(history.graph, limit=2, branch=branch) for change in page.changes()]
            assert again == [change for block in replayed.values() for change in block]
            for block in replayed.values():
                order = [(change.kind != "node", change.type_id, change.id) for change in block]
                assert all(left < right for left, right in pairwise(order))
