"""The entities of a picture: the nodes to show, the edges among them, and how many were left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.display import counted, shown_value
from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.explore.captions import usual_caption
from omnigraph.engine.interop.parts import GraphParts, Numbers, plain_view, read_parts
from omnigraph.engine.picture.positions import positions
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.views.view import EntityView
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.schema.catalog import EdgeType, NodeType

NODES_MAX = 20_000
"""The largest limit: more nodes take seconds to place and to draw, and a picture of them shows nothing."""

EDGES_MAX = 50_000
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
    sign: str = ""
    """``+``, ``~``, ``-`` or ``!`` in a picture of a change."""
    size: float = 0.0
    """The radius of its mark in pixels; 0 leaves it to the drawing."""


@dataclass(frozen=True, slots=True)
class SceneEdge:
    """An edge between two nodes, by their numbers in the scene."""

    id: str
    source: int
    target: int
    type: str
    properties: Mapping[str, str]
    sign: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """The contents of a picture, and the numbers of nodes and edges they were chosen from."""

    title: str
    nodes: tuple[SceneNode, ...]
    edges: tuple[SceneEdge, ...]
    nodes_total: int
    edges_total: int
    is_change: bool = False
    """Marks have signs, and properties are values before and after."""

    @property
    def shown(self) -> str:
        """The numbers of nodes and edges shown, such as ``300 of 1,200 nodes, 512 of 4,000 edges shown``.

        Totals of a change are changed entities; the others are their neighbours.
        """
        if self.is_change:
            near = len(self.nodes) - self.nodes_total
            changed = f"{counted(self.nodes_total, 'node')} and {counted(self.edges_total, 'edge')} changed"
            return f"{changed}, {counted(near, 'neighbour')}" if near > 0 else changed
        nodes = _share(len(self.nodes), self.nodes_total, "node")
        edges = _share(len(self.edges), self.edges_total, "edge")
        return f"{nodes}, {edges} shown"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The entities that a picture may show. ``ids`` are nodes by type; None for all of the types."""

    types: Sequence[str] = ()
    ids: Mapping[str, Sequence[str]] | None = None
    properties: bool = True
    """Without properties, entities have their captions only."""


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
    points = positions(snapshot, len(shown), tails, heads)
    nodes = _nodes(parts, shown, points, captions, properties=wanted.properties)
    edges = _edges(parts, rows[drawn], edge_types[drawn], tails, heads, properties=wanted.properties)
    return Scene(title, nodes, edges, int(allowed.sum()), len(sources))


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


def _allowed(parts: GraphParts, ids: Mapping[str, Sequence[str]] | None) -> npt.NDArray[np.bool_]:
    if ids is None:
        return np.ones(parts.size, bool)
    found = np.zeros(parts.size, bool)
    for node, table in zip(parts.chosen.nodes, parts.nodes, strict=True):
        wanted = pa.array(list(ids.get(node.name, ())), pa.string())
        is_in = pc.is_in(table.column("id"), value_set=wanted).to_numpy()
        found[parts.starts[node.name] :][: table.num_rows] = is_in
    return found


def _most_connected(candidates: Numbers, sources: Numbers, targets: Numbers, limit: int) -> Numbers:
    """The candidates with most edges, in their order; equal ones by that order, too."""
    size = int(candidates.max(initial=-1)) + 1
    degrees = np.bincount(sources, minlength=size) + np.bincount(targets, minlength=size)
    order = np.argsort(-degrees[candidates], kind="stable")[:limit]
    return np.sort(candidates[order])


def _nodes(
    parts: GraphParts,
    shown: Numbers,
    points: npt.NDArray[np.float64],
    captions: Mapping[str, str],
    *,
    properties: bool,
) -> tuple[SceneNode, ...]:
    found: dict[int, SceneNode] = {}
    for type_name, places, ids in parts.named(shown):
        caption = captions[type_name]
        rows = _rows(parts.snapshot.catalog.nodes[type_name], parts.snapshot, ids, None if properties else [caption])
        for place, id_, (x, y) in zip(places.tolist(), ids, points[places].tolist(), strict=True):
            row = rows[id_]
            name = shown_value(row[caption], VALUE_CHARS_MAX) or id_
            found[place] = SceneNode(id_, type_name, name, round(x, 4), round(y, 4), _shown(row) if properties else {})
    return tuple(found[place] for place in range(len(shown)))


def _edges(
    parts: GraphParts, rows: Numbers, types: Numbers, tails: Numbers, heads: Numbers, *, properties: bool
) -> tuple[SceneEdge, ...]:
    first = np.cumsum([0, *(table.num_rows for table in parts.edges)])
    found: dict[int, tuple[str, dict[str, str]]] = {}
    for index, edge in enumerate(parts.chosen.edges):
        mine = rows[types == index]
        ids = parts.edges[index].column("id").take(mine - first[index]).to_pylist()
        by_id = _rows(edge, parts.snapshot, ids, None) if properties else {}
        shown = [_shown(by_id[id_]) if properties else {} for id_ in ids]
        found |= dict(zip(mine.tolist(), zip(ids, shown, strict=True), strict=True))
    names = [edge.name for edge in parts.chosen.edges]
    places = zip(tails.tolist(), heads.tolist(), types.tolist(), rows.tolist(), strict=True)
    return tuple(SceneEdge(found[row][0], tail, head, names[type_], found[row][1]) for tail, head, type_, row in places)


def _rows(
    entity: NodeType | EdgeType, snapshot: Snapshot, ids: Sequence[str], columns: Sequence[str] | None
) -> dict[str, dict[str, Any]]:
    """The rows of some ids; all columns but blobs, or those named."""
    if not ids:
        return {}
    view: EntityView = plain_view(snapshot, entity)
    chosen = view if columns is None else view.select(*dict.fromkeys(["id", *columns]))
    return {row["id"]: row for row in chosen.where(id=list(ids))}


def _shown(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: shown_value(value, VALUE_CHARS_MAX)
        for name, value in row.items()
        if value is not None and name not in ("src", "dst", "src_type", "dst_type")
    }


def _share(shown: int, total: int, noun: str) -> str:
    return counted(total, noun) if shown == total else f"{shown:,} of {counted(total, noun)}"
