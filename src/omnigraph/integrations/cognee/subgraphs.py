"""Parts of a cognee graph that its retrievers and views read: neighbourhoods, node sets, filtered parts, measures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from omnigraph.integrations.cognee.tables import NodeData, RelationData, View

PAIRS_MAX: Final = 100_000
"""Pairs of neighbours that one step of a bounded walk reads in each direction: a hub must not fill the memory."""
COLUMNS: Final = {"id": "node_id", "name": "name", "type": "kind"}
"""Members of nodes that are properties of their own."""

Part = tuple[list[NodeData], list[RelationData]]


def everything(view: View) -> Part:
    """All nodes and relations."""
    return view.nodes(), view.relations()


def around(view: View, ids: Sequence[str], depth: int, labels: Sequence[str] | None) -> Part:
    """Nodes within some steps of the given ones, along relations of some labels, and all relations between them."""
    if depth < 0:
        raise ValueError(f"depth must be non-negative, got {depth}")
    seen = dict.fromkeys(ids)
    frontier = list(seen)
    for _ in range(depth):
        found = {far: None for _, far in view.neighbours(frontier, labels, PAIRS_MAX) if far not in seen}
        if not found:
            break
        seen |= found
        frontier = list(found)
    return view.nodes_of(seen), view.relations_within(seen)


def members(view: View, ids: Sequence[str], depth: int, nodes_max: int) -> list[str]:
    """Ids of a bounded neighbourhood, nearest first. The nodes of the frontier take turns, so no hub takes all."""
    known = view.known(ids)
    seen = dict.fromkeys([id_ for id_ in ids if id_ in known][:nodes_max])
    frontier = list(seen)
    for _ in range(depth):
        if not frontier or len(seen) >= nodes_max:
            break
        queues: dict[str, list[str]] = defaultdict(list)
        for near, far in view.neighbours(frontier, None, PAIRS_MAX):
            if far not in seen:
                queues[near].append(far)
        found = list(dict.fromkeys(_in_turns([queues[near] for near in frontier])))[: nodes_max - len(seen)]
        seen |= dict.fromkeys(found)
        frontier = found
    return list(seen)


def _in_turns(queues: Sequence[Sequence[str]]) -> Iterator[str]:
    for place in range(max(map(len, queues), default=0)):
        yield from (queue[place] for queue in queues if place < len(queue))


def named(view: View, type_name: str, names: Sequence[str], *, every: bool) -> Part:
    """Nodes of a type with some names, their neighbours (with ``every`` those of all of them), and the relations."""
    if not names:
        return [], []
    rows = view.rows(
        "match { $n: CogneeNode { kind: $kind } ($n.name in $names) } return { $n.node_id as id }",
        kind=type_name,
        names=list(names),
    )
    primary = [row["id"] for row in rows]
    near: dict[str, set[str]] = defaultdict(set)
    for node, neighbour in view.neighbours(primary, None, PAIRS_MAX):
        near[neighbour].add(node)
    wanted = [neighbour for neighbour, nodes in near.items() if not every or len(nodes) == len(primary)]
    ids = list(dict.fromkeys([*primary, *wanted]))
    return view.nodes_of(ids), view.relations_within(ids)


def filtered(view: View, filters: Iterable[Mapping[str, Sequence[Any]]]) -> Part:
    """Nodes whose id, name and type are among the values given for them, and the relations between them."""
    conditions: list[str] = []
    params: dict[str, Any] = {}
    for number, (name, values) in enumerate((name, values) for item in filters for name, values in item.items()):
        if name not in COLUMNS:
            raise ValueError(f"Invalid filter attribute: {name!r} (expected {', '.join(COLUMNS)})")
        if not values:
            return [], []
        conditions.append(f"($n.{COLUMNS[name]} in $v{number})")
        params[f"v{number}"] = [str(value) for value in values]
    if not conditions:
        return everything(view)
    nodes = view.nodes(" ".join(conditions), **params)
    return nodes, view.relations_within(id_ for id_, _ in nodes)


def busiest(view: View, limit: int) -> list[str]:
    """Ids of nodes with many relations, then of others. Both directions are counted among the first of each."""
    degrees: Counter[str] = Counter()
    for end in ("$a", "$b"):
        rows = view.rows(
            f"match {{ $a: CogneeNode $a $r: cogneeRelation $b }} return {{ {end}.node_id as id, count(*) as n }}"
            " order { n desc, id } limit $limit",
            limit=4 * limit,
        )
        degrees.update({row["id"]: row["n"] for row in rows})
    found = [id_ for id_, _ in sorted(degrees.items(), key=lambda item: (-item[1], item[0]))][:limit]
    if len(found) < limit:
        # At most `limit` of them are known already.
        rows = view.rows("match { $n: CogneeNode } return { $n.node_id as id } order { id } limit $size", size=limit)
        found += [row["id"] for row in rows if row["id"] not in degrees]
    return found[:limit]


def counts(view: View) -> tuple[int, int]:
    """Numbers of nodes and relations."""
    nodes = view.count("match { $n: CogneeNode } return { count($n) as n }")
    return nodes, view.count("match { $a: CogneeNode $a $r: cogneeRelation $b } return { count(*) as n }")


def measures(view: View, *, is_complete: bool) -> dict[str, Any]:
    """The measures of a graph that cognee keeps; -1 for one that is not computed."""
    ids = [row["id"] for row in view.rows("match { $n: CogneeNode } return { $n.node_id as id }")]
    ends = [
        (row["source"], row["target"])
        for row in view.rows(
            "match { $a: CogneeNode $a $r: cogneeRelation $b } return { $a.node_id as source, $b.node_id as target }"
        )
    ]
    sizes = _component_sizes(ids, ends)
    return {
        "num_nodes": len(ids),
        "num_edges": len(ends),
        "mean_degree": 2 * len(ends) / len(ids) if ids else None,
        "edge_density": len(ends) / (len(ids) * (len(ids) - 1)) if len(ids) > 1 else 0,
        "num_connected_components": len(sizes),
        "sizes_of_connected_components": sizes,
        "num_selfloops": sum(source == target for source, target in ends) if is_complete else -1,
        "diameter": -1,
        "avg_shortest_path_length": -1,
        "avg_clustering": -1,
    }


def _component_sizes(ids: Iterable[str], ends: Iterable[tuple[str, str]]) -> list[int]:
    """Sizes of the connected components, largest first (union-find)."""
    parents = {id_: id_ for id_ in ids}

    def root(id_: str) -> str:
        while parents[id_] != id_:
            parents[id_] = parents[parents[id_]]
            id_ = parents[id_]
        return id_

    for source, target in ends:
        parents[root(source)] = root(target)
    return sorted(Counter(map(root, parents)).values(), reverse=True)
