"""The catalog inside a scope: types and properties outside of it do not exist there.

A query that names one gets the diagnostics of a name that does not exist. The catalog is for compiling only: executors
read tables with the whole one, because a predicate of the scope may test a property that the actor may not read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.ir import EdgeIR, InterfaceIR, NodeIR, PropertyIR, SchemaIR, constrained_properties

_ENDS = ("src", "dst")

SomeType = TypeVar("SomeType", NodeIR, EdgeIR)


def visible_catalog(catalog: Catalog, scope: DataScope) -> Catalog:
    """The types and properties of a catalog that are inside a scope."""
    nodes = tuple(
        _inside(node, scope.types[f"node:{node.name}"].properties)
        for node in catalog.schema.nodes
        if f"node:{node.name}" in scope.types
    )
    names = {node.name for node in nodes}
    ends = {
        edge.name: tuple(pair for pair in edge.pairs if names.issuperset(pair))
        for edge in catalog.edges.values()
        if edge.table_key in scope.types
    }
    edges = tuple(
        replace(_inside(edge, scope.types[f"edge:{edge.name}"].properties), ends=ends[edge.name])
        for edge in catalog.schema.edges
        if ends.get(edge.name)
    )
    interfaces = tuple(found for one in catalog.schema.interfaces if (found := _interface(one, nodes)) is not None)
    shared = {(one.name, prop.name) for one in interfaces for prop in one.properties}
    nodes = tuple(
        replace(node, properties=tuple(_declared(prop, shared) for prop in node.properties)) for node in nodes
    )
    return Catalog(replace(catalog.schema, nodes=nodes, edges=edges, interfaces=interfaces), catalog.order)


def printable(schema: SchemaIR) -> SchemaIR:
    """A schema inside a scope as its actor reads it: without the hidden texts that visible vectors are computed from.

    The catalog itself keeps them, because a search with a text needs the model.
    """
    nodes = tuple(replace(node, properties=_sourced(node.properties)) for node in schema.nodes)
    return replace(schema, nodes=nodes)


def _sourced(properties: tuple[PropertyIR, ...]) -> tuple[PropertyIR, ...]:
    names = {prop.name for prop in properties}
    return tuple(
        prop if prop.embed is None or prop.embed.source in names else replace(prop, embed=None) for prop in properties
    )


def _declared(prop: PropertyIR, shared: set[tuple[str, str]]) -> PropertyIR:
    """A property that its interface does not show, because another type hides it, is one of the type itself."""
    return prop if (prop.injected_from, prop.name) in shared else replace(prop, injected_from=None)


def _interface(interface: InterfaceIR, nodes: tuple[NodeIR, ...]) -> InterfaceIR | None:
    """The interface of the types inside: the properties that each of them shows; None if no type implements it."""
    shown = [{one.name for one in node.properties} for node in nodes if interface.name in node.implements]
    if not shown:
        return None
    common = set.intersection(*shown)
    return replace(interface, properties=tuple(one for one in interface.properties if one.name in common))


def _inside(type_: SomeType, shown: frozenset[str]) -> SomeType:
    properties = tuple(one for one in type_.properties if one.name in shown)
    known = {*shown, *_ENDS}
    constraints = tuple(one for one in type_.constraints if known.issuperset(constrained_properties(one)))
    return replace(type_, properties=properties, constraints=constraints)
