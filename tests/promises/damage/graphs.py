"""A small graph with a file of every kind, and short ways to copy and read it."""

import base64
import os
import shutil
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.storage.objects.sealed import seal
from omnigraph.storage.upkeep.jobs import DIRECTORY as JOBS

SCHEMA = """
node Person { name: String @key
    bio: String? @index
    age: I32?
    photo: Blob? }
edge Knows: Person -> Person { since: I32? }
"""
LATER = SCHEMA.replace("age: I32?", "age: I32?\n    city: String? // where to write to")
BLOB_BYTES = 70_000


def create(path: Path) -> omnigraph.Graph:
    """Spilled commits, indexes, deletions, blobs, two schemas, branches made, renamed, merged and deleted, a journal, a
    cleanup, and files that nothing needs."""
    graph = omnigraph.create(path, SCHEMA, durability="os", tuning=Tuning(recent_commits_max=4, index_rows_min=1))
    graph.load([person(number, bio=f"word{number % 3}") for number in range(40)])
    graph.load([knows(number, number + 1) for number in range(10)])
    graph.load([person(1, photo="base64:" + base64.b64encode(bytes(range(250)) * (BLOB_BYTES // 250)).decode())])
    graph.create_branch("gone")
    insert(graph, "lost", branch="gone")
    graph.delete_branch("gone")
    graph.optimize()
    graph.mutate('query q() { delete Person where name = "p0005" }')
    graph.create_branch("draft")
    insert(graph, "drafted", branch="draft")
    graph.rename_branch("draft", "review/one")
    insert(graph, "newest")
    graph.create_branch("old")
    graph.apply_schema(LATER)
    graph.merge("review/one")
    graph.mutate('query q() { update Person set {city: "Aarhus"} where name = "p0007" }')
    graph.cleanup(keep=6)
    insert(graph, "last")
    insert(graph, "reviewed", branch="review/one")
    put(path, f"{JOBS}/JOB.json", seal({"mode": "append"}))
    put(path, f"{JOBS}/JOB.0.json", seal({"spans": [], "tables": {}, "rejected": [], "records": []}))
    put(path, f"{next((path / 'nodes').iterdir()).relative_to(path)}/data/orphan.lance", b"of a killed load")
    return graph


def person(number: int, **properties: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": f"p{number:04}", "age": number, **properties}}


def knows(source: int, target: int) -> dict[str, Any]:
    return {
        "edge": "Knows",
        "from": f"p{source:04}",
        "to": f"p{target:04}",
        "data": {"id": f"k{source}", "since": source},
    }


def insert(graph: omnigraph.Graph, name: str, branch: str = "main") -> None:
    graph.mutate("query q($n: String) { insert Person {name: $n} }", {"n": name}, branch=branch)


def put(root: Path, path: str, content: bytes) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(content)


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def copy(root: Path, target: Path) -> Path:
    """A copy whose files are links: no file is ever changed in place."""
    shutil.copytree(root, target, copy_function=os.link, ignore=shutil.ignore_patterns("cache"))
    return target
