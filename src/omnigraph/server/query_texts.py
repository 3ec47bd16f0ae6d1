"""Query texts that clients send: the query that is meant, before a policy and the engine see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from omnigraph.errors import CompileError, ParameterError
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source
from omnigraph.query.compile import select_query
from omnigraph.query.types.supplied import kind_of


@dataclass(frozen=True, slots=True)
class Declared:
    """The header of a query."""

    name: str
    is_mutation: bool
    parameters: frozenset[str]

    def known(self, params: Any) -> dict[str, Any] | None:
        """The parameters that the query declares. Clients of Omnigraph 0.10 may send others, which are ignored."""
        if params is None:
            return None
        # A dict first: the check for any mapping costs more than the rest of this.
        if not isinstance(params, dict) and not isinstance(params, Mapping):
            raise ParameterError(f"params must be an object, got {kind_of(params)}", hint='like {"name": "Ada"}')
        return {name: value for name, value in params.items() if name in self.parameters}


@lru_cache(maxsize=512)
def declared(text: str, name: str | None) -> Declared:
    """The query of a text that is meant; raises CompileError, UsageError or NotFoundError."""
    parsed = parse_queries(Source(text, "<query>"))
    if parsed.diagnostics:
        raise CompileError(parsed.diagnostics)
    query = select_query(parsed, name)
    names = frozenset(parameter.variable.name for parameter in query.parameters)
    return Declared(query.name.text, query.is_mutation, names)
