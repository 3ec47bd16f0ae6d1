"""A copy without history: a fresh graph with the same entities, ids and schema, and one commit for each branch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.engine.copies import run
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.storage.tables.store import Store
from tests.promises.copies.graphs import INDEXED, content, insert
from tests.promises.copies.stepped import SEQUENTIAL, SteppedObjects, Stopped
from tests.support.faults.s3 import Bucket, Server


def test_the_head_of_a_branch_becomes_a_graph_with_one_commit(grown_root: Path, tmp_path: Path) -> None:
    source = omnigraph.open(grown_root)
    result = source.copy(tmp_path / "copy.omni", branches="kept/branch", actor="ann")
    copy = omnigraph.open(tmp_path / "copy.omni", durability="os", tuning=INDEXED)
    [commit] = copy.commits()
    origin = source.snapshot("kept/branch")
    assert copy.id == result.graph_id != source.id
    assert list(copy.export()) == list(source.export("kept/branch"))
    assert copy.schema_text() == source.schema_text("kept/branch")
    assert (commit.actor, dict(commit.provenance)) == (
        "ann",
        {
            "source": str(grown_root),
            "source_graph": source.id,
            "source_branch": "kept/branch",
            "source_commit": origin.commit_id,
        },
    )
    # The commit counts what it brought, and a reader of changes gets all of it.
    assert sum(change.inserted for change in commit.tables) == sum(origin.counts().values())
    assert len(copy.commit_changes(commit.id)) == sum(origin.counts().values())
    report = copy.verify()
    assert report.is_clean
    assert not report.remarks
    query = "query q() { match { $p: Person { age: 12 } } return { $p.name } }"
    assert copy.query(query).to_arrow().to_pylist() == [{"p.name": "p12"}]
    assert copy.read_blob("node", "Person", "painter", "picture").size == 128 * 1024
    insert(copy, "new")
    copy.create_branch("more")
    insert(copy, "newer", "more")
    copy.merge("more")
    copy.cleanup(keep=1, grace="0s")
    assert copy.verify().is_clean


@pytest.mark.s3
def test_the_heads_of_all_branches_become_branches_of_the_copy_also_in_a_bucket(
    grown_root: Path, tmp_path: Path, s3_server: Server, s3_bucket: Bucket
) -> None:
    source, options = omnigraph.open(grown_root), s3_server.storage_options()
    source.copy(s3_bucket.uri("copy"), branches="*", target_options=options)
    remote = omnigraph.open(s3_bucket.uri("copy"), storage_options=options)
    remote.copy(tmp_path / "back.omni", branches="*")
    back = omnigraph.open(tmp_path / "back.omni", durability="os")
    assert content(source) == content(remote) == content(back)
    assert (len(list(back.commits())), len(list(back.commits("kept/branch")))) == (1, 2)
    newest = next(iter(back.commits("kept/branch")))
    difference = back.diff("main", "kept/branch").counts
    counted = {change.key: (change.inserted, change.updated, change.deleted) for change in newest.tables}
    assert counted == {key: (item.inserted, item.updated, item.deleted) for key, item in difference.items()}
    insert(back, "on-branch-too", "kept/branch")
    assert back.verify().is_clean


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        (123, {}, "got the int 123"),
        (None, {}, "got the NoneType None"),
        ("", {}, "must not be empty"),
        ("http://host/graph", {}, "the address of a server"),
        ("copy.omni", {"branches": 5}, "got the int 5"),
        ("copy.omni", {"branches": []}, "no branch is named"),
        ("copy.omni", {"branches": ["kept/branch", "main"]}, "name main first"),
        ("copy.omni", {"branches": "nope"}, "there is no branch 'nope'"),
        ("copy.omni", {"branches": "main", "history": True}, "has every branch"),
        ("copy.omni", {"branches": ["main", 5]}, "5"),
    ],
)
def test_what_cannot_be_copied_is_refused_before_anything_is_written(
    grown_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: Any,
    options: dict[str, Any],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UsageError, NotFoundError)) as caught:
        omnigraph.open(grown_root).copy(target, **options)
    assert words in str(caught.value)
    assert caught.value.hint
    assert not list(tmp_path.iterdir())


def test_a_copy_of_heads_that_was_killed_is_completed_by_the_next(grown_root: Path, tmp_path: Path) -> None:
    source = omnigraph.open(grown_root)

    def copy(target: Path, last: int) -> int:
        store = Store(target, durability="os", tuning=SEQUENTIAL)

        def point(number: int) -> None:
            if number == last:
                raise Stopped

        stepped = SteppedObjects(store.objects, point)
        store.objects = stepped  # type: ignore[assignment]
        run.copy(source._context, store, "*", None, history=False, deep=True, progress=None)
        return stepped.seen

    steps = copy(tmp_path / "whole.omni", 0)
    for last in sorted({*range(1, steps, 14), steps - 1, steps}):
        target = tmp_path / f"{last}.omni"
        with pytest.raises(Stopped):
            copy(target, last)
        if last < steps:
            copy(target, 0)
        assert content(omnigraph.open(target)) == content(source)
