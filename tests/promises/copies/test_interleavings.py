"""Copies while others write, clean up and rename between any two steps, and copies that are killed at any step."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import omnigraph
from omnigraph.engine.copies import run
from omnigraph.engine.copies.result import CopyResult
from omnigraph.errors import NotAGraphError
from omnigraph.storage.tables.store import Store
from tests.promises.copies.graphs import content, insert, person
from tests.promises.copies.stepped import SEQUENTIAL, SteppedObjects, Stopped


def backup(graph: omnigraph.Graph, target: Path, point: Callable[[int], None]) -> tuple[CopyResult, int]:
    """A backup with a point before every change of the target; also the number of points."""
    store = Store(target, durability="os", tuning=SEQUENTIAL)
    stepped = SteppedObjects(store.objects, point)
    store.objects = stepped  # type: ignore[assignment]
    return run.backup(graph._manifests, store, deep=True, progress=None), stepped.seen


def actions(writer: omnigraph.Graph) -> Iterator[None]:
    """The changes of others meanwhile, one at a time, without end."""
    number = 0
    while True:
        number += 1
        insert(writer, f"main-{number}")
        yield
        writer.create_branch(f"b{number}")
        yield
        insert(writer, f"branch-{number}", f"b{number}")
        yield
        writer.merge(f"b{number}")
        yield
        writer.rename_branch(f"b{number}", "moved")
        yield
        writer.load([person(f"p{number}", age=100)], "merge")
        yield
        writer.cleanup(keep=1, grace="0s")
        yield
        writer.delete_branch("moved")
        yield
        writer.optimize()
        writer.cleanup(keep=1, grace="0s")
        yield


class Watcher:
    """A reader of the target: it finds no graph, or each branch exactly as the source had it at some commit."""

    def __init__(self, source: omnigraph.Graph, target: Path) -> None:
        self.source, self.target = source, target
        self.known: dict[str, list[bytes]] = {}
        self.looks = 0

    def note(self) -> None:
        """Remember the states that the source has."""
        for branch in self.source.branches():
            if branch.head not in self.known:
                self.known[branch.head] = list(self.source.export(branch.name))

    def look(self) -> None:
        try:
            reader = omnigraph.open(self.target)
        except NotAGraphError:
            return
        self.looks += 1
        assert not reader.branches().damaged
        for branch in reader.branches():
            assert list(reader.export(branch.name)) == self.known[branch.head]


def test_a_backup_is_consistent_while_others_write_between_any_two_steps(grown_root: Path, tmp_path: Path) -> None:
    shutil.copytree(grown_root, tmp_path / "g.omni")
    graph, writer = (omnigraph.open(tmp_path / "g.omni", durability="os") for _ in range(2))
    target = tmp_path / "backup.omni"
    others, watcher = actions(writer), Watcher(writer, target)
    watcher.note()

    def point(number: int) -> None:
        # Endless writing is allowed, and endless deletions would be endless work: a run ends when they pause.
        if number % 3 == 0 and number < 90:
            next(others)
            watcher.note()
        watcher.look()

    for _ in range(3):
        result, _ = backup(graph, target, point)
        assert result.report.is_clean
        watcher.look()
    assert watcher.looks > 20
    graph.backup(target)
    assert content(omnigraph.open(target)) == content(graph)


def test_a_cleanup_that_overtakes_the_look_of_a_backup_is_no_damage(grown_root: Path, tmp_path: Path) -> None:
    shutil.copytree(grown_root, tmp_path / "g.omni")
    graph, cleaner = (omnigraph.open(tmp_path / "g.omni", durability="os") for _ in range(2))
    # A branch without a commit of its own: a fence leaves its version behind, and cleanup deletes it at once.
    cleaner.create_branch("quiet")
    has_decided, may_delete = threading.Event(), threading.Event()

    def pause(number: int) -> None:
        # The second access after the record: the copy then finds the same record before and after the deletion.
        if number == 2:
            has_decided.set()
            assert may_delete.wait(60)

    cleaner._store.objects = SteppedObjects(cleaner._store.objects, pause, ("walk",))  # type: ignore[assignment]
    cleaning = threading.Thread(target=lambda: cleaner.cleanup(keep=1, grace="0s"))
    cleaning.start()
    assert has_decided.wait(60)

    def overtake(number: int) -> None:
        # The copy has looked at the branches, and begins to look for their files.
        may_delete.set()
        cleaning.join()

    graph._store.objects = SteppedObjects(graph._store.objects, overtake, ("walk",))  # type: ignore[assignment]
    result = graph.backup(tmp_path / "backup.omni")
    assert set(result.branches) == {"main", "kept/branch", "quiet"}
    assert content(omnigraph.open(tmp_path / "backup.omni")) == content(omnigraph.open(tmp_path / "g.omni"))


def test_a_backup_that_was_killed_at_any_step_is_completed_by_the_next(grown_root: Path, tmp_path: Path) -> None:
    shutil.copytree(grown_root, tmp_path / "g.omni")
    graph = omnigraph.open(tmp_path / "g.omni", durability="os")
    _, steps = backup(graph, tmp_path / "whole.omni", lambda _: None)

    def stop_at(last: int) -> Callable[[int], None]:
        def point(number: int) -> None:
            if number == last:
                raise Stopped

        return point

    for last in sorted({*range(1, steps, 14), steps - 1, steps}):
        target = tmp_path / f"{last}.omni"
        with pytest.raises(Stopped):
            backup(graph, target, stop_at(last))
        target.mkdir(exist_ok=True)
        leftover = target / f".{'0' * 32}.tmp"
        leftover.write_bytes(b"half a file")
        watcher = Watcher(graph, target)
        watcher.note()
        watcher.look()
        result, _ = backup(graph, target, lambda _: None)
        assert result.report.is_clean
        assert not leftover.exists()
        assert not (target / "copying.json").exists()
        assert content(omnigraph.open(target)) == content(graph)


def test_a_restore_that_was_killed_leaves_no_graph_and_is_completed_by_the_next(
    grown_root: Path, tmp_path: Path
) -> None:
    def restored(target: Path, point: Callable[[int], None]) -> int:
        omnigraph.create(target, "node Old { name: String @key }", durability="os")
        place = Store(target, durability="os", tuning=SEQUENTIAL)
        stepped = SteppedObjects(place.objects, point)
        place.objects = stepped  # type: ignore[assignment]
        run.restore(Store(grown_root), place, replace=True, deep=True, progress=None)
        return stepped.seen

    expected = content(omnigraph.open(grown_root))
    steps = restored(tmp_path / "whole.omni", lambda _: None)
    for last in (2, 3, 9, steps - 1):
        target = tmp_path / f"{last}.omni"

        def point(number: int, last: int = last) -> None:
            if number == last:
                raise Stopped

        with pytest.raises(Stopped):
            restored(target, point)
        if last > 2:
            with pytest.raises(NotAGraphError):
                omnigraph.open(target)
        omnigraph.restore(grown_root, target, replace=True)
        assert content(omnigraph.open(target)) == expected
