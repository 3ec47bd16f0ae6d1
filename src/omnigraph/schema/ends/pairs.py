"""Ends of edge types: from declared names to pairs of node types, and back to text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from omnigraph.schema.ir import NodeIR, Pair, SchemaIR


def implementers(nodes: Iterable[NodeIR]) -> dict[str, tuple[str, ...]]:
    """The node types that implement each interface, by name."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        for interface in node.implements:
            found.setdefault(interface, []).append(node.name)
    return {name: tuple(sorted(types)) for name, types in found.items()}


def expand_ends(
    ends: Iterable[Pair], nodes: Collection[str], interfaces: Mapping[str, tuple[str, ...]]
) -> tuple[Pair, ...]:
    """Pairs of node types: an interface stands for the types that implement it, unless a node type has its name."""

    def types(name: str) -> tuple[str, ...]:
        return (name,) if name in nodes else interfaces.get(name, ())

    return tuple(
        sorted({(source, target) for left, right in ends for source in types(left) for target in types(right)})
    )


def edge_pairs(schema: SchemaIR) -> dict[str, tuple[Pair, ...]]:
    """The pairs of node types that each edge type connects, by its name."""
    nodes, interfaces = {node.name for node in schema.nodes}, implementers(schema.nodes)
    return {edge.name: expand_ends(edge.ends, nodes, interfaces) for edge in schema.edges}


def end_types(pairs: Iterable[Pair]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The node types at the source and at the target."""
    known = tuple(pairs)
    sources, targets = (tuple(sorted({pair[side] for pair in known})) for side in (0, 1))
    return sources, targets


def grouped_ends(ends: Iterable[Pair]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Pairs as they are written: sources with the same targets together."""
    targets: dict[str, set[str]] = {}
    for source, target in ends:
        targets.setdefault(source, set()).add(target)
    groups: dict[tuple[str, ...], list[str]] = {}
    for source, reached in sorted(targets.items()):
        groups.setdefault(tuple(sorted(reached)), []).append(source)
    return sorted((tuple(sources), reached) for reached, sources in groups.items())


def ends_text(ends: Iterable[Pair]) -> str:
    """Ends as ``.pg`` writes them: ``Post | Comment -> Tag``."""
    return ", ".join(f"{' | '.join(sources)} -> {' | '.join(targets)}" for sources, targets in grouped_ends(ends))
