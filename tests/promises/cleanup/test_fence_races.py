"""Fences against several sleepers at once: new branches that vouch for each other, cleanups that overtake cleanups."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.engine.upkeep import cleanup as engine_cleaning
from omnigraph.errors import HistoryCleaned, WriteExpired
from omnigraph.manifest import fences, naming, publisher
from omnigraph.storage.publish import swap
from omnigraph.wire.changes import diff_json
from omnigraph.write import attempt
from omnigraph.write.upkeep import cleanup as cleaning
from tests.promises.cleanup.graphs import root
from tests.promises.protocol.graphs import contents, create, insert, names, person, reopen
from tests.support.queues import held_door
from tests.support.tuning import tuned

QUERY = "query q() { match { $p: Person } return { $p.name } }"


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    graph = create(tmp_path)
    for name in "abc":
        graph.load([person(name)], "overwrite")
    return graph


def clean(graph: omnigraph.Graph, keep: int | None = 1, grace: str = "0s") -> int:
    return reopen(graph).cleanup(keep=keep, grace=grace).deleted.files


def once(act: Callable[[], object]) -> Callable[[], None]:
    """Do something the first time only."""
    left = [act]

    def do() -> None:
        if left:
            left.pop()()

    return do


def nothing() -> None:
    """What a hook does by default."""


def hook(
    patch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    before: Callable[[], object] = nothing,
    after: Callable[[], object] = nothing,
) -> None:
    """Do something before and after every call of a function."""
    wrapped = getattr(owner, name)

    def hooked(*given: Any, **named: Any) -> Any:
        before()
        found = wrapped(*given, **named)
        after()
        return found

    patch.setattr(owner, name, hooked)


def leave_garbage(graph: omnigraph.Graph) -> None:
    """A file that is old enough for any cleanup."""
    stray = next(root(graph).glob("nodes/*/data")) / "stray.lance"
    stray.write_bytes(b"garbage")
    os.utime(stray, (0, 0))


def manifests(graph: omnigraph.Graph) -> list[Path]:
    return sorted(root(graph).glob("**/__manifest/_versions/*.manifest"))


def test_new_branches_of_a_deleted_branch_do_not_vouch_for_each_other(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("parent")
    graph.load([person("only")], "overwrite", branch="parent")
    second = reopen(graph)

    def others() -> None:
        with monkeypatch.context() as inner:
            hook(inner, naming, "fork", once(lambda: (graph.delete_branch("parent"), clean(graph))))
            # It stops before it has found out.
            inner.setattr(naming, "_confirm", lambda *_: None)
            second.create_branch("second", "parent")

    hook(monkeypatch, naming, "fork", once(others))
    with pytest.raises(HistoryCleaned):
        graph.create_branch("first", "parent")
    monkeypatch.undo()
    stranger = reopen(graph)
    for use in (
        lambda: insert(stranger, "x", branch="second"),
        lambda: stranger.create_branch("third", "second"),
        lambda: stranger.merge("second"),
        lambda: stranger.rename_branch("second", "third"),
    ):
        with pytest.raises(HistoryCleaned):
            use()
    assert [info.name for info in stranger.branches()] == ["main", "second"]
    stranger.delete_branch("second")
    clean(graph)
    assert reopen(graph).verify().is_clean
    assert names(reopen(graph)) == ["c"]


def test_a_branch_stays_writable_when_its_parent_is_deleted(graph: omnigraph.Graph) -> None:
    graph.create_branch("parent")
    insert(graph, "x", branch="parent")
    graph.create_branch("child", "parent")
    graph.delete_branch("parent")
    assert clean(graph)
    stranger = reopen(graph)
    stranger.create_branch("grandchild", "child")
    stranger.delete_branch("child")
    clean(graph)
    insert(stranger, "y", branch="grandchild")
    assert names(reopen(graph).snapshot("grandchild")) == ["c", "x", "y"]
    assert reopen(graph).verify().is_clean


def test_a_branch_that_was_made_during_a_cleanup_stays_writable_when_its_parent_is_deleted(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("parent")
    insert(graph, "x", branch="parent")
    hook(monkeypatch, naming, "fork", once(lambda: clean(graph)))
    graph.create_branch("child", "parent")
    graph.delete_branch("parent")
    insert(graph, "d")
    clean(graph)
    insert(reopen(graph), "y", branch="child")
    assert names(reopen(graph).snapshot("child")) == ["c", "x", "y"]


class Aside:
    """Work in a thread of its own that sleeps where it says so."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._asleep, self._awake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work,))

    def _run(self, work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            self.error = error
        finally:
            self._asleep.set()

    def sleep(self) -> None:
        """Called by the work, in its thread; does nothing in others."""
        if threading.current_thread() is self._thread:
            self._asleep.set()
            assert self._awake.wait(60)
            self._awake.clear()

    def pass_by(self) -> None:
        """The same without sleeping: others go on from here."""
        if threading.current_thread() is self._thread:
            self._asleep.set()

    def start(self) -> None:
        """Come back when the work sleeps or has ended."""
        self._thread.start()
        self._wait()

    def go_on(self) -> None:
        """Until it sleeps again or has ended."""
        self._awake.set()
        self._wait()

    def _wait(self) -> None:
        assert self._asleep.wait(60)
        self._asleep.clear()

    def finish(self) -> BaseException | None:
        self._awake.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.error


def test_a_cleanup_that_deletes_late_takes_no_branch_that_a_later_one_found_with_its_name(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    creator = reopen(graph)
    early = Aside(lambda: reopen(graph).cleanup(keep=1, grace="0s"))
    sweep = engine_cleaning.sweep_here

    def slow(store: Any, needs: Any, terms: Any) -> Any:
        if not terms.is_dry:
            early.sleep()
        return sweep(store, needs, terms)

    monkeypatch.setattr(engine_cleaning, "sweep_here", slow)
    hook(monkeypatch, naming, "create_manifest", after=early.start)
    hook(monkeypatch, naming, "_confirm", once(lambda: clean(graph)))
    with pytest.raises(HistoryCleaned):
        creator.create_branch("new")
    assert early.finish() is None
    stranger = reopen(graph)
    assert [info.name for info in stranger.branches()] == ["main"]
    assert stranger.verify().is_clean


def test_a_load_whose_files_are_younger_than_the_grace_period_is_published_behind_a_fence(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It read its input once: what it wrote of it is used again."""
    graph = tuned(graph, buffered_rows_max=0)
    leave_garbage(graph)
    hook(monkeypatch, swap, "record_files", once(lambda: clean(graph, None, "24h")))
    graph.load(iter([person("loaded")]))
    stranger = reopen(graph)
    assert stranger.snapshot().state.fence.number == 1
    assert names(stranger) == ["c", "loaded"]
    assert stranger.verify().is_clean


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_load_that_escapes_one_cleanup_is_not_published_while_an_earlier_one_deletes(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """A cleanup without a grace period sleeps before or after its fence, and one with a day of it overtakes it.

    The load looks only then: the second cleanup spares its files, the first one does not.
    """
    graph = tuned(graph, buffered_rows_max=0)
    leave_garbage(graph)
    load = Aside(lambda: reopen(graph).load([person("loaded")]))
    hook(monkeypatch, swap, "record_files", load.sleep)

    def overtake() -> None:
        assert clean(graph, None, "24h") == 1
        load.go_on()

    load.start()
    hook(monkeypatch, cleaning, "raise_fence", **{moment: once(overtake)})
    reopen(graph).cleanup(keep=1, grace="0s")
    assert isinstance(load.finish(), WriteExpired)
    stranger = reopen(graph)
    assert names(stranger) == ["c"]
    assert stranger.verify().is_clean


def test_a_group_of_writes_with_one_behind_a_fence_is_published_whole(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One was staged before the fence and is staged again; the other, published in the same group, is not."""
    shared = reopen(graph)
    door = shared._context.publisher._door(graph.id)
    old = Aside(lambda: insert(shared, "old"))
    new = Aside(lambda: insert(shared, "new"))

    class Queue(deque[Any]):
        def append(self, ticket: Any) -> None:
            super().append(ticket)
            for aside in (old, new):
                aside.pass_by()

    hook(monkeypatch, attempt, "_publish", once(old.sleep))
    old.start()
    assert clean(graph)
    shared._manifests.fresh(graph.id)
    door.waiting = Queue()
    with held_door(shared):
        new.start()
        old.go_on()
        assert len(door.waiting) == 2
    assert (old.finish(), new.finish()) == (None, None)
    assert names(reopen(graph)) == ["c", "new", "old"]
    assert reopen(graph).verify().is_clean


def test_a_fence_is_no_reason_to_refuse_an_expected_head(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = graph.snapshot().commit_id
    hook(monkeypatch, publisher, "replace_state", once(lambda: clean(graph)))
    insert(graph, "next", if_commit=head)
    assert names(reopen(graph)) == ["c", "next"]


def test_a_write_that_another_made_under_its_key_is_not_made_again_behind_a_fence(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def others() -> None:
        insert(reopen(graph), "once", idempotency_key="k")
        clean(graph)

    hook(monkeypatch, publisher, "replace_state", once(others))
    insert(graph, "once", idempotency_key="k")
    assert names(reopen(graph)) == ["c", "once"]
    assert len([commit for commit in graph.commits() if commit.idempotency_key == "k"]) == 1


def test_a_fence_is_no_commit_and_readers_do_not_notice_it(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    insert(graph, "x", branch="review")
    reader = reopen(graph)
    cursor = reader.changes("now").cursor

    def seen(of: omnigraph.Graph) -> tuple[Any, ...]:
        state = of.snapshot().state
        return (
            [(info.name, info.head) for info in of.branches()],
            [commit.id for commit in of.commits()],
            contents(of),
            list(of.query(QUERY)),
            (state.counter, state.head),
            diff_json(of.diff("main", "review")),
            of.changes(cursor).blocks,
        )

    before, versions = seen(reader), len(manifests(graph))
    assert clean(graph, keep=2)
    assert len(manifests(graph)) == versions + 2
    assert seen(reader) == seen(reopen(graph)) == before
    insert(reader, "next")
    assert [block.commit.id for block in reader.changes(cursor)] == [reader.snapshot().commit_id]


def test_a_cleanup_that_has_nothing_to_delete_swaps_nothing(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    assert clean(graph)
    versions = manifests(graph)
    for _ in range(3):
        clean(graph)
        clean(graph, grace="24h")
        reopen(graph).cleanup(keep=1, grace="0s", dry_run=True)
    assert manifests(graph) == versions


def test_a_cleanup_that_is_killed_between_two_fences_does_no_harm(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        graph.create_branch(name)
        insert(graph, name, branch=name)
    raised = fences._raise_one

    def killed(of: Any, incarnation: str, *given: Any, **named: Any) -> bool:
        if incarnation != graph.id:
            raise KeyboardInterrupt
        return raised(of, incarnation, *given, **named)

    monkeypatch.setattr(fences, "_raise_one", killed)
    with pytest.raises(KeyboardInterrupt):
        clean(graph)
    monkeypatch.undo()
    graph.create_branch("three", "one")
    graph.delete_branch("one")
    for name in ("main", "two", "three"):
        insert(graph, f"{name}-later", branch=name)
    assert clean(graph)
    insert(graph, "last", branch="three")
    stranger = reopen(graph)
    assert names(stranger.snapshot("three")) == ["c", "last", "one", "three-later"]
    assert names(stranger.snapshot("two")) == ["c", "two", "two-later"]
    assert stranger.verify().is_clean


def test_a_branch_that_is_renamed_while_the_refs_are_read_is_found(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("before")
    insert(graph, "x", branch="before")
    other = reopen(graph)
    read, rename = other._store.objects.read, once(lambda: graph.rename_branch("before", "after"))

    def late(path: str) -> bytes | None:
        if path.startswith("refs/"):
            rename()
        return read(path)

    monkeypatch.setattr(other._store.objects, "read", late)
    assert [info.name for info in other.branches()] == ["main", "after"]
