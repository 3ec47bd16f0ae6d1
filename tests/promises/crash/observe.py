"""Observations of a graph by a fresh process, and the invariants that hold after any crash of a writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import omnigraph
from omnigraph.engine.graph import Graph
from omnigraph.errors import NotAGraphError
from tests.promises.crash.writers import INSERT, SCHEMA

Options = Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Seen:
    """Every branch with its content and its commits. Equal values are the same graph."""

    branches: Mapping[str, tuple[bytes, tuple[str, ...]]]


def observe(graph: Graph) -> Seen:
    return Seen(
        {
            info.name: (b"".join(graph.export(info.name)), tuple(commit.id for commit in graph.commits(info.name)))
            for info in graph.branches()
        }
    )


def look(uri: str, options: Options = None) -> Seen | None:
    """What is there, or None if there is no graph."""
    try:
        graph = omnigraph.open(uri, storage_options=options)
    except NotAGraphError:
        return None
    return observe(graph)


def check_sound(uri: str, options: Options = None, names: Sequence[str] = (), durability: str = "fsync") -> None:
    """Check that nothing is missing or damaged and that every branch accepts a write immediately.

    `names` are branches that must exist, or whose name must be free to create.
    """
    try:
        graph = omnigraph.open(uri, storage_options=options, durability=durability)
    except NotAGraphError:
        graph = omnigraph.create(uri, SCHEMA, storage_options=options, durability=durability)
    report = graph.verify(deep=True)
    assert report.is_clean, report.problems
    for info in graph.branches():
        before = graph.snapshot(info.name).counts()
        result = graph.mutate(INSERT, {"name": "next", "age": 1}, branch=info.name)
        assert result.commit is not None
        after = omnigraph.open(uri, storage_options=options).snapshot(info.name).counts()
        assert after == {**before, "node:Person": before["node:Person"] + 1}
    for name in sorted({*names} - {info.name for info in graph.branches()}):
        graph.create_branch(name)
    report = graph.verify(deep=False)
    assert report.is_clean, report.problems
