"""Tags: the words that stand for node types in the tables of edges.

An edge type with several node types at an end stores for every edge, beside the id of the node, the tag of its type:
the name that the type had when it was declared first. A rename keeps the tag, so that tables, differences and merges do
not see it. A tag never stands for two types.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from omnigraph.schema.ends.pairs import edge_pairs, end_types
from omnigraph.schema.ir import EdgeIR, NodeIR, SchemaIR, TypeIR, TypeKind

ALWAYS_TAGGED = ""
"""In place of a tag: every edge of this end has its own."""

Accepted = Mapping[tuple[TypeKind, str], TypeIR]
"""Types of the accepted schema by the kind and the name of the types that continue them."""


def tagged_nodes(nodes: list[NodeIR], accepted: Accepted, previous: SchemaIR | None) -> tuple[NodeIR, ...]:
    """The nodes with their tags: continued ones keep theirs, new ones get tags that no other type has or had."""
    kept: dict[str, str] = {}
    for node in nodes:
        before = accepted.get((TypeKind.NODE, node.name))
        if isinstance(before, NodeIR):
            kept[node.name] = before.stored_tag
    taken = {*kept.values(), *(() if previous is None else previous.retired_tags)}
    found: list[NodeIR] = []
    for node in nodes:
        tag = _unused_tag(node.name, taken) if node.name not in kept else kept[node.name]
        found.append(replace(node, tag=None if tag == node.name else tag))
    return tuple(found)


def tagged_edges(schema: SchemaIR, accepted: Accepted, previous: SchemaIR | None) -> tuple[EdgeIR, ...]:
    """The edges with what their tables say about the types of their ends. A column for these types is never dropped."""
    pairs, before = edge_pairs(schema), {} if previous is None else edge_pairs(previous)
    tags = {} if previous is None else {node.name: node.stored_tag for node in previous.nodes}
    found: list[EdgeIR] = []
    for edge in schema.edges:
        was = accepted.get((TypeKind.EDGE, edge.name))
        known = was.tagged if isinstance(was, EdgeIR) else (None, None)
        old = end_types(before[was.name]) if isinstance(was, EdgeIR) else ((), ())
        source, target = (
            _tagged(types, tagged, [tags[name] for name in names])
            for types, tagged, names in zip(end_types(pairs[edge.name]), known, old, strict=True)
        )
        found.append(replace(edge, tagged=(source, target)))
    return tuple(found)


def _tagged(types: tuple[str, ...], known: str | None, before: list[str]) -> str | None:
    if known is not None or len(types) < 2:
        return known
    return before[0] if before else ALWAYS_TAGGED


def retired_tags(before: SchemaIR, after: SchemaIR) -> tuple[str, ...]:
    """Tags of dropped node types that edges on other branches and in older versions may have."""
    pairs = edge_pairs(before)
    ends = {name for edge in before.edges if edge.tagged != (None, None) for pair in pairs[edge.name] for name in pair}
    used = {node.stored_tag for node in after.nodes}
    gone = {node.stored_tag for node in before.nodes if node.name in ends} - used
    return tuple(sorted({*before.retired_tags, *gone}))


def _unused_tag(name: str, taken: Collection[str]) -> str | None:
    """The tag of a new node type, None if its name serves: a tag never stands for two types."""
    life = 2
    if name not in taken:
        return None
    while f"{name}~{life}" in taken:
        life += 1
    return f"{name}~{life}"
