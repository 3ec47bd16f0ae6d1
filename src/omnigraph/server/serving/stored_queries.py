"""Stored queries: named texts that callers invoke with parameters. They are checked when the server starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from omnigraph.errors import CompileError, InputError
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source
from omnigraph.query.compile import compile_query
from omnigraph.query.ir import MutationIR, ParameterIR
from omnigraph.schema.catalog import Catalog


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """One query of a text. The text may hold others; the name selects it."""

    name: str
    text: str = field(repr=False)
    parameters: tuple[ParameterIR, ...] = ()
    is_mutation: bool = False
    description: str | None = None
    instruction: str | None = None

    @property
    def has_vector_parameter(self) -> bool:
        """True if a parameter is a vector, which callers without an embedder cannot fill."""
        return any(parameter.type.is_vector for parameter in self.parameters)


def stored_query(name: str, text: str, catalog: Catalog) -> StoredQuery:
    """The query of that name in a text, checked against the schema; raises InputError or CompileError."""
    parsed = parse_queries(Source(text, f"{name}.gq"))
    if parsed.diagnostics:
        raise CompileError(parsed.diagnostics)
    query = next((item for item in parsed.file.queries if item.name.text == name), None)
    if query is None:
        declared = ", ".join(item.name.text for item in parsed.file.queries) or "none"
        raise InputError(f"the text of stored query {name!r} declares no query of that name, but {declared}")
    plan = compile_query(query, catalog, parsed.source)
    return StoredQuery(name, text, plan.parameters, isinstance(plan, MutationIR), query.description, query.instruction)


def names_in(text: str, source: str) -> list[str]:
    """The names of the queries that a text declares; raises CompileError."""
    parsed = parse_queries(Source(text, source))
    if parsed.diagnostics:
        raise CompileError(parsed.diagnostics)
    return [query.name.text for query in parsed.file.queries]


def check_all(queries: Iterable[StoredQuery], catalog: Catalog) -> None:
    """Check stored queries against another schema, before it is applied; raises CompileError for the first misfit."""
    for query in queries:
        stored_query(query.name, query.text, catalog)
