"""Stored queries as tools: the declared parameters are the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from omnigraph.core.actors import Action, Need
from omnigraph.mcp.answers import Answer
from omnigraph.mcp.reading import run_query
from omnigraph.mcp.session import Session, StoredQuery
from omnigraph.query.operation import KINDS

if TYPE_CHECKING:
    from omnigraph.schema.types import PropertyType

_JSON_TYPES: Final[Mapping[str, dict[str, Any]]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "bigint": {"type": ["integer", "string"], "description": "a 64-bit integer; as a text above 2^53"},
    "float": {"type": "number"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "blob": {"type": "string"},
    "vector": {"type": "array", "items": {"type": "number"}},
    "object": {"description": "any JSON value"},
}


def is_offered(session: Session, query: StoredQuery) -> bool:
    """True for reads that the actor may invoke; mutations would write to ``main`` without a task."""
    return not query.is_mutation and session.may(Need(Action.INVOKE_QUERY, query=query.name))


def input_schema(query: StoredQuery) -> dict[str, Any]:
    """The JSON schema of the parameters of a query."""
    return {
        "type": "object",
        "properties": {item.name: _argument_schema(item.type) for item in query.parameters},
        "required": [item.name for item in query.parameters if not item.type.nullable],
        "additionalProperties": False,
    }


def _argument_schema(type_: PropertyType) -> dict[str, Any]:
    if type_.is_list:
        return {"type": "array", "items": _JSON_TYPES[KINDS[type_.scalar]]}
    form = dict(_JSON_TYPES[KINDS[type_.scalar]])
    if type_.is_vector:
        form |= {"minItems": type_.dimension, "maxItems": type_.dimension}
    return form


def invoke(session: Session, query: StoredQuery, arguments: dict[str, Any]) -> Answer:
    """Run a stored read."""
    return run_query(session, query.text, arguments, query.name)
