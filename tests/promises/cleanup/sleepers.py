"""Writers that fall asleep at a chosen place while others delete a branch and run cleanup, on a small graph."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.errors import HistoryCleaned, OmnigraphError, WriteExpired
from omnigraph.storage.publish import swap
from omnigraph.write.upkeep import cleanup as cleaning
from tests.promises.protocol.graphs import SCHEMA, contents, edge, insert, note, person, run

Pause = Callable[[pytest.MonkeyPatch, omnigraph.Graph, Callable[[], None]], None]
Contents = dict[str, dict[str, list[dict[str, Any]]]]


@dataclass(frozen=True)
class Place:
    """Where graphs lie, and how a handle that knows nothing is opened on one."""

    uri: str
    durability: str = "os"
    options: Mapping[str, str] = field(default_factory=dict)

    def open(self, tuning: Tuning | None = None) -> omnigraph.Graph:
        options = dict(self.options)
        return omnigraph.open(self.uri, durability=self.durability, storage_options=options, tuning=tuning)


def template(place: Place) -> omnigraph.Graph:
    """Three branches that differ, and commits of ``main`` that nothing but history needs."""
    graph = omnigraph.create(
        place.uri, SCHEMA, durability=place.durability, storage_options=dict(place.options) or None
    )
    graph.load([person("ann", age=30), person("bob"), edge("Knows", "ann", "bob")])
    graph.create_branch("review")
    run(graph, 'update Person set {age: 31} where name = "ann"', branch="review")
    graph.create_branch("notes")
    graph.load([note("n1")], branch="notes")
    graph.load([person(name) for name in ("ann", "bob", "old")], "overwrite", message="old")
    graph.load([person(name) for name in ("ann", "bob")], "overwrite")
    insert(graph, "eve", message="eve")
    insert(graph, "mia")
    return graph


def commit_of(graph: omnigraph.Graph, message: str) -> str:
    return next(commit.id for commit in graph.commits() if commit.message == message)


BULK = Tuning(buffered_rows_max=0)


@dataclass(frozen=True)
class Writer:
    """One kind of write. ``refusal`` is what a cleanup during its sleep makes of it; None if it must succeed."""

    act: Callable[[omnigraph.Graph], object]
    branch: str
    """Where its result is."""
    refusal: type[OmnigraphError] | None = None
    meanwhile: Callable[[omnigraph.Graph], object] = lambda _: None
    keep: int = 1
    tuning: Tuning | None = None


def _grow(graph: omnigraph.Graph) -> object:
    return graph.apply_schema(SCHEMA.replace("age: I32?", "age: I32?\n    nick: String?"))


def _delete(name: str) -> Callable[[omnigraph.Graph], object]:
    return lambda graph: graph.delete_branch(name)


WRITERS: dict[str, Writer] = {
    "insert": Writer(lambda graph: insert(graph, "new"), "main"),
    "update": Writer(lambda graph: run(graph, 'update Person set {age: 5} where name = "ann"'), "main"),
    "load": Writer(lambda graph: graph.load([person("new"), edge("Knows", "new", "ann")]), "main"),
    "bulk load": Writer(lambda graph: graph.load([person("new")]), "main", WriteExpired, tuning=BULK),
    "merge": Writer(lambda graph: graph.merge("review", policy="source"), "main"),
    "merge of a deleted branch": Writer(
        lambda graph: graph.merge("review", policy="source"), "main", HistoryCleaned, _delete("review")
    ),
    "merge that adopts": Writer(lambda graph: graph.merge("notes", policy="source"), "main"),
    "merge that adopts from a deleted branch": Writer(
        lambda graph: graph.merge("notes", policy="source"), "main", HistoryCleaned, _delete("notes")
    ),
    "schema": Writer(_grow, "main"),
    "revert": Writer(lambda graph: graph.revert(graph.snapshot().commit_id), "main", keep=2),
    "revert to what is cleaned": Writer(lambda graph: graph.revert(commit_of(graph, "eve")), "main", HistoryCleaned),
    "optimize": Writer(lambda graph: graph.optimize(), "main"),
    "rename": Writer(lambda graph: graph.rename_branch("review", "final"), "final"),
}
CREATORS: dict[str, Writer] = {
    "branch": Writer(lambda graph: graph.create_branch("new"), "new"),
    "branch of a branch": Writer(lambda graph: graph.create_branch("new", "review"), "new"),
    "branch of a deleted branch": Writer(
        lambda graph: graph.create_branch("new", "review"), "new", HistoryCleaned, _delete("review")
    ),
    "branch at a cleaned commit": Writer(
        lambda graph: graph.create_branch("new", at=commit_of(graph, "old")), "new", HistoryCleaned
    ),
}


def after_capture(patch: pytest.MonkeyPatch, graph: omnigraph.Graph, sleep: Callable[[], None]) -> None:
    """The branch was read, and nothing is staged."""
    _after(patch, graph._manifests, "capture", sleep)


def before_manifest(patch: pytest.MonkeyPatch, _: omnigraph.Graph, sleep: Callable[[], None]) -> None:
    """Everything is staged, and nothing of the manifest is written."""
    for module in ("publisher", "naming"):
        _before(patch, f"omnigraph.manifest.{module}", "replace_state", sleep)


def at_swap(patch: pytest.MonkeyPatch, graph: omnigraph.Graph, sleep: Callable[[], None]) -> None:
    """The manifest is written and has no name: the next thing is the link, or the conditional request."""
    if graph._store.root.is_local:
        _before(patch, swap, "record_files", sleep)
    else:
        _before(patch, graph._store.outbox, "create_head", sleep)


def after_branch_capture(patch: pytest.MonkeyPatch, _: omnigraph.Graph, sleep: Callable[[], None]) -> None:
    _before(patch, "omnigraph.manifest.naming", "fork", sleep)


def before_first_manifest(patch: pytest.MonkeyPatch, _: omnigraph.Graph, sleep: Callable[[], None]) -> None:
    """The data of the new manifest is written, and no version."""
    _after(patch, swap, "write_fragments", sleep)


def before_ref(patch: pytest.MonkeyPatch, _: omnigraph.Graph, sleep: Callable[[], None]) -> None:
    _after(patch, "omnigraph.manifest.naming", "create_manifest", sleep)


def before_confirmation(patch: pytest.MonkeyPatch, _: omnigraph.Graph, sleep: Callable[[], None]) -> None:
    _before(patch, "omnigraph.manifest.naming", "_confirm", sleep)


PAUSES = {"capture": after_capture, "manifest": before_manifest, "swap": at_swap}
CREATION_PAUSES = {
    "capture": after_branch_capture,
    "first manifest": before_first_manifest,
    "ref": before_ref,
    "confirmation": before_confirmation,
}


def _before(patch: pytest.MonkeyPatch, owner: Any, function: str, sleep: Callable[[], None]) -> None:
    target = _module(owner) if isinstance(owner, str) else owner
    wrapped = getattr(target, function)

    def slept(*given: Any, **named: Any) -> Any:
        sleep()
        return wrapped(*given, **named)

    patch.setattr(target, function, slept)


def _after(patch: pytest.MonkeyPatch, target: Any, function: str, sleep: Callable[[], None]) -> None:
    owner = _module(target) if isinstance(target, str) else target
    wrapped = getattr(owner, function)

    def slept(*given: Any, **named: Any) -> Any:
        found = wrapped(*given, **named)
        sleep()
        return found

    patch.setattr(owner, function, slept)


def _module(name: str) -> Any:
    return importlib.import_module(name)


@contextmanager
def later() -> Iterator[None]:
    """Cleanup starts some seconds after what was written last: object stores tell times in whole seconds."""
    created = cleaning.create_record

    def stamped(*given: Any) -> Any:
        found = created(*given)
        return None if found is None else found._replace(modified_us=found.modified_us + 5_000_000)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleaning, "create_record", stamped)
        yield


@dataclass
class Nap:
    """What others do while a writer sleeps, exactly once."""

    place: Place
    writer: Writer
    cleanups: int = 1
    is_over: bool = False
    deleted: int = 0

    def __call__(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        other = self.place.open()
        self.writer.meanwhile(other)
        with later():
            for _ in range(self.cleanups):
                self.deleted += other.cleanup(keep=self.writer.keep, grace="0s").deleted.files


def everything(place: Place) -> Contents:
    """All branches, read by a process that knows nothing."""
    graph = place.open()
    return {info.name: contents(graph.snapshot(info.name)) for info in graph.branches()}


@dataclass(frozen=True)
class Slept:
    """How a write ended that slept through a cleanup, and the graph after it."""

    after: Contents
    error: OmnigraphError | None


def awake(place: Place, writer: Writer) -> Contents:
    """What a write makes of the graph without a nap."""
    writer.act(place.open(writer.tuning))
    return everything(place)


def sleep_through(place: Place, writer: Writer, pause: Pause, cleanups: int = 1, *, deep: bool = False) -> Slept:
    """Run a writer that sleeps at a place once, and check that what it leaves is sound and stays."""
    graph = place.open(writer.tuning)
    nap = Nap(place, writer, cleanups)
    error = None
    with pytest.MonkeyPatch.context() as patch:
        pause(patch, graph, nap)
        try:
            writer.act(graph)
        except OmnigraphError as raised:
            error = raised
    assert nap.is_over, "the writer did not come to the place where it was to sleep"
    assert nap.deleted, "cleanup had nothing to delete"
    stranger = place.open()
    with later():
        stranger.cleanup(keep=1, grace="0s")
    report = stranger.verify(deep=deep)
    assert report.is_clean, report.problems
    after = everything(place)
    insert(graph, "afterwards")
    return Slept(after, error)


def copied(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target
