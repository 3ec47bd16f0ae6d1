"""A file survives a loss of power only if every directory on the way to it does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph.engine.graph import create
from omnigraph.storage.objects import durability

SCHEMA = "node Person { name: String @key age: I32? }"


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths in the order in which they were synced."""
    paths: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        paths.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(durability, "_known_directories", set())
    return paths


def test_directories_that_a_write_makes_are_synced_into_their_parents(tmp_path: Path, synced: list[str]) -> None:
    graph = create(tmp_path / "g", SCHEMA)
    before = {str(path) for path in Path(graph.uri).rglob("*")}
    synced.clear()
    graph.load([{"type": "Person", "data": {"name": "Ann"}}])
    graph.mutate('query u() { update Person set { age: 1 } where name = "Ann" }')
    graph.load([{"type": "Person", "data": {"name": name}} for name in ("Bob", "Cid", "Dan")])
    graph.mutate('query d() { delete Person where name = "Cid" }')
    made = {str(path) for path in Path(graph.uri).rglob("*")} - before
    directories = {path for path in made if os.path.isdir(path) and os.listdir(path)}
    # Scratch directories and marks may vanish with a loss of power.
    passing = ("_transactions", "_beside", "_published")
    needed = {path for path in directories if not any(place in path for place in passing)}
    assert {os.path.basename(path) for path in needed} >= {"data", "_deletions"}
    for path in needed:
        assert path in synced
        assert os.path.dirname(path) in synced


def test_a_directory_that_is_known_costs_no_more(tmp_path: Path, synced: list[str]) -> None:
    graph = create(tmp_path / "g", SCHEMA)
    graph.load([{"type": "Person", "data": {"name": "Ann"}}])
    synced.clear()
    graph.load([{"type": "Person", "data": {"name": "Bob"}}])
    tables = [path for path in synced if os.path.dirname(path).endswith("/nodes")]
    assert tables == []
