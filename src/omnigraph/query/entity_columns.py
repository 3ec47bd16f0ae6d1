"""The columns of a result that hold ids of nodes, and the edge types that its query follows."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.core.scalars import Scalar
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Expand, Operator, QueryIR, Scan, ShortestPath, Stage
from omnigraph.query.rewrite.tree import inputs
from omnigraph.schema.catalog import Catalog


def entity_columns(query: QueryIR, catalog: Catalog) -> dict[str, str]:
    """Node types by the name of the column. The value of a key that is one text is the id, too."""
    types = _types(query.root)
    found: dict[str, str] = {}
    for column in query.columns:
        if column.field is not None:
            continue
        match column.expression:
            case ir.EntityId(variable) if variable in types:
                found[column.name] = types[variable]
            case ir.Property(variable, name, type_) if variable in types:
                if catalog.nodes[types[variable]].key == (name,) and type_.scalar is Scalar.STRING:
                    found[column.name] = types[variable]
            case _:
                continue
    return found


def followed_edges(query: QueryIR) -> tuple[str, ...]:
    """The edge types that a query follows, each once."""
    edges = (item.edge for item in _walk(query.root) if isinstance(item, Expand | ShortestPath))
    return tuple(dict.fromkeys(edges))


def _types(root: Operator) -> dict[str, str]:
    found: dict[str, str] = {}
    for operator in _walk(root):
        match operator:
            case Scan(variable, type_name):
                found[variable] = type_name
            case Stage():
                found |= {item.variable: item.type_name for item in operator.entities if not item.is_edge}
            case Expand() if not operator.closes:
                found[operator.new_variable] = operator.new_type
            case _:
                continue
    return found


def _walk(operator: Operator) -> Iterator[Operator]:
    yield operator
    for below in inputs(operator):
        yield from _walk(below)
