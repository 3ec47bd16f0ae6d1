"""Undoing commits on top of the head: what others changed later stays, or is a conflict."""

import random
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import omnigraph
from omnigraph.core.commit import CommitKind
from omnigraph.engine.history.moments import Moments
from omnigraph.errors import MergeConflicts, NotFoundError, PreconditionFailed, UsageError
from omnigraph.storage.tables.io_meter import IoMeter
from omnigraph.wire.merges import revert_preview_json
from tests.features.changes.histories import Step, make_history, steps
from tests.features.cli.graphs import everything
from tests.promises.model.operations import parse
from tests.promises.protocol.graphs import contents, create, edge, insert, names, person, reopen, run

COUNTER = "node Item { name: String @key\n hits: I64? @merge(sum)\n note: String?\n rank: I64? }"


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    made = create(tmp_path)
    made.load([person("ann", age=3), person("bo", age=4), edge("Knows", "ann", "bo", "k")])
    return made


def last(graph: omnigraph.Graph) -> str:
    return graph.snapshot().commit_id


def test_the_last_commit_is_undone_and_the_revert_too(graph: omnigraph.Graph) -> None:
    before = contents(graph)
    run(graph, 'delete Person where name = "bo" insert Person {name: "cy", age: 1}', actor="bot")
    after, undone = contents(graph), last(graph)
    result = graph.revert(undone, by="ann")
    assert contents(graph) == before
    assert result.commit is not None
    assert (result.commit.kind, result.commit.actor, result.reverted) == (CommitKind.REVERT, "ann", (undone,))
    assert result.commit.parents == (undone,)
    assert result.commit.message == f"revert {undone}"
    assert result.commit.provenance == {"reverts": undone}
    assert {item.key: (item.inserted, item.updated, item.deleted) for item in result.tables} == {
        "edge:Knows": (1, 0, 0),
        "node:Person": (1, 0, 1),
    }
    graph.revert(result.commit.id)
    assert contents(graph) == after
    assert graph.verify().is_clean


def test_undoing_the_last_commit_reads_and_writes_no_row(tmp_path: Path) -> None:
    made = create(tmp_path)
    made.load([person(f"p{number}") for number in range(5_000)])
    before = made.snapshot().state.tables["node:Person"]
    run(made, 'update Person set {age: 1} where name != ""')
    graph = reopen(made)
    graph.snapshot()
    data = set((Path(graph.uri.removeprefix("file://")) / before.location / "data").iterdir())
    meter = IoMeter(graph._store)
    graph.revert(last(graph))
    assert meter.read()[1] < 200_000
    assert set((Path(graph.uri.removeprefix("file://")) / before.location / "data").iterdir()) == data
    assert graph.snapshot().state.tables["node:Person"].lance_version == before.lance_version


def test_later_edits_by_others_survive(graph: omnigraph.Graph) -> None:
    run(graph, 'update Person set {age: 9} where name = "ann" insert Person {name: "cy"}', actor="bot")
    undone = last(graph)
    run(graph, 'update Person set {email: "a@"} where name = "ann" insert Person {name: "dee"}', actor="bo")
    result = graph.revert(undone)
    assert result.commit is not None
    assert names(graph) == ["ann", "bo", "dee"]
    assert contents(graph)["Person"][0] == {"name": "ann", "age": 3, "email": "a@"}


def test_an_edit_on_top_of_the_undone_one_is_a_conflict_that_is_previewed_and_settled(graph: omnigraph.Graph) -> None:
    run(graph, 'update Person set {age: 9} where name = "ann"')
    undone = last(graph)
    run(graph, 'update Person set {age: 10} where name = "ann"')
    head = last(graph)
    preview = graph.revert_preview(undone)
    assert (preview.outcome, preview.head, preview.reverted) == ("conflicts", head, (undone,))
    (conflict,) = preview.conflicts
    assert (conflict.kind.value, conflict.id, conflict.property) == ("divergent_update", "ann", "age")
    assert (conflict.base, conflict.source, conflict.target) == (9, 3, 10)
    assert preview.conflicts_table().num_rows == len(revert_preview_json(preview)["merge_conflicts"]) == 1
    with pytest.raises(MergeConflicts, match="the commit cannot be reverted on main: 1 conflict; nothing was changed"):
        graph.revert(undone)
    assert last(graph) == head
    graph.revert(undone, resolutions=[{"type": "Person", "take": "source"}])
    assert {"name": "ann", "age": 3} in contents(graph)["Person"]


def test_an_edge_to_an_undone_node_is_a_conflict(graph: omnigraph.Graph) -> None:
    insert(graph, "cy", actor="bot")
    undone = last(graph)
    graph.load([edge("Knows", "ann", "cy", "late")])
    preview = graph.revert_preview(undone)
    assert [(item.kind.value, item.id) for item in preview.conflicts] == [("orphan_edge", "late")]


