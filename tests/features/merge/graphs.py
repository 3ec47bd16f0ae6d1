"""Graphs with two branches, and short ways to merge and look at them."""

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import MergeConflicts
from omnigraph.history.conflicts import MergeConflict
from tests.promises.protocol.graphs import create

SCHEMA = """
node Person { name: String @key
    age: I64?
    email: String? @unique
    city: String?
    visits: I64? @merge(sum)
    best: I64? @merge(max)
    worst: I64? @merge(min)
    tags: [String]? @merge(union)
    title: String? @merge(newest)
    legal: String? @merge(review)
    mine: String? @merge(source)
    yours: String? @merge(target)
    @range(visits, 0..100) }
node Firm { title: String @key }
edge Knows: Person -> Person { since: I64? }
edge WorksAt: Person -> Firm @card(0..1)
"""


def fresh(path: Path, schema: str = SCHEMA) -> omnigraph.Graph:
    """A graph with a few people, and a branch ``b`` that starts where main is."""
    graph = create(path, schema)
    graph.load(
        [
            *({"type": "Person", "data": {"name": name, "age": 1}} for name in ("ann", "bo", "cy", "dan")),
            {"type": "Firm", "data": {"title": "acme"}},
            {"edge": "Knows", "from": "bo", "to": "cy", "data": {"id": "bo-cy"}},
        ]
    )
    graph.create_branch("b")
    return graph


def put(graph: omnigraph.Graph, name: str, branch: str = "main", **values: Any) -> None:
    """Set properties of a person, and nothing else of it."""
    graph.mutate(
        "query q($name: String) { update Person set {"
        + ", ".join(f"{key}: {_text(v)}" for key, v in values.items())
        + "} where name = $name }",
        {"name": name},
        branch=branch,
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return "null" if value is None else str(value)


def people(graph: omnigraph.Graph, branch: str = "main") -> dict[str, dict[str, Any]]:
    """Persons by name, without what is null."""
    rows = graph.snapshot(branch).to_arrow("node:Person").to_pylist()
    hidden = ("id", "name")
    return {row["id"]: {k: v for k, v in row.items() if v is not None and k not in hidden} for row in rows}


def edges(graph: omnigraph.Graph, type_: str = "Knows", branch: str = "main") -> dict[str, tuple[str, str]]:
    """Edges by id."""
    rows = graph.snapshot(branch).to_arrow(f"edge:{type_}").to_pylist()
    return {row["id"]: (row["src"], row["dst"]) for row in rows}


def refused(graph: omnigraph.Graph, source: str = "b", into: str = "main", **options: Any) -> tuple[MergeConflict, ...]:
    """The conflicts of a merge; nothing is changed by it."""
    before = graph.snapshot(into)
    with pytest.raises(MergeConflicts) as raised:
        graph.merge(source, into, **options)
    assert graph.snapshot(into).commit_id == before.commit_id
    preview = graph.merge_preview(source, into, **options)
    assert preview.outcome.value == "conflicts"
    assert preview.conflicts == raised.value.conflicts
    assert raised.value.table == preview.conflicts_table()  # type: ignore[comparison-overlap] # it is an Arrow table
    found: tuple[MergeConflict, ...] = raised.value.conflicts  # type: ignore[assignment] # they are of this type
    return found


def kinds(conflicts: tuple[MergeConflict, ...]) -> list[tuple[str, str | None, str | None]]:
    return [(conflict.kind.value, conflict.id, conflict.property) for conflict in conflicts]
