"""One client: makes transactions on one branch and notes what it did and saw.

Run as `client.py <uri> <branch> <life> <transactions> <journal> <validated>`. A note is written before a transaction
may have an effect and another one when it was answered, each with one write to the journal, so that a kill loses
neither.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import Any

import omnigraph
from omnigraph.engine.graph import Graph
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import ConflictError, OutcomeUnknown, StorageError
from tests.promises.history_checker.transactions import Outcome
from tests.support.faults.window import arm

SCHEMA = """
node List { name: String @key  items: [I64] }
node Register { name: String @key  value: I64 }
"""

LIST_ITEMS_MAX = 24
"""A longer list is left alone and the next one begun, so that values stay small."""

KEYS = 3
"""Lists and registers of a branch that are written at a time. Few, so that transactions meet."""


class Client:
    """One life of a process. Values are unique by life and count."""

    def __init__(self, graph: Graph, branch: str, life: int, journal: int, is_validated: bool) -> None:
        self._graph, self._branch, self._life, self._journal = graph, branch, life, journal
        self._is_validated = is_validated
        self._draw = random.Random(life)
        self._count = 0

    def transact(self) -> bool:
        """One transaction of a random kind; True if it was acknowledged."""
        self._count += 1
        kind = self._draw.choices(["append", "blind", "read", "read main"], [6, 2, 1, 1])[0]
        if kind == "append":
            return self._append()
        if kind == "blind":
            return self._blind()
        return self._read(self._branch if kind == "read" else "main")

    def _note(self, **facts: object) -> None:
        name = f"{self._branch}-{self._life}-{self._count}"
        os.write(self._journal, json.dumps({"name": name, **facts}).encode() + b"\n")

    def _new_value(self) -> int:
        self._count += 1
        return self._life * 1_000_000 + self._count

    def _read(self, branch: str) -> bool:
        began = time.monotonic()
        snapshot = self._graph.snapshot(branch)
        lists, registers = read_all(snapshot)
        ended = time.monotonic()
        seen = {"lists": lists, "registers": registers}
        self._note(domain=branch, began=began, ended=ended, outcome=Outcome.OK, **seen)
        return True

    def _append(self) -> bool:
        """Read some keys, append to some lists and perhaps replace a register, if nothing happened meanwhile."""
        began = time.monotonic()
        snapshot = self._graph.snapshot(self._branch)
        lists, registers = read_all(snapshot)
        chosen = [self._current(lists, number) for number in self._draw.sample(range(KEYS), 2)]
        appends = {key: [self._new_value()] for key in chosen[: self._draw.choice([1, 2])]}
        if self._draw.random() < 0.3:
            key = next(iter(appends))
            appends[key] = [*appends[key], self._new_value()]
        register = f"{self._branch}:{self._draw.randrange(KEYS)}"
        writes = {register: [self._new_value()]} if self._draw.random() < 0.5 else {}
        statements = [
            _statement("List", "items", key, [*lists.get(key, []), *values], key in lists)
            for key, values in appends.items()
        ] + [_statement("Register", "value", key, values[-1], key in registers) for key, values in writes.items()]
        self._note(
            domain=self._branch,
            began=began,
            lists={key: lists.get(key, []) for key in chosen},
            registers={key: registers.get(key) for key in writes},
            appends=appends,
            writes=writes,
        )
        return self._commit(statements, snapshot.commit_id if self._is_validated else None)

    def _blind(self) -> bool:
        """Write a register without having read anything; it must be there, since insert and update differ."""
        key, value = f"{self._branch}:blind{self._draw.randrange(KEYS)}", self._new_value()
        self._note(domain=self._branch, began=time.monotonic(), writes={key: [value]})
        return self._commit([_statement("Register", "value", key, value, True)], None)

    def _current(self, lists: dict[str, list[int]], number: int) -> str:
        generation = 0
        while len(lists.get(key := f"{self._branch}:{number}:{generation}", [])) >= LIST_ITEMS_MAX:
            generation += 1
        return key

    def _commit(self, statements: list[str], if_commit: str | None) -> bool:
        try:
            self._graph.mutate(f"query q() {{ {' '.join(statements)} }}", branch=self._branch, if_commit=if_commit)
            outcome = Outcome.OK
        except OutcomeUnknown:
            outcome = Outcome.UNKNOWN
        except (ConflictError, StorageError):
            # Before the swap every failure means that nothing was changed.
            outcome = Outcome.FAILED
        self._note(outcome=outcome, ended=time.monotonic())
        return outcome is Outcome.OK


def _statement(type_name: str, column: str, key: str, value: object, exists: bool) -> str:
    written = json.dumps(value)
    if exists:
        return f'update {type_name} set {{ {column}: {written} }} where name = "{key}"'
    return f'insert {type_name} {{ name: "{key}", {column}: {written} }}'


def read_all(snapshot: Snapshot) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Every list and every register of a snapshot."""
    return _column(snapshot, "List", "items"), _column(snapshot, "Register", "value")


def _column(snapshot: Snapshot, type_name: str, column: str) -> dict[str, Any]:
    table = snapshot.to_arrow(f"node:{type_name}")
    return dict(zip(table["name"].to_pylist(), table[column].to_pylist(), strict=True))


def main(uri: str, branch: str, life: str, transactions: str, journal: str, validated: str) -> None:
    graph = omnigraph.open(uri, durability="os")
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    client = Client(graph, branch, int(life), file, validated == "True")
    arm()
    acknowledged = 0
    while acknowledged < int(transactions):
        acknowledged += client.transact()


if __name__ == "__main__":
    main(*sys.argv[1:])