def test_sums_are_undone_by_their_delta(tmp_path: Path) -> None:
    graph = create(tmp_path, COUNTER)
    graph.load([{"type": "Item", "data": {"name": "a", "hits": 7}}])
    run(graph, 'update Item set {hits: 10} where name = "a"')
    undone = last(graph)
    run(graph, 'update Item set {hits: 15} where name = "a"')
    graph.revert(undone)
    assert contents(graph)["Item"] == [{"name": "a", "hits": 12}]


def test_ranges_go_from_after_one_commit_to_another(graph: omnigraph.Graph) -> None:
    start = last(graph)
    ids = [insert(graph, name).commit.id for name in ("cy", "dee", "eve", "fay")]
    result = graph.revert(f"{ids[0]}..{ids[2]}")
    assert result.reverted == (ids[2], ids[1])
    assert names(graph) == ["ann", "bo", "cy", "fay"]
    assert graph.revert_preview(f"{ids[2]}..").reverted[1:] == (ids[3],)
    assert graph.revert_preview(f"{start}..{ids[0]}").reverted == (ids[0],)
    with pytest.raises(NotFoundError, match="is no range of commits of main"):
        graph.revert(f"{ids[2]}..{ids[0]}")
    for wrong in (f"nothing..{ids[0]}", f"{ids[0]}..nothing"):
        with pytest.raises(NotFoundError, match="no commit 'nothing'"):
            graph.revert(wrong)


def test_commits_are_chosen_by_actor_run_and_time_and_undone_as_one(graph: omnigraph.Graph) -> None:
    before = contents(graph)
    run(graph, 'insert Person {name: "x1", age: 1}', actor="bot", provenance={"run": "1"})
    insert(graph, "cy", actor="ann")
    run(graph, 'update Person set {age: 2} where name = "x1"', actor="bot", provenance={"run": "2"})
    insert(graph, "dee", actor="ann")
    run(graph, 'update Person set {age: 8} where name = "bo"', actor="bot", provenance={"run": "2"})
    graph.optimize(index=False)
    run(graph, 'insert Knows {from: "x1", to: "x1"}', actor="bot", provenance={"run": "2"})
    commits = len(list(graph.commits()))
    files = everything(Path(graph.uri.removeprefix("file://")))
    preview = graph.revert_preview(actor="bot")
    left = set(everything(Path(graph.uri.removeprefix("file://")))) - set(files)
    assert not [path for path in left if not path.endswith(".txn")]
    result = graph.revert(actor="bot", by="ann")
    assert result.tables == preview.tables
    assert len(result.reverted) == 4
    assert len(list(graph.commits())) == commits + 1
    assert {item.key: (item.inserted, item.updated, item.deleted) for item in result.tables} == {
        "edge:Knows": (0, 0, 1),
        "node:Person": (0, 1, 1),
    }
    expected = sorted([*before["Person"], {"name": "cy"}, {"name": "dee"}], key=lambda row: row["name"])
    assert sorted(contents(graph)["Person"], key=lambda row: row["name"]) == expected
    assert result.commit is not None
    assert [(item.key, item.inserted, item.updated, item.deleted) for item in result.commit.tables] == [
        ("edge:Knows", 0, 0, 1),
        ("node:Person", 0, 1, 1),
    ]
    assert graph.verify().is_clean
    with pytest.raises(NotFoundError, match="no commit to revert: actor bot"):
        graph.revert(actor="bot")
    graph.revert(result.commit.id)
    assert len(graph.revert_preview(actor="bot").reverted) == 4


def test_a_run_is_named_by_the_provenance(graph: omnigraph.Graph) -> None:
    insert(graph, "x1", provenance={"run": "1"}, actor="bot")
    insert(graph, "x2", provenance={"run": "2"}, actor="bot")
    graph.revert(run="1", actor="bot")
    assert names(graph) == ["ann", "bo", "x2"]


def test_times_choose_commits(graph: omnigraph.Graph) -> None:
    commits = [insert(graph, name).commit for name in ("cy", "dee", "eve")]
    times = [f"{when}" for when in (_text(commit.created_at_us) for commit in commits)]
    assert graph.revert_preview(since=times[1]).reverted == (commits[2].id, commits[1].id)
    assert graph.revert_preview(since=times[1], until=times[1]).reverted == (commits[1].id,)
    graph.revert(until=times[0], since=times[0])
    assert names(graph) == ["ann", "bo", "dee", "eve"]
    with pytest.raises(UsageError, match="is no time"):
        graph.revert(since="someday")


