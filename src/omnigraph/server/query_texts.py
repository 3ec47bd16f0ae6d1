"""Query texts that clients send: the query that is meant, before a policy and the engine see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from omnigraph.engine.query.run import COMPILED_CHARS_MAX, COMPILED_MAX
from omnigraph.errors import CompileError, NotFoundError, ParameterError
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source
from omnigraph.query.compile import select_query
from omnigraph.query.types.supplied import kind_of
from omnigraph.server.http.refusals import bad_request
from omnigraph.wire.http.errors import error_output_json


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


def declared(text: str, name: str | None) -> Declared:
    """The query of a text that is meant; raises CompileError, UsageError, or Refusal 400 for a name that is missing."""
    return _remembered(text, name) if len(text) <= COMPILED_CHARS_MAX else _declared(text, name)


def _declared(text: str, name: str | None) -> Declared:
    parsed = parse_queries(Source(text, "<query>"))
    if parsed.diagnostics:
        raise CompileError(parsed.diagnostics)
    try:
        query = select_query(parsed, name)
    except NotFoundError as error:
        # The request contradicts itself: nothing of the graph is missing, and only that is a 404 in 0.10.
        refusal = bad_request(error.message, error.code)
        refusal.body = {**error_output_json(error), "code": refusal.body["code"]}
        raise refusal from None
    names = frozenset(parameter.variable.name for parameter in query.parameters)
    return Declared(query.name.text, query.is_mutation, names)


_remembered: Final = lru_cache(maxsize=COMPILED_MAX)(_declared)
