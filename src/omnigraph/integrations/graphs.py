"""The graph of an integration: opened from an address, with the types that the integration keeps its data in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from omnigraph.client.addresses import is_remote
from omnigraph.client.opening import open_graph
from omnigraph.client.texts import catalog_of
from omnigraph.engine.graph import Graph
from omnigraph.errors import AlreadyExistsError, ConflictError, MigrationRefused, UsageError
from omnigraph.lang.pg_ast import EdgeDecl
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.manifest.layout import MAIN
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType

if TYPE_CHECKING:
    # A remote graph needs the extra `client`; graphs on disk do not.
    from omnigraph.client.remote_graph import RemoteGraph

AnyGraph: TypeAlias = "Graph | RemoteGraph"
GraphOrAddress: TypeAlias = "AnyGraph | str | os.PathLike[str]"

ATTEMPTS: Final = 8
"""Attempts to add types while other processes change the schema."""


def opened(
    graph: GraphOrAddress, declarations: str, options: Mapping[str, Any] | None = None, branch: str = MAIN
) -> AnyGraph:
    """The graph, with the declared types in its schema.

    An address is opened with the options of ``omnigraph.open``; a graph that does not exist is created. Types that the
    schema of the branch lacks are added to it; one that exists with other properties raises ``UsageError``.
    """
    if not isinstance(graph, str | os.PathLike):
        found = graph
        if options:
            raise UsageError(
                f"unexpected argument for a graph that is open: {next(iter(options))}",
                hint="options of `omnigraph.open` go with an address",
            )
    elif is_remote(graph):
        found = open_graph(os.fspath(graph), **{"token": None, **(options or {})})
    else:
        found = open_graph(graph, create=declarations, **(options or {}))
    declare(found, declarations, branch)
    return found


def declare(graph: AnyGraph, declarations: str, branch: str = MAIN) -> None:
    """Add missing types to a branch; several processes may do so at the same time."""
    for attempt in range(1, ATTEMPTS + 1):
        text = graph.schema_text(branch)
        missing = _missing(catalog_of(text), declarations)
        if not missing:
            return
        try:
            graph.apply_schema(f"{text.rstrip()}\n\n{missing}\n", branch=branch, message="Add types of an integration")
        except (AlreadyExistsError, ConflictError, MigrationRefused):
            # Another process has changed the schema: what is missing is found again.
            if attempt == ATTEMPTS:
                raise


def _missing(known: Catalog, declarations: str) -> str:
    """The declarations whose types a schema does not have; raises UsageError for one that it has with less."""
    wanted = catalog_of(declarations)
    kept: list[str] = []
    for item in parse_schema(Source(declarations, "<declarations>")).file.declarations:
        kind = "edges" if isinstance(item, EdgeDecl) else "nodes"
        name = item.name.text
        found: NodeType | EdgeType | None = getattr(known, kind).get(name)
        if found is None:
            kept.append(declarations[item.span.start : item.span.end])
            continue
        declared: NodeType | EdgeType = getattr(wanted, kind)[name]
        for lacking, property_ in declared.properties.items():
            there = found.properties.get(lacking)
            if there is None or str(there.type) != str(property_.type):
                raise UsageError(
                    f"the type {name} of the graph has no property {lacking}: {property_.type}",
                    hint="use another graph, or rename that type",
                    type_name=name,
                )
    return "\n\n".join(kept)
