"""The properties of entities, out of the nodes and edges that cognee passes: the last one of an identity counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cognee.modules.graph.methods.sanitize_relational_payload import sanitize_relational_payload

from omnigraph.integrations.cognee.tables import Members, RelationKey, written

Entity = Any
"""A model with ``model_dump``, an object with members, or a tuple of an id and members."""

_COLUMNS = ("id", "name", "type")


def node_rows(nodes: Iterable[Entity]) -> dict[str, dict[str, Any]]:
    """Nodes by id."""
    rows = {}
    for node in nodes:
        members = _members(node)
        id_, name, kind = (_text(members.get(column, "")) for column in _COLUMNS)
        others = {key: value for key, value in members.items() if key not in _COLUMNS}
        rows[id_] = {"node_id": id_, "name": name, "kind": kind, "properties": written(_clean(others))}
    return rows


def relation_rows(edges: Iterable[Sequence[Any]]) -> dict[RelationKey, dict[str, Any]]:
    """Relations by their ends and label."""
    rows = {}
    for source, target, label, *rest in edges:
        members: Members = _clean(dict(rest[0] or {})) if rest else {}
        key = _text(source), _text(target), _text(label)
        rows[key] = {"label": key[2], "object": object_id(members), "properties": written(members)}
    return rows


def object_id(members: Members) -> str | None:
    """The id under which cognee gives feedback about a relation."""
    found = members.get("edge_object_id")
    return found if isinstance(found, str) and found else None


def _members(node: Entity) -> Members:
    if isinstance(node, tuple):
        return {**(node[1] or {}), "id": node[0]}
    return dict(node.model_dump() if hasattr(node, "model_dump") else vars(node))


def _text(value: Any) -> str:
    return str(_clean(str(value)))


def _clean(value: Any) -> Any:
    """Without zero characters, which other stores of cognee drop as well."""
    return sanitize_relational_payload(value)
