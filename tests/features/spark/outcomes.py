"""Outcomes of loads by any engine, in a comparable form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from omnigraph.engine.graph import Graph
from omnigraph.errors import OmnigraphError, ViolationError

Record = Mapping[str, Any]


def write_lines(path: Path, records: Iterable[Record | str]) -> str:
    """A file of JSON lines; texts are written as they are."""
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return str(path)


def outcome(graph: Graph, branch: str, load: Callable[[], Any]) -> Any:
    """Everything a caller can see: the graph and the counts, or the error with its counts and samples.

    Samples are compared without their order: tasks find them in an order of their own.
    """
    head = graph.snapshot(branch).commit_id
    try:
        loaded = load()
    except ViolationError as error:
        assert graph.snapshot(branch).commit_id == head
        return "violations", error.total, error.counts, sorted(map(repr, error.samples))
    except OmnigraphError as error:
        assert graph.snapshot(branch).commit_id == head
        return type(error), error.message, dict(error.facts)
    commit = loaded.commit
    tables = [(change.key, change.inserted, change.updated, change.deleted) for change in commit.tables]
    return loaded.mode, dict(loaded.nodes), dict(loaded.edges), sorted(tables), lines(graph, branch)


def lines(graph: Graph, branch: str = "main") -> list[bytes]:
    return sorted(b"".join(graph.export(branch)).splitlines())


def data_files(graph: Graph) -> set[str]:
    """Every file of the tables: data, blobs, deletions and versions, but not Lance's notes on how they were made."""
    root = Path(graph.uri)
    found = (path for kind in ("nodes", "edges") for path in root.glob(f"{kind}/**/*") if path.is_file())
    return {str(path) for path in found if "_transactions" not in path.parts}
