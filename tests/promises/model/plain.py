"""The model: a branch is a dictionary of tables, a table a dictionary of rows by id, a commit a copy of all of it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

SCHEMA = """
node Person {
  name: String @key
  email: String? @unique
  age: I64?
}
node Firm { title: String @key }
edge Knows: Person -> Person { since: I64? }
edge WorksAt: Person -> Firm @card(0..1)
"""

NODES = {"Person": "name", "Firm": "title"}
EDGES = {"Knows": ("Person", "Person"), "WorksAt": ("Person", "Firm")}
PROPERTIES = {"Person": ("name", "email", "age"), "Firm": ("title",), "Knows": ("since",), "WorksAt": ()}

Row = dict[str, Any]
Tables = dict[str, dict[str, Row]]


class Invalid(Exception):
    """The graph must refuse this."""


def empty() -> Tables:
    return {name: {} for name in (*NODES, *EDGES)}


def check(tables: Tables) -> None:
    """Everything the schema demands of a whole graph."""
    emails = [row["email"] for row in tables["Person"].values() if row["email"] is not None]
    if len(emails) != len(set(emails)):
        raise Invalid("email")
    for edge, (source, target) in EDGES.items():
        for row in tables[edge].values():
            if row["src"] not in tables[source] or row["dst"] not in tables[target]:
                raise Invalid("endpoint")
    sources = [row["src"] for row in tables["WorksAt"].values()]
    if len(sources) != len(set(sources)):
        raise Invalid("cardinality")


@dataclass(frozen=True)
class Statement:
    """One statement of a mutation: `insert` with a row, `update` and `delete` with a condition."""

    verb: str
    type: str
    values: Row = field(default_factory=dict)
    where: tuple[str, str, Any] | None = None


_TESTS = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">=": lambda left, right: left >= right,
}


def matches(row: Row, where: tuple[str, str, Any]) -> bool:
    column, test, value = where
    current = row[{"from": "src", "to": "dst"}.get(column, column)]
    return current is not None and value is not None and _TESTS[test](current, value)


def run(tables: Tables, statements: list[Statement]) -> tuple[Tables, list[tuple[str, str]]]:
    """The tables after a mutation, and the new edges as (type, name given by the model): their ids are the graph's."""
    after = copy.deepcopy(tables)
    made: list[tuple[str, str]] = []
    for number, statement in enumerate(statements):
        table = after[statement.type]
        if statement.verb == "insert":
            row = dict.fromkeys(PROPERTIES[statement.type]) | statement.values
            if statement.type in NODES:
                table[row[NODES[statement.type]]] = row
            else:
                made.append((statement.type, f"?{number}"))
                table[f"?{number}"] = {"src": row.pop("from"), "dst": row.pop("to"), **row}
            continue
        assert statement.where is not None
        found = [id_ for id_, row in table.items() if matches(row, statement.where)]
        for id_ in found:
            if statement.verb == "update":
                table[id_] = table[id_] | statement.values
            else:
                del table[id_]
        if statement.verb == "delete" and statement.type in NODES:
            cascade(after, statement.type, set(found))
    check(after)
    return after, [edge for edge in made if edge[1] in after[edge[0]]]


def cascade(tables: Tables, node: str, gone: set[str]) -> None:
    for edge, (source, target) in EDGES.items():
        for id_, row in list(tables[edge].items()):
            if (source == node and row["src"] in gone) or (target == node and row["dst"] in gone):
                del tables[edge][id_]


def load(tables: Tables, records: list[tuple[str, str, Row]], mode: str) -> Tables:
    """The tables after a load of (type, id, row)."""
    after = copy.deepcopy(tables)
    given = [(type_, id_) for type_, id_, _ in records]
    for type_, id_ in given:
        is_twice = given.count((type_, id_)) > 1
        if is_twice and (mode != "merge" or type_ in NODES):
            raise Invalid("duplicate")
        if mode == "append" and id_ in after[type_]:
            raise Invalid("exists")
    if mode == "overwrite":
        for type_, _ in given:
            after[type_] = {}
    for type_, id_, row in records:
        after[type_][id_] = dict(row)
    check(after)
    return after


@dataclass
class Branch:
    """The content of a branch, and its commits, oldest first."""

    tables: Tables
    commits: list[str]


@dataclass
class Model:
    """All branches, and the content at every commit ever made."""

    branches: dict[str, Branch]
    states: dict[str, Tables]

    def commit(self, branch: str, commit_id: str, tables: Tables) -> None:
        self.branches[branch].tables = tables
        self.branches[branch].commits.append(commit_id)
        self.states[commit_id] = copy.deepcopy(tables)

    def is_visible(self, commit_id: str) -> bool:
        return any(commit_id in branch.commits for branch in self.branches.values())

    def fork(self, name: str, origin: Branch, commit_id: str) -> None:
        until = origin.commits.index(commit_id) + 1
        self.branches[name] = Branch(copy.deepcopy(self.states[commit_id]), origin.commits[:until])