def _text(microseconds: int) -> str:
    from omnigraph.core.temporal import format_datetime

    return format_datetime(microseconds // 1000)


def test_a_commit_that_a_merge_brought_can_be_undone_and_the_merge_as_a_whole(graph: omnigraph.Graph) -> None:
    graph.create_branch("b")
    first = insert(graph, "cy", branch="b").commit.id
    insert(graph, "dee", branch="b")
    insert(graph, "eve")
    graph.merge("b")
    merged = last(graph)
    graph.revert(first)
    assert names(graph) == ["ann", "bo", "dee", "eve"]
    graph.revert(merged)
    assert names(graph) == ["ann", "bo", "eve"]


def test_an_actors_commits_are_found_on_branches_that_were_merged(graph: omnigraph.Graph) -> None:
    graph.create_branch("b")
    insert(graph, "x1", branch="b", actor="bot")
    insert(graph, "cy", branch="b", actor="ann")
    insert(graph, "eve", actor="bo")
    # Bringing the branch up to date is no work of the bot's that could be undone.
    graph.merge("main", "b", actor="bot")
    run(graph, 'update Person set {age: 9} where name = "ann"', branch="b", actor="bot", provenance={"run": "7"})
    graph.merge("b", actor="ann")
    merged = last(graph)
    assert names(graph) == ["ann", "bo", "cy", "eve", "x1"]
    assert len(graph.revert_preview(run="7").reverted) == 1
    result = graph.revert(actor="bot")
    assert len(result.reverted) == 2
    assert names(graph) == ["ann", "bo", "cy", "eve"]
    assert {"name": "ann", "age": 3} in contents(graph)["Person"]
    with pytest.raises(NotFoundError, match="no commit to revert: actor bot"):
        graph.revert(actor="bot")
    # What goes away with a merge is not undone a second time, and not again when the merge was undone.
    assert graph.revert_preview(actor="ann").reverted == (merged,)
    graph.revert(merged)
    assert names(graph) == ["ann", "bo", "eve"]
    with pytest.raises(NotFoundError, match="no commit to revert: actor ann"):
        graph.revert(actor="ann")
    assert graph.verify().is_clean


def test_what_was_undone_with_its_merge_comes_back_by_undoing_that(graph: omnigraph.Graph) -> None:
    graph.create_branch("b")
    run(graph, 'update Person set {age: 9} where name = "ann" insert Person {name: "cy"}', branch="b")
    insert(graph, "dee")
    graph.merge("b")
    undo = graph.revert(last(graph)).commit
    assert undo is not None
    assert names(graph) == ["ann", "bo", "dee"]
    # The branch's commits are part of the history: merging it again brings nothing.
    assert graph.merge("b").outcome.value == "already_up_to_date"
    insert(graph, "eve", branch="b")
    graph.merge("b")
    assert names(graph) == ["ann", "bo", "dee", "eve"]
    graph.revert(undo.id)
    assert names(graph) == ["ann", "bo", "cy", "dee", "eve"]
    assert {"name": "ann", "age": 9} in contents(graph)["Person"]


@pytest.mark.parametrize("seed", range(1, 5))
def test_undoing_an_actor_leaves_the_others_on_whatever_branches_they_wrote(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    graph = create(tmp_path, COUNTER)
    actors = ("ann", "bo", "cy")
    graph.load([{"type": "Item", "data": {"name": f"{actor}1", "hits": 10}} for actor in actors])
    branches = ["main", "x", "y"]
    for name in branches[1:]:
        graph.create_branch(name)

    def items() -> dict[str, list[Any]]:
        rows = contents(graph)["Item"]
        return {actor: sorted(map(str, (row for row in rows if row["name"][:-1] == actor))) for actor in actors}

    start = items()
    for _ in range(14):
        branch, actor = chance.choice(branches), chance.choice(actors)
        name = f"{actor}{chance.randrange(3)}"
        if chance.random() < 0.4:
            with suppress(MergeConflicts):
                graph.merge(chance.choice([other for other in branches if other != branch]), branch, actor="lead")
        elif chance.random() < 0.2:
            run(graph, f'delete Item where name = "{name}"', branch=branch, actor=actor)
        else:
            item = {"name": name, "hits": chance.randrange(20), "rank": chance.randrange(2)}
            graph.load([{"type": "Item", "data": item}], branch=branch, actor=actor)
    for other in branches[1:]:
        with suppress(MergeConflicts):
            graph.merge(other, actor="lead")
    before = items()
    graph.revert(actor="ann")
    assert items() == before | {"ann": start["ann"]}
    assert graph.verify().is_clean


def test_what_cannot_be_undone_is_said(graph: omnigraph.Graph) -> None:
    first = [commit.id for commit in graph.commits()][-1]
    head = last(graph)
    with pytest.raises(UsageError, match="what is to be reverted"):
        graph.revert()
    with pytest.raises(UsageError, match="is the first commit of the graph"):
        graph.revert(first)
    with pytest.raises(NotFoundError, match="no branch and no commit 'nowhere'"):
        graph.revert("nowhere")
    with pytest.raises(NotFoundError, match="main has no commit to revert: actor nobody"):
        graph.revert(actor="nobody")
    graph.create_branch("b")
    elsewhere = insert(graph, "cy", branch="b").commit.id
    with pytest.raises(NotFoundError, match="main has no commit"):
        graph.revert(elsewhere)
    with pytest.raises(PreconditionFailed):
        graph.revert(head, if_commit=first)
    assert last(graph) == head


def test_a_repeated_key_reverts_once(graph: omnigraph.Graph) -> None:
    undone = insert(graph, "cy").commit.id
    first = graph.revert(undone, idempotency_key="once")
    insert(graph, "cy")
    again = graph.revert(undone, idempotency_key="once")
    assert first.commit is not None
    assert again.commit is not None
    assert (again.commit.id, again.reverted) == (first.commit.id, (undone,))
    assert "cy" in names(graph)


@pytest.mark.parametrize("verb", ["revert", "revert_preview"])
def test_a_commit_that_lands_while_names_are_resolved_is_the_head(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    other, resolve = reopen(graph), Moments.commit

    def late(moments: Moments, *said: Any) -> Any:
        if "cy" not in names(other):
            insert(other, "cy")
        return resolve(moments, *said)

    monkeypatch.setattr(Moments, "commit", late)
    done = getattr(graph, verb)("HEAD")
    landed = [commit.id for commit in graph.commits() if commit.kind is CommitKind.MUTATION]
    assert done.reverted == tuple(landed)


def test_a_revert_on_a_stale_handle_is_decided_on_the_newest_head(graph: omnigraph.Graph) -> None:
    undone = insert(graph, "cy").commit.id
    other = reopen(graph)
    other.snapshot()
    insert(graph, "dee")
    other.revert(undone)
    assert names(graph) == ["ann", "bo", "dee"]


def _is_undone(history: Any, commits: list[str], number: int) -> None:
    """Undoing a commit whose later ones touched other entities leaves exactly those."""
    graph = history.graph
    before, after = history.states[commits[number - 1]], history.states[commits[number]]
    head = history.heads["main"]
    expected = {name: dict(rows) for name, rows in head.items()}
    for name, rows in expected.items():
        changed = {
            id_ for id_ in before[name].keys() | after[name].keys() if before[name].get(id_) != after[name].get(id_)
        }
        if any(head[name].get(id_) != after[name].get(id_) for id_ in changed):
            return
        for id_ in changed:
            if id_ in before[name]:
                rows[id_] = before[name][id_]
            else:
                rows.pop(id_, None)
    preview = graph.revert_preview(commits[number])
    if preview.conflicts:
        assert all(not conflict.kind.is_of_rows for conflict in preview.conflicts)
        return
    graph.revert(commits[number])
    assert parse(graph.export()) == expected


@settings(max_examples=12)
@given(planned=steps)
def test_random_histories_are_undone_commit_by_commit(planned: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as place:
        history = make_history(Path(place), [step for step in planned if step[0] == "main"])
        graph = history.graph
        commits = [commit.id for commit in graph.commits()][::-1]
        if len(commits) > 3:
            _is_undone(history, commits, len(commits) // 2)
        graph.create_branch("undo", at=commits[-1])
        for number in range(len(commits) - 1, 0, -1):
            graph.revert(commits[number], branch="undo")
            assert parse(graph.export("undo")) == history.states[commits[number - 1]]
        graph.create_branch("once", at=commits[-1])
        if len(commits) > 1:
            graph.revert(f"{commits[0]}..", branch="once")
            assert parse(graph.export("once")) == history.states[commits[0]]
        assert graph.verify().is_clean


@settings(max_examples=12)
@given(planned=steps)
def test_undoing_both_actors_at_once_is_undoing_everything(planned: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as place:
        history = make_history(Path(place), [step for step in planned if step[0] == "main"])
        graph = history.graph
        actors = {commit.actor for commit in graph.commits() if commit.parents and commit.kind.is_logical}
        heads = {graph.snapshot().commit_id: history.heads["main"]}
        for actor in sorted(name for name in actors if name):
            preview = graph.revert_preview(actor=actor)
            if preview.conflicts:
                with pytest.raises(MergeConflicts):
                    graph.revert(actor=actor)
                assert graph.snapshot().commit_id in heads
                return
            graph.revert(actor=actor, by="nobody")
            heads[graph.snapshot().commit_id] = parse(graph.export())
        assert parse(graph.export()) == history.states[[commit.id for commit in graph.commits()][-1]]
        assert graph.verify().is_clean
