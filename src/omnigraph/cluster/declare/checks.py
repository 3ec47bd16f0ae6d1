"""Checks of contents: schemas compile, stored queries compile under them, policies are of the right kind. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnigraph.cluster.diagnostics import Diagnostic, problem
from omnigraph.cluster.resources import RESOURCE_ID, QueryAddress
from omnigraph.errors import CompileError, MigrationRefused, PolicyInvalid
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.policy.actions import Resource
from omnigraph.policy.read_bundle import parse_bundle
from omnigraph.query.compile import compile_query
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept

_CHECKING_DOMAIN = "00000000000000000000000000"
"""The domain of schemas that are only checked."""


def check_schema(content: bytes, file: str) -> tuple[Catalog | None, list[Diagnostic]]:
    """The catalog of a schema, or its problems."""
    text = _decoded(content)
    if text is None:
        return None, [problem("schema_parse_error", file, f"{file} is not UTF-8")]
    parsed = parse_schema(Source(text, file))
    if parsed.diagnostics:
        return None, [problem("schema_parse_error", file, item.render()) for item in parsed.diagnostics]
    try:
        return Catalog(accept(parsed, domain=_CHECKING_DOMAIN)), []
    except (CompileError, MigrationRefused) as error:
        return None, [problem("schema_catalog_error", file, error.message)]


def query_names(content: bytes, file: str) -> list[str]:
    """The names of the queries that a text declares; raises CompileError."""
    parsed = parse_queries(Source(content.decode("utf-8", "replace"), file))
    if parsed.diagnostics:
        raise CompileError(parsed.diagnostics)
    return [query.name.text for query in parsed.file.queries]


def check_queries(graph: str, texts: Mapping[str, tuple[str, bytes]], catalog: Catalog) -> Iterator[Diagnostic]:
    """Problems of stored queries, by name with file and content, under the schema of their graph."""
    for name, (file, content) in sorted(texts.items()):
        address = str(QueryAddress(graph, name))
        if RESOURCE_ID.fullmatch(name) is None:
            yield problem("invalid_resource_id", address, f"{name!r} is no id of a stored query")
            continue
        text = _decoded(content)
        if text is None:
            yield problem("query_parse_error", file, f"{file} is not UTF-8")
            continue
        parsed = parse_queries(Source(text, file))
        query = next(item for item in parsed.file.queries if item.name.text == name)
        try:
            compile_query(query, catalog, parsed.source)
        except CompileError as error:
            yield problem("query_typecheck_error", address, error.message)


def check_policy(name: str, content: bytes, file: str, *, is_server: bool) -> list[Diagnostic]:
    """Problems of a policy bundle, which is bound to graphs or to the server."""
    try:
        parse_bundle(content, file, Resource.SERVER if is_server else Resource.GRAPH)
    except PolicyInvalid as error:
        return [problem("policy_invalid", f"policy.{name}", error.message)]
    return []


def _decoded(content: bytes) -> str | None:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
