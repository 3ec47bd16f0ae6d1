"""The example ``examples/ldbc``: its graph, its queries with their parameters, and the same questions in SQL."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import omnigraph
from examples.ldbc.generate import records

LDBC = Path(__file__).resolve().parents[3] / "examples" / "ldbc"
FILES = ("lsqb", "interactive_short", "interactive_complex")
_QUERY = re.compile(r"^query (\w+)\(", re.MULTILINE)
_SELECT = re.compile(r"^-- name: (\w+)\n(.*?);$", re.MULTILINE | re.DOTALL)

# Both engines return the items of these columns in any order.
SETS = {"friendUniversities", "friendCompanies", "tagNames"}
# Rows of these may have equal keys, and then come in any order.
TIED = {"ic14"}


@dataclass(frozen=True, slots=True)
class Question:
    """A query of a file with one set of parameters."""

    file: str
    name: str
    params: dict[str, Any]

    def __str__(self) -> str:
        return "-".join([self.name, *map(str, self.params.values())])


def text(file: str) -> str:
    return (LDBC / file).read_text(encoding="utf-8")


def query_names(file: str) -> list[str]:
    return _QUERY.findall(text(f"{file}.gq"))


def selects(file: str) -> dict[str, str]:
    """The statements of a file of SQL by their names."""
    return dict(_SELECT.findall(text(f"{file}.sql")))


def parameters() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(text("parameters.json"))
    return found


def questions() -> list[Question]:
    sets = parameters()
    return [
        Question(file, name, params) for file in FILES for name in query_names(file) for params in sets.get(name, [{}])
    ]


def made(place: Path) -> omnigraph.Graph:
    graph = omnigraph.create(place, text("ldbc.pg"), durability="os")
    graph.load(list(records()), "append")
    return graph


def comparable(question: Question, rows: list[dict[str, Any]]) -> list[list[Any]]:
    """The rows with everything in one order that may come in any."""
    values = [[sorted(value) if column in SETS else value for column, value in row.items()] for row in rows]
    return sorted(values) if question.name in TIED else values


def answer(graph: omnigraph.Graph, question: Question) -> list[dict[str, Any]]:
    return graph.query(text(f"{question.file}.gq"), question.params, name=question.name).to_pylist()
