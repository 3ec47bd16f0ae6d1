"""NetworkX graphs as tables: one for each type of nodes, and one for each type of edges between two of them.

The attribute ``type`` names the type of a node or an edge; without it, ``label`` does, if it is a class and not a name:
if there are at most half as many labels as nodes. Graphs are recognised by their methods, so that only reading GraphML
needs the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from omnigraph.errors import InputError, UsageError
from omnigraph.ingest.infer.names import is_type_name, type_name

ID: Final = "id"
SOURCE: Final = "source"
TARGET: Final = "target"
_TYPE_ATTRIBUTES: Final = ("type", "label")


@dataclass(frozen=True, slots=True)
class NetworkTable:
    """The nodes of one type, or the edges of one type with the types of their ends."""

    type: str
    table: pa.Table
    ends: tuple[str, str] | None = None
    relation: str | None = None
    """The name of the edges in the graph, which edges between other types may have as well."""


@dataclass
class _Rows:
    """Rows of attributes, gathered column by column."""

    fixed: dict[str, list[Any]] = field(default_factory=dict)
    attributes: list[Mapping[Any, Any]] = field(default_factory=list)

    def add(self, attributes: Mapping[Any, Any], **fixed: Any) -> None:
        for name, value in fixed.items():
            self.fixed.setdefault(name, []).append(value)
        self.attributes.append(attributes)

    def table(self, dropped: str | None) -> pa.Table:
        columns = {name: _ids(values) for name, values in self.fixed.items()}
        names = dict.fromkeys(key for row in self.attributes for key in row if key != dropped)
        for name in names:
            shown = str(name)
            columns[f"attribute {shown}" if shown in columns else shown] = _column(
                [row.get(name) for row in self.attributes]
            )
        return pa.table(columns)


def is_network(data: object) -> bool:
    """Tell if data is a NetworkX graph, or looks like one."""
    return all(hasattr(data, name) for name in ("nodes", "edges", "is_directed", "is_multigraph"))


def read_graphml(path: str) -> Any:
    """The NetworkX graph in a GraphML file."""
    try:
        import networkx
    except ImportError as error:
        raise UsageError(
            f"reading {path} needs NetworkX, which is not installed",
            hint='pip install "omnigraph[networkx]"',
            path=path,
        ) from error
    try:
        return networkx.read_graphml(path)
    except OSError as error:
        from omnigraph.storage.objects.outside_files import unreadable

        raise unreadable(path, error) from error
    except Exception as error:
        # The library raises errors of its own, of the XML parser and of its conversions.
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{path} is not GraphML: {reason}", hint="check that the file is complete", path=path
        ) from error


def network_tables(graph: Any) -> list[NetworkTable]:
    """The tables of a graph, nodes first."""
    nodes = {node: dict(attributes) for node, attributes in graph.nodes(data=True)}
    if not nodes:
        raise InputError("the NetworkX graph has no nodes", hint="add nodes before a schema is inferred from it")
    typing = _type_attribute(list(nodes.values()))
    types = {node: _name(attributes.get(typing), is_edge=False) for node, attributes in nodes.items()}
    by_type: dict[str, _Rows] = {}
    for node, attributes in nodes.items():
        by_type.setdefault(types[node], _Rows()).add(attributes, id=node)
    tables = [NetworkTable(name, rows.table(typing)) for name, rows in by_type.items()]
    return [*tables, *_edge_tables(graph, types)]


def _edge_tables(graph: Any, types: Mapping[Any, str]) -> list[NetworkTable]:
    edges = list(graph.edges(data=True, keys=True)) if graph.is_multigraph() else list(graph.edges(data=True))
    typing = _type_attribute([edge[-1] for edge in edges])
    groups: dict[tuple[str, str, str], _Rows] = {}
    for source, target, *keys, given in edges:
        # Numbers of parallel edges are only counted by the library; texts are names that a user gave.
        attributes = {**given, "key": keys[0]} if keys and isinstance(keys[0], str) else given
        group = (_name(given.get(typing), is_edge=True), types[source], types[target])
        groups.setdefault(group, _Rows()).add(attributes, source=source, target=target)
    names = [name for name, _, _ in groups]
    return [
        NetworkTable(
            name if names.count(name) == 1 else f"{name}{first}{second}", rows.table(typing), (first, second), name
        )
        for (name, first, second), rows in groups.items()
    ]


def _type_attribute(rows: Sequence[Mapping[Any, Any]]) -> str | None:
    for name in _TYPE_ATTRIBUTES:
        values = [row.get(name) for row in rows]
        is_class = name == "type" or len(set(map(str, values))) * 2 <= len(values)
        if values and is_class and all(isinstance(value, str) and value for value in values):
            return name
    return None


def _name(given: Any, *, is_edge: bool) -> str:
    if given is None:
        return "Edge" if is_edge else "Node"
    return given if is_type_name(given) else type_name(given, is_edge=is_edge)


def _ids(values: Sequence[Any]) -> pa.Array:
    """Ids as integers if all are; otherwise as texts."""
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return _column(values)
    return pa.array([value if isinstance(value, str) else str(value) for value in values], pa.utf8())


def _column(values: Iterable[Any]) -> pa.Array:
    """Values of one type as they are; values of several types as texts."""
    items = list(values)
    try:
        return pa.array(items, from_pandas=True)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        return pa.array([None if item is None else str(item) for item in items], pa.utf8())
