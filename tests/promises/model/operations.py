"""Operations of the model applied to the graph, and the graph read back in the model's terms."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import omnigraph
from omnigraph.engine.graph import Graph
from tests.promises.model.plain import NODES, Row, Statement, Tables, empty

_TYPES = {
    "name": "String",
    "title": "String",
    "email": "String?",
    "age": "I64?",
    "since": "I64?",
    "from": "String",
    "to": "String",
}


def mutation(statements: list[Statement]) -> tuple[str, dict[str, Any]]:
    """The text and the parameters of a mutation."""
    parameters: dict[str, Any] = {}
    declared: list[str] = []
    lines: list[str] = []

    def parameter(name: str, value: object, type_: str | None = None) -> str:
        number = f"p{len(parameters)}"
        parameters[number] = value
        declared.append(f"${number}: {type_ or _TYPES[name]}")
        return f"${number}"

    for statement in statements:
        values = ", ".join(f"{name}: {parameter(name, value)}" for name, value in statement.values.items())
        where = ""
        if statement.where is not None:
            column, test, value = statement.where
            where = f" where {column} {test} {parameter(column, value, _TYPES[column].rstrip('?'))}"
        match statement.verb:
            case "insert":
                lines.append(f"insert {statement.type} {{ {values} }}")
            case "update":
                lines.append(f"update {statement.type} set {{ {values} }}{where}")
            case _:
                lines.append(f"delete {statement.type}{where}")
    body = "\n  ".join(lines)
    return f"query change({', '.join(declared)}) {{\n  {body}\n}}", parameters


def records(rows: Iterable[tuple[str, str, Row]]) -> list[dict[str, Any]]:
    """Rows of the model as records that `load` reads."""
    given = []
    for type_, id_, row in rows:
        if type_ in NODES:
            given.append({"type": type_, "data": {key: value for key, value in row.items() if value is not None}})
        else:
            data = {"id": id_, **{key: value for key, value in row.items() if key not in ("src", "dst")}}
            given.append({"edge": type_, "from": row["src"], "to": row["dst"], "data": data})
    return given


def parse(export: Iterable[bytes]) -> Tables:
    """An export as the model's tables."""
    tables = empty()
    for line in b"".join(export).splitlines():
        record = json.loads(line)
        data = record["data"]
        id_ = data.pop("id")
        if "type" in record:
            tables[record["type"]][id_] = _full(record["type"], data)
        else:
            edge = record["edge"]
            assert id_ not in tables[edge], "an id twice"
            tables[edge][id_] = {"src": record["from"], "dst": record["to"], **_full(edge, data)}
    return tables


def _full(type_: str, data: Row) -> Row:
    optional = {"Person": ("email", "age"), "Knows": ("since",)}.get(type_, ())
    return dict.fromkeys(optional) | data


def adopt(expected: Tables, made: list[tuple[str, str]], found: Tables) -> None:
    """Give new edges of the model the ids that the graph minted for them."""
    for edge, name in made:
        row = expected[edge].pop(name)
        fresh = [id_ for id_, other in found[edge].items() if id_ not in expected[edge] and other == row]
        assert fresh, f"{edge} {row} is missing"
        expected[edge][fresh[0]] = row


def mutate_elsewhere(uri: str, text: str, parameters: dict[str, Any], branch: str) -> str | None:
    """A mutation in a process of its own; answers the commit."""
    graph: Graph = omnigraph.open(uri, durability="os")
    commit = graph.mutate(text, parameters, branch=branch).commit
    return None if commit is None else commit.id
