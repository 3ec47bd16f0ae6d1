"""Opening of graphs to serve: by address, with stored queries from files, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from omnigraph.engine.graph import Graph, open_graph
from omnigraph.errors import InputError, UsageError
from omnigraph.manifest.layout import MAIN
from omnigraph.server.serving.graphs import ServedGraph, check_graph_id
from omnigraph.server.serving.stored_queries import StoredQuery, names_in, stored_query

OPENED_PARALLEL: Final = 4
"""Graphs that are opened at the same time."""

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GraphAddress:
    """A graph to serve, with the directory or file of its stored queries."""

    id: str
    uri: str
    storage_options: Mapping[str, str] = field(default_factory=dict)
    queries: Path | None = None


def in_parallel(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """The results of work, in order."""
    with ThreadPoolExecutor(OPENED_PARALLEL, thread_name_prefix="omnigraph-open") as pool:
        return list(pool.map(work, items))


def check_distinct(addresses: Sequence[GraphAddress]) -> None:
    """Refuse ids that cannot name a graph, and two graphs with one id or one address."""
    for kind, values in (
        ("id", [check_graph_id(item.id) for item in addresses]),
        ("address", [item.uri.rstrip("/") for item in addresses]),
    ):
        repeated = next((value for value in values if values.count(value) > 1), None)
        if repeated is not None:
            raise UsageError(f"two graphs have the {kind} {repeated!r}", hint="name each graph once")


def open_served(address: GraphAddress, known: Graph | None = None) -> ServedGraph:
    """Open a graph, unless it is ``known``, and read its stored queries; raises an error of the tree."""
    graph = known or open_graph(address.uri, storage_options=address.storage_options)
    texts = {} if address.queries is None else query_texts(address.queries)
    return ServedGraph(address.id, graph, queries=checked_queries(graph, texts))


def checked_queries(graph: Graph, texts: Mapping[str, str]) -> dict[str, StoredQuery]:
    """Stored queries by name; all compile under the schema of ``main``."""
    catalog = graph.catalog(MAIN)
    return {name: stored_query(name, text, catalog) for name, text in sorted(texts.items())}


def query_texts(place: Path) -> dict[str, str]:
    """The texts of stored queries by name: all that a file, or the ``.gq`` files of a directory, declare."""
    files = sorted(place.glob("*.gq")) if place.is_dir() else [place]
    texts: dict[str, str] = {}
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputError(f"cannot read the stored queries in {file}: {reason}", path=str(file)) from error
        for name in names_in(text, str(file)):
            if name in texts:
                raise InputError(f"stored query {name!r} is declared twice", hint="give one of them another name")
            texts[name] = text
    return texts
