"""A change as a scene: changed entities with signs, one hop of unchanged ones, conflicts; large changes by type."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np

from omnigraph.core.display import shown_value
from omnigraph.engine.explore.captions import usual_caption
from omnigraph.engine.explore.neighbours import STARTS_MAX, neighbours, nodes_of
from omnigraph.engine.picture.positions import positions
from omnigraph.engine.picture.scene import VALUE_CHARS_MAX, Scene, SceneEdge, SceneNode
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import UsageError
from omnigraph.history.changes import Change, ChangeFilter, Counts, Image, Node, Op
from omnigraph.schema.catalog import EdgeEnd, EdgeType

CHANGES_MAX: Final = 2_000
"""Changes that are drawn one by one; more are drawn by type."""

NEIGHBOURS_PER_CHANGE: Final = 3
NEIGHBOURS_MAX: Final = 600
"""Edges of context: enough to see where a change belongs, few enough to see the change."""

SIGNS: Final[Mapping[Op, str]] = {Op.INSERT: "+", Op.UPDATE: "~", Op.DELETE: "-"}
CONFLICT: Final = "!"
BUBBLE_PIXELS: Final = 10.0
BUBBLE_PIXELS_PER_TENFOLD: Final = 5.0

Key = tuple[str, str]
"""The type and id of a node."""


class Changes(Protocol):
    """The part of a diff that is drawn. A diff draws itself, so this package does not import it."""

    @property
    def before(self) -> Snapshot | None: ...
    @property
    def after(self) -> Snapshot: ...
    @property
    def chosen(self) -> ChangeFilter: ...
    @property
    def counts(self) -> Mapping[str, Counts]: ...
    def changes(self, limit: int | None = None) -> Iterator[Change]: ...
    def __len__(self) -> int: ...


@dataclass(slots=True)
class _Parts:
    """Nodes and edges that were found, without places."""

    nodes: dict[Key, SceneNode] = field(default_factory=dict)
    edges: dict[tuple[str, str], tuple[Key, Key, SceneEdge]] = field(default_factory=dict)

    def scene(self, snapshot: Snapshot, title: str, totals: tuple[int, int]) -> Scene:
        """The scene, at its places."""
        place = {key: number for number, key in enumerate(self.nodes)}
        ends = [(place[source], place[target]) for source, target, _ in self.edges.values()]
        tails, heads = (np.array([end[side] for end in ends], np.int64) for side in (0, 1))
        points = positions(snapshot, len(place), tails, heads)
        nodes = [
            replace(node, x=round(x, 4), y=round(y, 4))
            for node, (x, y) in zip(self.nodes.values(), points.tolist(), strict=True)
        ]
        edges = [
            replace(edge, source=tail, target=head)
            for (tail, head), (*_, edge) in zip(ends, self.edges.values(), strict=True)
        ]
        return Scene(title, tuple(nodes), tuple(edges), *totals, is_change=True)


def change_scene(diff: Changes, conflicts: Sequence[Key], title: str, limit: int = CHANGES_MAX) -> Scene:
    """The changes of a diff, one by one up to the limit, otherwise by type.

    A diff of named types is always drawn one by one: the first of its changes.
    """
    if not 1 <= limit <= CHANGES_MAX:
        raise UsageError(f"a picture has 1 to {CHANGES_MAX:,} changes, not {limit:,}", hint="pass another limit")
    if is_by_type(diff, limit):
        return type_scene(diff, title)
    parts = _Parts()
    changes = list(diff.changes(limit))
    for change in changes:
        if change.kind == "node":
            _add_node(parts, diff, change, set(conflicts))
    changed_nodes = len(parts.nodes)
    _add_edges(parts, diff, [change for change in changes if change.kind == "edge"])
    changed = changed_nodes, len(parts.edges)
    _add_context(parts, diff, changes)
    return parts.scene(diff.after, title, changed)


def is_by_type(diff: Changes, limit: int) -> bool:
    """True if a diff is drawn by type."""
    return len(diff) > limit and diff.chosen.types is None


def type_scene(diff: Changes, title: str) -> Scene:
    """One node for each node type that changed or that a changed edge type connects, with the numbers of changes."""
    parts = _Parts()
    counts = diff.counts
    connected: dict[str, EdgeType] = {}
    catalogs = [snapshot.catalog for snapshot in (diff.before, diff.after) if snapshot is not None]
    for catalog in catalogs:
        for edge in catalog.edges.values():
            found = counts.get(edge.table_key)
            if found is None:
                continue
            for name in edge.node_types:
                parts.nodes.setdefault((name, name), SceneNode(name, name, name, 0, 0, {}))
            connected[edge.name] = edge
        for node in catalog.nodes.values():
            found = counts.get(node.table_key)
            if found is not None:
                parts.nodes[node.name, node.name] = SceneNode(
                    node.name,
                    node.name,
                    f"{node.name} {found}",
                    0,
                    0,
                    _numbers(found),
                    _sign(found),
                    BUBBLE_PIXELS + BUBBLE_PIXELS_PER_TENFOLD * math.log10(1 + found.total),
                )
    for edge in connected.values():
        found = counts[edge.table_key]
        for source, target in edge.pairs:
            id_ = edge.name if edge.is_single else f"{edge.name} {source} {target}"
            line = SceneEdge(id_, 0, 0, f"{edge.name} {found}", _numbers(found), _sign(found))
            parts.edges[edge.name, id_] = ((source, source), (target, target), line)
    totals = [sum(item.total for key, item in counts.items() if key.startswith(kind)) for kind in ("node", "edge")]
    return parts.scene(diff.after, title, (totals[0], totals[1]))


def _numbers(counts: Counts) -> dict[str, str]:
    named = {"inserted": counts.inserted, "updated": counts.updated, "deleted": counts.deleted}
    return {name: f"{number:,}" for name, number in named.items() if number}


def _sign(counts: Counts) -> str:
    """The sign of changes of one kind; a mixture is an update of the type."""
    kinds = [sign for sign, number in (("+", counts.inserted), ("-", counts.deleted)) if number]
    return kinds[0] if len(kinds) == 1 and not counts.updated else "~"


def _add_node(parts: _Parts, diff: Changes, change: Change, conflicts: set[Key]) -> None:
    key = (change.type_name, change.id)
    sign = CONFLICT if key in conflicts else SIGNS[change.op]
    image = change.after or change.before
    assert image is not None
    snapshot = diff.after if change.type_name in diff.after.catalog.nodes or diff.before is None else diff.before
    caption = usual_caption(snapshot, snapshot.catalog.nodes[change.type_name])
    name = shown_value(image.properties.get(caption), VALUE_CHARS_MAX) or change.id
    parts.nodes[key] = SceneNode(change.id, change.type_name, name, 0, 0, dict(_values(change)), sign)


def _add_edges(parts: _Parts, diff: Changes, changes: Sequence[Change]) -> None:
    """Changed edges. Ends that did not change are context, named by the side that has them."""
    missing: dict[Key, None] = {}
    for change in changes:
        image = change.after or change.before
        assert image is not None and image.source is not None and image.target is not None
        source, target = _ends(diff, change, image)
        missing |= {key: None for key in (source, target) if key not in parts.nodes}
        line = SceneEdge(change.id, 0, 0, change.type_name, dict(_values(change)), SIGNS[change.op])
        parts.edges[change.type_name, change.id] = (source, target, line)
    for snapshot in (diff.after, diff.before):
        if snapshot is not None:
            wanted = [key for key in missing if key not in parts.nodes and key[0] in snapshot.catalog.nodes]
            for node in nodes_of(snapshot, wanted):
                parts.nodes[node.type, node.id] = SceneNode(node.id, node.type, node.caption, 0, 0, {})
    for type_name, id_ in missing:
        # A data rule may hide the end of an edge that it shows.
        parts.nodes.setdefault((type_name, id_), SceneNode(id_, type_name, id_, 0, 0, {}))


def _ends(diff: Changes, change: Change, image: Image) -> tuple[Key, Key]:
    snapshot = diff.after if change.type_name in diff.after.catalog.edges or diff.before is None else diff.before
    edge = snapshot.catalog.edges[change.type_name]
    return _key(edge.source, image.source), _key(edge.target, image.target)


def _key(end: EdgeEnd, node: Node) -> Key:
    return (node["type"], node["id"]) if isinstance(node, Mapping) else (end.types[0], str(node))


def _add_context(parts: _Parts, diff: Changes, changes: Sequence[Change]) -> None:
    """One hop of unchanged entities around nodes that still exist."""
    starts: dict[str, list[str]] = {}
    kept = [change for change in changes if change.kind == "node" and change.op is not Op.DELETE][:STARTS_MAX]
    for change in kept:
        starts.setdefault(change.type_name, []).append(change.id)
    if not starts:
        return
    limit = min(NEIGHBOURS_MAX, NEIGHBOURS_PER_CHANGE * len(kept) + 8)
    around = neighbours(diff.after, starts, limit=limit)
    named = {(node.type, node.id): node for node in around.nodes}
    for edge in around.edges[:NEIGHBOURS_MAX]:
        if (edge.type, edge.id) in parts.edges or not {edge.source, edge.target} <= named.keys():
            continue
        for key in (edge.source, edge.target):
            node = named[key]
            parts.nodes.setdefault(key, SceneNode(node.id, node.type, node.caption, 0, 0, {}))
        parts.edges[edge.type, edge.id] = (edge.source, edge.target, SceneEdge(edge.id, 0, 0, edge.type, {}))


def _values(change: Change) -> Iterator[tuple[str, str]]:
    """The values that a change sets; those of an update before and after."""
    if change.op is Op.UPDATE:
        assert change.before is not None and change.after is not None
        for name in change.changed:
            yield name, f"{_shown(change.before, name)} → {_shown(change.after, name)}"
        return
    image = change.after or change.before
    assert image is not None
    for name, value in image.properties.items():
        if value is not None:
            yield name, shown_value(value, VALUE_CHARS_MAX)


def _shown(image: Image, name: str) -> str:
    value = {"src": image.source, "dst": image.target}.get(name, image.properties.get(name))
    return "null" if value is None else shown_value(value, VALUE_CHARS_MAX)
