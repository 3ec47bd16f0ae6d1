"""Tools about single nodes: all of one with its neighbours, and the shortest way between two."""

from __future__ import annotations

from typing import Any, Final

from omnigraph.engine.explore.entity import read_entity
from omnigraph.engine.explore.neighbours import EdgeFound, neighbours
from omnigraph.engine.snapshot import Snapshot
from omnigraph.mcp import models
from omnigraph.mcp.answers import Answer
from omnigraph.mcp.budget import fit, shorten, squeeze, tokens
from omnigraph.mcp.reading import snapshot_of
from omnigraph.mcp.session import Session

GET_TOKENS = 4_000
PROPERTIES_TOKENS: Final = 3_000
"""Tokens of the properties of a node; its neighbours get what is left."""
PROPERTY_CHARACTERS: Final = 4_000
PATH_TOKENS: Final = 1_000
VISITED_MAX: Final = 5_000
"""Nodes that a search for a path looks at."""
EDGES_PER_STEP: Final = 1_000

Node = tuple[str, str]


def get(session: Session, given: models.Get) -> Answer:
    """A node with all properties, and its neighbours by edge type."""
    snapshot = snapshot_of(session, given.at)
    found = read_entity(snapshot, "node", given.type, given.id)
    around = neighbours(snapshot, {found.type: [found.id]}, limit=given.neighbours)
    captions = {(node.type, node.id): node.caption for node in around.nodes}
    edges = [_edge((found.type, found.id), edge, captions) for edge in around.edges]
    whole = dict(found.properties)
    properties = squeeze(shorten(whole, PROPERTY_CHARACTERS), PROPERTIES_TOKENS)
    kept = fit(edges, GET_TOKENS - tokens(properties))
    cut = ["long values are cut; query returns parts of them"] if properties != whole else []
    cut += [
        f"{item.shown} of {item.total} edges {item.type} ({item.side.value}) are shown"
        for item in around.totals
        if item.shown < item.total
    ]
    if kept.left_out:
        cut.append(f"{kept.left_out} neighbours are left out; ask for fewer with `neighbours`, or use query")
    content = {
        "type": found.type,
        "id": found.id,
        "properties": properties,
        "neighbours": kept.items,
    }
    return Answer(content, snapshot.commit_id, cut)


def _edge(centre: Node, edge: EdgeFound, captions: dict[Node, str]) -> dict[str, Any]:
    is_out = edge.source == centre
    other = edge.target if is_out else edge.source
    properties = {"properties": shorten(dict(edge.properties))} if edge.properties else {}
    caption = captions.get(other, other[1])
    named = {"name": caption} if caption != other[1] else {}
    return {"edge": edge.type, "direction": "out" if is_out else "in", "type": other[0], "id": other[1], **named} | (
        properties
    )


def paths(session: Session, given: models.Paths) -> Answer:
    """One shortest path between two nodes over edges of any type, in any direction."""
    snapshot = snapshot_of(session, given.at)
    start = _known(snapshot, given.start)
    end = _known(snapshot, given.end)
    came_from, is_whole = _search(snapshot, start, end, given.hops)
    cut = [] if is_whole else ["the search stopped at its limit of nodes; a shorter path may exist"]
    if end not in came_from:
        return Answer({"found": False, "hops": given.hops}, snapshot.commit_id, cut)
    steps: list[dict[str, Any]] = []
    at = end
    while (edge := came_from[at]) is not None:
        before = edge.source if edge.target == at else edge.target
        steps.append(
            {
                "from": {"type": edge.source[0], "id": edge.source[1]},
                "edge": edge.type,
                "to": {"type": edge.target[0], "id": edge.target[1]},
            }
        )
        at = before
    path = squeeze(steps[::-1], PATH_TOKENS)
    return Answer({"found": True, "length": len(steps), "path": path}, snapshot.commit_id, cut)


def _known(snapshot: Snapshot, place: models.Place) -> Node:
    found = read_entity(snapshot, "node", place.type, place.id)
    return found.type, found.id


def _search(snapshot: Snapshot, start: Node, end: Node, hops: int) -> tuple[dict[Node, EdgeFound | None], bool]:
    """Breadth-first search: the edge by which each node was reached, and whether no limit was met."""
    came_from: dict[Node, EdgeFound | None] = {start: None}
    frontier = [start]
    is_whole = True
    for _ in range(hops):
        if end in came_from or not frontier:
            break
        starts: dict[str, list[str]] = {}
        for type_name, id_ in frontier[:EDGES_PER_STEP]:
            starts.setdefault(type_name, []).append(id_)
        found = neighbours(snapshot, starts, limit=EDGES_PER_STEP)
        is_whole &= len(frontier) <= EDGES_PER_STEP and all(item.shown == item.total for item in found.totals)
        fresh: list[Node] = []
        for edge in found.edges:
            for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
                if here in came_from and there not in came_from and len(came_from) < VISITED_MAX:
                    came_from[there] = edge
                    fresh.append(there)
        is_whole &= len(came_from) < VISITED_MAX
        frontier = fresh
    return came_from, is_whole
