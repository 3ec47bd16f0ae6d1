"""Modules visited and maximum stack depth of our own frames, for four ordinary calls.

Run: ``python benchmarks/walks.py [--spark]``. They measure what a reader has to follow, so only frames of
`omnigraph` count: one per function call, threads included.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import omnigraph

SCHEMA = """
node Person { name: String @key  age: I64? }
edge Knows: Person -> Person
"""
FRIENDS = "query friends($name: String) { match { $a: Person { name: $name } $a knows $b } return { $b.name } }"
BORN = "query born($name: String) { insert Person { name: $name, age: 1 } }"
AGED = "query aged($name: String, $age: I64) { update Person set { age: $age } where name = $name }"

PACKAGE = str(Path(omnigraph.__file__).parent)

LAYERS = (
    {"core", "errors"},
    {"lang"},
    {"schema"},
    {"history", "query", "rows", "storage"},
    {"compare", "exec", "manifest"},
    {"write"},
    {"engine"},
    {"spark", "embed"},
    {"wiring"},
)
"""The layers of ARCHITECTURE.md, lowest first."""


def layer(path: str) -> int:
    """The number of the layer of a file."""
    room = path.removeprefix(PACKAGE).lstrip("/").split("/")[0].removesuffix(".py")
    return next((number for number, rooms in enumerate(LAYERS) if room in rooms), len(LAYERS))


def walk(call: Callable[[], object]) -> tuple[list[str], int, set[str]]:
    """The modules whose functions run, the deepest stack of their frames, and calls from a lower layer up."""
    modules: set[str] = set()
    upward: set[str] = set()
    deepest = 0

    def watch(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal deepest
        if event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        path, caller = frame.f_code.co_filename, frame.f_back
        modules.add(path.removeprefix(PACKAGE))
        if (
            caller is not None
            and (below := caller.f_code.co_filename).startswith(PACKAGE)
            and layer(below) < layer(path)
        ):
            upward.add(f"{below.removeprefix(PACKAGE)} -> {path.removeprefix(PACKAGE)}:{frame.f_code.co_qualname}")
        depth = 0
        above: FrameType | None = frame
        while above is not None:
            depth += above.f_code.co_filename.startswith(PACKAGE)
            above = above.f_back
        deepest = max(deepest, depth)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type] # None ends it
    return sorted(modules), deepest, upward


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--spark", action="store_true", help="walk a Spark load too, which starts a JVM")
    arguments.add_argument("--list", action="store_true", help="name the modules")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        graph = omnigraph.create(f"{place}/graph", SCHEMA)
        people = [{"type": "Person", "data": {"name": name, "age": 1}} for name in ("ann", "ben", "cy")]
        graph.load([*people, {"edge": "Knows", "from": "ann", "to": "ben"}])

        def conflict() -> None:
            try:
                graph.merge("draft")
            except omnigraph.OmnigraphError:
                return
            raise AssertionError("the merge should conflict")

        walks: dict[str, Callable[[], object]] = {
            "warm one-hop query": lambda: graph.query(FRIENDS, {"name": "ann"}).table,
            "mutation": lambda: graph.mutate(BORN, {"name": "dora"}),
            "merge with a conflict": conflict,
        }
        graph.mutate(BORN, {"name": "eve"})
        graph.create_branch("draft")
        graph.mutate(AGED, {"name": "ann", "age": 5})
        graph.mutate(AGED, {"name": "ann", "age": 6}, branch="draft")
        if given.spark:
            lines = Path(place) / "people.jsonl"
            lines.write_text('{"type": "Person", "data": {"name": "fay"}}\n', encoding="utf-8")
            graph.load_spark([str(lines)])
            lines.write_text('{"type": "Person", "data": {"name": "gil"}}\n', encoding="utf-8")
            walks["Spark load (driver)"] = lambda: graph.load_spark([str(lines)])
        graph.query(FRIENDS, {"name": "ann"})
        for name, call in walks.items():
            modules, deepest, upward = walk(call)
            print(f"{name}: {len(modules)} modules, deepest stack {deepest}, {len(upward)} calls from a lower layer up")
            if given.list:
                print(*modules, *sorted(upward), sep="\n")


if __name__ == "__main__":
    main()
