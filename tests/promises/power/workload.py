"""Writes drawn at random, each announced before it begins and acknowledged after it."""

import json
import os
import random
from collections.abc import Callable
from typing import Any

import omnigraph

SCHEMA = "node Person {\n  name: String @key\n}\n"
INSERT = "query q($n: String) { insert Person { name: $n } }"
LOADED_ROWS = 40
BRANCHES_MAX = 3


def say(kind: str, **facts: Any) -> None:
    """One step as a line of JSON. It has left the process when this returns."""
    print(json.dumps({"kind": kind, **facts}), flush=True)


class Writer:
    """Draws one write after the other. Its branches carry its own name, so no other worker changes them."""

    def __init__(self, graph: omnigraph.Graph, worker: str, draw: random.Random) -> None:
        self._graph, self._worker, self._draw = graph, worker, draw
        self._branches = [info.name for info in graph.branches() if info.name.startswith(f"{worker}-")]
        self._names = (f"{worker}-{os.getpid()}-{number}" for number in range(10**9))

    def write(self) -> None:
        kinds = [self._insert] * 6 + [self._load] * 2 + [self._create]
        if self._branches:
            kinds += [self._insert_into_branch] * 2 + [self._merge, self._rename, self._delete]
        self._draw.choice(kinds)()

    def _insert(self, branch: str = "main") -> None:
        name = next(self._names)
        with_commit("insert", lambda: self._graph.mutate(INSERT, {"n": name}, branch=branch), branch, [name])

    def _insert_into_branch(self) -> None:
        self._insert(self._draw.choice(self._branches))

    def _load(self) -> None:
        names = [next(self._names) for _ in range(LOADED_ROWS)]
        rows = [{"type": "Person", "data": {"name": name}} for name in names]
        with_commit("load", lambda: self._graph.load(rows, "append"), "main", names)

    def _merge(self) -> None:
        branch = self._draw.choice(self._branches)
        with_commit("merge", lambda: self._graph.merge(branch), "main", [])

    def _create(self) -> None:
        if len(self._branches) >= BRANCHES_MAX:
            self._delete()
            return
        name = next(self._names)
        say("begin", write="create", branch=name)
        self._graph.create_branch(name)
        say("done", write="create", branch=name)
        self._branches.append(name)

    def _rename(self) -> None:
        old, new = self._draw.choice(self._branches), next(self._names)
        say("begin", write="rename", branch=old, new=new)
        self._graph.rename_branch(old, new)
        say("done", write="rename", branch=old, new=new)
        self._branches[self._branches.index(old)] = new

    def _delete(self) -> None:
        name = self._draw.choice(self._branches)
        say("begin", write="delete", branch=name)
        self._graph.delete_branch(name)
        say("done", write="delete", branch=name)
        self._branches.remove(name)


def with_commit(write: str, make: Callable[[], Any], branch: str, names: list[str]) -> None:
    say("begin", write=write, branch=branch, names=names)
    commit = make().commit
    say("done", write=write, branch=branch, names=names, commit=None if commit is None else commit.id)
