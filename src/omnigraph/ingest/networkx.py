"""NetworkX graphs as Arrow tables by type. NetworkX itself is not imported: its graphs are read through their methods.

The type of a node or an edge is an attribute; without one, all nodes are of one type and all edges of another. The
names of nodes become ids. ``omnigraph.interop.networkx`` writes graphs in the form that this module reads.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.core.display import Display, Displayed, counted, with_article
from omnigraph.errors import UsageError

TYPE_ATTRIBUTE = "type"
TYPE_ATTRIBUTE_NOTE = "omnigraph_type_attribute"
"""Attribute of a graph that names the attribute of types, where ``type`` is a property."""
ID_ATTRIBUTE_NOTE = "omnigraph_id_attribute"
"""Attribute of a graph that names the attribute of ids, where the names of nodes are ``Type:id``."""
TYPED_ENDS_NOTE = "omnigraph_typed_ends"
"""Attribute of a graph that lists the ends of edge types over several node types: ``Likes.dst HasTag.src``."""
NODE_TYPE = "Node"
EDGE_TYPE = "Edge"

_ENDS = ("src", "dst")
_RESERVED = frozenset({"id", *_ENDS})
_NOT_IN_NAMES = re.compile(r"[^0-9A-Za-z_]+")


@dataclass(frozen=True, repr=False)
class GraphTables(Mapping[str, pa.Table], Displayed):
    """Tables by type, as ``graph.load`` takes them: nodes have ``id``, edges ``src`` and ``dst``.

    ``ends`` holds the types of the nodes that the edges of a type connect.
    """

    nodes: Mapping[str, pa.Table]
    edges: Mapping[str, pa.Table]
    ends: Mapping[str, tuple[str, str]]

    def __getitem__(self, type_name: str) -> pa.Table:
        found = self.nodes.get(type_name)
        return self.edges[type_name] if found is None else found

    def __iter__(self) -> Iterator[str]:
        yield from self.nodes
        yield from self.edges

    def __len__(self) -> int:
        return len(self.nodes) + len(self.edges)

    def _display(self) -> Display:
        rows = [(name, "", table.num_rows, ", ".join(table.schema.names)) for name, table in self.nodes.items()]
        rows += [
            (name, " -> ".join(self.ends[name]), table.num_rows, ", ".join(table.schema.names))
            for name, table in self.edges.items()
        ]
        title = f"GraphTables: {counted(len(self.nodes), 'node type')}, {counted(len(self.edges), 'edge type')}"
        return Display(title, ("type", "ends", "rows", "columns"), rows)


def is_networkx(data: object) -> bool:
    """True for the graphs of NetworkX: they have nodes and edges with data, and their neighbours by node."""
    return all(hasattr(data, name) for name in ("nodes", "edges", "adj", "is_directed", "is_multigraph"))


def from_networkx(
    graph: Any, *, type_attribute: str | None = None, node_type: str = NODE_TYPE, edge_type: str = EDGE_TYPE
) -> GraphTables:
    """The nodes and edges of a NetworkX graph as Arrow tables by type, for ``graph.load``.

    ``type_attribute`` names the attribute that holds the type of a node or an edge (``type``); nodes and edges without
    it are of ``node_type`` and ``edge_type``. In a multigraph without types, keys that are texts are the types of the
    edges; with types they are their ids. An edge type between several pairs of node types becomes one type for each
    pair, such as ``PersonLikesCity``, unless the graph comes from ``to_networkx`` and has edges over several types.
    Undirected edges are stored once, in the order that the graph lists them.
    """
    if not is_networkx(graph):
        raise UsageError(
            f"{with_article(type(graph).__name__)} is not a NetworkX graph",
            hint="pass a networkx.Graph, DiGraph or MultiDiGraph",
        )
    types = _Types(type_attribute or graph.graph.get(TYPE_ATTRIBUTE_NOTE) or TYPE_ATTRIBUTE, node_type, edge_type)
    nodes, type_of, id_of = _nodes(graph, types)
    return GraphTables(nodes, *_edges(graph, types, type_of, id_of))


@dataclass(frozen=True, slots=True)
class _Types:
    """The attribute of types, and the types of nodes and edges without it."""

    attribute: str
    node: str
    edge: str

    def of_node(self, attributes: Mapping[str, Any]) -> str:
        return type_name(attributes.get(self.attribute) or self.node)

    def of_edge(self, attributes: Mapping[str, Any], key: object) -> str:
        # Keys of a multigraph are numbers by default; those that are texts distinguish relations.
        is_relation = self.attribute not in attributes and isinstance(key, str)
        return type_name(attributes.get(self.attribute) or (key if is_relation else self.edge))


@dataclass(slots=True)
class _Columns:
    """The rows of one type, as they are gathered."""

    rows: list[tuple[object, Mapping[str, Any]]] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)

    def add(self, named: object, row: Mapping[str, Any]) -> None:
        self.rows.append((named, row))
        self.names.update(dict.fromkeys(row))

    def table(self, what: str) -> pa.Table:
        columns = {
            name: _array([(named, row.get(name)) for named, row in self.rows], what, name) for name in self.names
        }
        return pa.table(columns)


def type_name(given: object) -> str:
    """A valid name of a type: the text itself, otherwise its words joined, each with an upper-case letter."""
    words = [word for word in _NOT_IN_NAMES.split(str(given)) if word]
    joined = words[0] if len(words) == 1 else "".join(word[0].upper() + word[1:] for word in words)
    joined = joined.lstrip("_0123456789")
    if not joined:
        raise UsageError(f"{given!r} cannot be the name of a type", hint="a type has a name such as Person")
    return joined[0].upper() + joined[1:]


def _nodes(graph: Any, types: _Types) -> tuple[dict[str, pa.Table], dict[object, str], dict[object, object]]:
    gathered: dict[str, _Columns] = defaultdict(_Columns)
    type_of: dict[object, str] = {}
    id_of: dict[object, object] = {}
    id_attribute = graph.graph.get(ID_ATTRIBUTE_NOTE)
    for node, attributes in graph.nodes(data=True):
        type_of[node] = types.of_node(attributes)
        id_of[node] = _id(attributes.get(id_attribute, node))
        rest = _properties(attributes, types.attribute, {id_attribute}, id_of[node], "node_id")
        gathered[type_of[node]].add(node, {"id": id_of[node], **rest})
    return {name: rows.table(name) for name, rows in sorted(gathered.items())}, type_of, id_of


def _edges(
    graph: Any, types: _Types, type_of: Mapping[object, str], id_of: Mapping[object, object]
) -> tuple[dict[str, pa.Table], dict[str, tuple[str, str]]]:
    gathered: dict[tuple[str, str, str], _Columns] = defaultdict(_Columns)
    typed = set(str(graph.graph.get(TYPED_ENDS_NOTE, "")).split())
    for source, target, key, attributes in _listed(graph):
        name = types.of_edge(attributes, key)
        row = {"src": id_of[source], "dst": id_of[target]}
        if isinstance(key, str) and types.attribute in attributes:
            row = {"id": key, **row}
        given = attributes.get(graph.graph.get(ID_ATTRIBUTE_NOTE, "id"))
        row = row if given is None else {**row, "id": str(given)}
        rest = _properties(attributes, types.attribute, {"id"}, None, "edge_id")
        ends = {"src": type_of[source], "dst": type_of[target]}
        row |= {f"{end}_type": ends.pop(end) for end in _ENDS if f"{name}.{end}" in typed}
        gathered[name, ends.get("src", ""), ends.get("dst", "")].add((source, target), row | rest)
    pairs: dict[str, int] = defaultdict(int)
    for name, _, _ in gathered:
        pairs[name] += 1
    names = {
        found: found[0] if pairs[found[0]] == 1 and found[0] not in type_of.values() else "".join(_joined(found))
        for found in gathered
    }
    tables = {names[found]: rows.table(names[found]) for found, rows in sorted(gathered.items())}
    several = "several types"
    return tables, {names[found]: (found[1] or several, found[2] or several) for found in sorted(gathered)}


def _joined(found: tuple[str, str, str]) -> tuple[str, str, str]:
    name, source, target = found
    return source, name, target


def _listed(graph: Any) -> Iterable[tuple[Any, Any, Any, Mapping[str, Any]]]:
    if graph.is_multigraph():
        yield from graph.edges(keys=True, data=True)
        return
    for source, target, attributes in graph.edges(data=True):
        yield source, target, None, attributes


def _properties(
    attributes: Mapping[str, Any], type_attribute: str, left_out: set[object], id_: object, renamed: str
) -> dict[str, Any]:
    """The attributes that become properties; one that is called like a column of the system gets another name."""
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        if name == type_attribute or name in left_out or (name == "id" and value == id_):
            continue
        found[renamed if name == "id" else f"{name}_attribute" if name in _RESERVED else str(name)] = value
    return found


def _id(node: object) -> object:
    """Texts and integers stay; every other name of a node is its text."""
    return node if isinstance(node, str) or (isinstance(node, int) and not isinstance(node, bool)) else str(node)


def _array(cells: list[tuple[object, Any]], what: str, name: str) -> pa.Array:
    values = [value for _, value in cells]
    if name in _RESERVED and len({type(value) for value in values if value is not None}) > 1:
        return pa.array([None if value is None else str(value) for value in values], pa.utf8())
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        named, value = _misfit(cells)
        raise UsageError(
            f"attribute {name!r} of {what} holds several types of values: {value!r} at {named!r} does not fit",
            hint="give the attribute values of one type, such as numbers, texts, dates or lists of them",
            attribute=name,
        ) from None


def _misfit(cells: list[tuple[object, Any]]) -> tuple[object, Any]:
    """The first value that does not fit those before it."""
    first, last = 1, len(cells)
    while first < last:
        middle = (first + last) // 2
        try:
            pa.array([value for _, value in cells[:middle]], from_pandas=True)
            first = middle + 1
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            last = middle
    return cells[last - 1]
