"""Stored queries as JSON: the entries of their catalog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.query.operation import KINDS

if TYPE_CHECKING:
    from omnigraph.query.ir import ParameterIR


class StoredQueryFacts(Protocol):
    """A stored query; its catalog leaves out the text."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def instruction(self) -> str | None: ...
    @property
    def is_mutation(self) -> bool: ...
    @property
    def parameters(self) -> Sequence[ParameterIR]: ...


def stored_queries_json(queries: Iterable[StoredQueryFacts]) -> dict[str, Any]:
    """The catalog, by name."""
    return {"queries": [_query_json(query) for query in sorted(queries, key=lambda query: query.name)]}


def listed_queries_json(queries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The entries of a catalog that a server has sent."""
    return {"queries": list(queries)}


def checked_queries_json(found: Iterable[tuple[str, str, str | None]]) -> dict[str, Any]:
    """Stored queries of graphs, each with the reason why it does not compile, if there is one."""
    queries = [
        {"graph_id": graph_id, "name": name, "valid": problem is None, "error": problem}
        for graph_id, name, problem in found
    ]
    return {"valid": all(item["valid"] for item in queries), "queries": queries}


def stored_query_json(query: StoredQueryFacts) -> dict[str, Any]:
    """One query with its text, which may hold other queries too."""
    return {**_query_json(query), "text": query.text}


def _query_json(query: StoredQueryFacts) -> dict[str, Any]:
    return {
        "name": query.name,
        "tool_name": query.name,
        **({} if query.description is None else {"description": query.description}),
        **({} if query.instruction is None else {"instruction": query.instruction}),
        "mutation": query.is_mutation,
        "params": [parameter_json(parameter) for parameter in query.parameters],
    }


def parameter_json(parameter: ParameterIR) -> dict[str, Any]:
    """A parameter with the kind of its values; ``bigint``, ``date``, ``datetime`` and ``blob`` travel as texts."""
    type_ = parameter.type
    if parameter.fields:
        fields = [parameter_json(field) for field in parameter.fields]
        return {"name": parameter.name, "kind": "list", "item_kind": "object", "fields": fields, "nullable": False}
    kind = KINDS[type_.scalar]
    return {
        "name": parameter.name,
        "kind": "list" if type_.is_list else kind,
        **({"item_kind": kind} if type_.is_list else {}),
        **({"vector_dim": type_.dimension} if type_.is_vector else {}),
        "nullable": type_.nullable,
    }
