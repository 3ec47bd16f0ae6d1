"""The entities of a picture: the nodes to show, the edges among them, and how many were left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from omnigraph.core.display import shown_value
from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.interop.parts import GraphParts, Numbers, plain_view, read_parts
from omnigraph.engine.picture.captions import usual_caption
from omnigraph.engine.picture.layout import layout
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import NotFoundError, UsageError

NODES_MAX = 2_000
"""The largest limit: more nodes are slow to place, and a picture of them shows nothing."""

EDGES_MAX = 5_000
VALUE_CHARS_MAX = 120

Caption = str | Mapping[str, str] | None
"""The property that names the nodes, or one for each type."""


@dataclass(frozen=True, slots=True)
class SceneNode:
    """A node at its place."""

    id: str
    type: str
    caption: str
    x: float
    y: float
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SceneEdge:
    """An edge between two nodes, by their numbers in the scene."""

    source: int
    target: int
    type: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Scene:
    """The contents of a picture, and the numbers of nodes and edges they were chosen from."""

    title: str
    nodes: tuple[SceneNode, ...]
    edges: tuple[SceneEdge, ...]
    nodes_total: int
    edges_total: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """The nodes that a picture may show, by type and id; None for all of the types."""

    types: Sequence[str] = ()
    ids: Mapping[str, Sequence[str]] | None = None


def scene(snapshot: Snapshot, wanted: Wanted, limit: int, caption: Caption, title: str) -> Scene:
    """Choose, read and place the entities. Above the limit, the nodes with most edges are shown."""
    if not 1 <= limit <= NODES_MAX:
        raise UsageError(f"a picture has 1 to {NODES_MAX:,} nodes, not {limit:,}", hint="pass another limit")
    parts = read_parts(snapshot, wanted.types, properties=False)
    captions = _captions(parts, caption)
    sources, targets, edge_types = _all_edges(parts)
    allowed = _allowed(parts, wanted.ids)
    is_inside = allowed[sources] & allowed[targets]
    sources, targets, edge_types = sources[is_inside], targets[is_inside], edge_types[is_inside]
    rows = np.flatnonzero(is_inside)
    shown = _most_connected(np.flatnonzero(allowed), sources, targets, limit)
    place = np.full(parts.size, -1, np.int64)
    place[shown] = np.arange(len(shown))
    is_drawn = (place[sources] >= 0) & (place[targets] >= 0)
    drawn = np.flatnonzero(is_drawn)[:EDGES_MAX]
    tails, heads = place[sources[drawn]], place[targets[drawn]]
    points = layout(len(shown), tails, heads)
    edges = _edges(parts, rows[drawn], edge_types[drawn], tails, heads)
    return Scene(title, _nodes(parts, shown, points, captions), edges, int(allowed.sum()), len(sources))


def _captions(parts: GraphParts, caption: Caption) -> dict[str, str]:
    """The property that names the nodes of each type: the one given, a key of one property, or the first text."""
    found: dict[str, str] = {}
    for node in parts.chosen.nodes:
        given = caption.get(node.name) if isinstance(caption, Mapping) else caption
        if isinstance(caption, Mapping) and given is not None and given not in node.properties:
            hint = did_you_mean(given, node.properties) or f"its properties are {', '.join(node.properties)}"
            raise NotFoundError(f"{node.name} has no property {given!r}", hint=hint, type=node.name, property=given)
        found[node.name] = given if given in node.properties else usual_caption(parts.snapshot, node)
    known = any(caption in node.properties for node in parts.chosen.nodes) if isinstance(caption, str) else True
    if not known:
        properties = {name for node in parts.chosen.nodes for name in node.properties}
        hint = did_you_mean(str(caption), properties) or f"their properties are {', '.join(sorted(properties))}"
        raise NotFoundError(f"no type of the picture has a property {caption!r}", hint=hint, property=str(caption))
    return found


def _all_edges(parts: GraphParts) -> tuple[Numbers, Numbers, Numbers]:
    """The ends of all edges, and the number of the type of each."""
    ends = [parts.ends(index) for index in range(len(parts.edges))]
    empty = np.zeros(0, np.int64)
    types = [np.full(len(sources), index, np.int64) for index, (sources, _) in enumerate(ends)]
    return (
        np.concatenate([empty, *(sources for sources, _ in ends)]),
        np.concatenate([empty, *(targets for _, targets in ends)]),
        np.concatenate([empty, *types]),
    )


def _allowed(parts: GraphParts, ids: Mapping[str, Sequence[str]] | None) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if ids is None:
        return np.ones(parts.size, bool)
    wanted = {type_name: set(some) for type_name, some in ids.items()}
    pairs = zip(parts.types, parts.ids, strict=True)
    return np.fromiter((id_ in wanted.get(type_, ()) for type_, id_ in pairs), bool, parts.size)


def _most_connected(candidates: Numbers, sources: Numbers, targets: Numbers, limit: int) -> Numbers:
    """The candidates with most edges, in their order; equal ones by that order, too."""
    size = int(candidates.max(initial=-1)) + 1
    degrees = np.bincount(sources, minlength=size) + np.bincount(targets, minlength=size)
    order = np.argsort(-degrees[candidates], kind="stable")[:limit]
    return np.sort(candidates[order])


def _nodes(
    parts: GraphParts, shown: Numbers, points: np.ndarray[Any, np.dtype[np.float64]], captions: Mapping[str, str]
) -> tuple[SceneNode, ...]:
    ids: dict[str, list[str]] = {}
    for number in shown.tolist():
        ids.setdefault(parts.types[number], []).append(parts.ids[number])
    rows = {
        (type_name, row["id"]): row
        for type_name, some in ids.items()
        for row in plain_view(parts.snapshot, parts.snapshot.catalog.nodes[type_name]).where(id=some)
    }
    found = []
    for number, (x, y) in zip(shown.tolist(), points.tolist(), strict=True):
        type_name, id_ = parts.types[number], parts.ids[number]
        row = rows[type_name, id_]
        name = shown_value(row[captions[type_name]], VALUE_CHARS_MAX) or id_
        found.append(SceneNode(id_, type_name, name, round(x, 4), round(y, 4), _shown(row)))
    return tuple(found)


def _edges(parts: GraphParts, rows: Numbers, types: Numbers, tails: Numbers, heads: Numbers) -> tuple[SceneEdge, ...]:
    first = np.cumsum([0, *(table.num_rows for table in parts.edges)])
    properties: dict[int, dict[str, str]] = {}
    for index, edge in enumerate(parts.chosen.edges):
        mine = rows[types == index]
        ids = parts.edges[index].column("id").take(mine - first[index]).to_pylist()
        found = plain_view(parts.snapshot, edge).where(id=ids) if ids else ()
        by_id = {row["id"]: row for row in found}
        properties |= {number: _shown(by_id[id_]) for number, id_ in zip(mine.tolist(), ids, strict=True)}
    return tuple(
        SceneEdge(tail, head, parts.chosen.edges[type_].name, properties[row])
        for tail, head, type_, row in zip(tails.tolist(), heads.tolist(), types.tolist(), rows.tolist(), strict=True)
    )


def _shown(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: shown_value(value, VALUE_CHARS_MAX)
        for name, value in row.items()
        if value is not None and name not in ("src", "dst", "src_type", "dst_type")
    }
