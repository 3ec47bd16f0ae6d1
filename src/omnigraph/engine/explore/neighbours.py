"""Neighbours of some nodes: their edges by type and direction, up to a limit each, with totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from omnigraph.core.display import shown_value
from omnigraph.engine.explore.captions import usual_caption
from omnigraph.engine.explore.conditions import Comparison, Condition, matching
from omnigraph.engine.explore.entity import edge_ends
from omnigraph.engine.explore.pages import rows_of
from omnigraph.engine.interop.parts import plain_view
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.views.view import EntityView
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import ID
from omnigraph.rows.write.results import result_rows
from omnigraph.schema.catalog import EdgeType, NodeType, type_named

STARTS_MAX: Final = 1_000
"""Nodes whose neighbours one call looks up."""
EDGES_PER_TYPE_MAX: Final = 1_000
CAPTION_CHARS_MAX: Final = 120


class Side(StrEnum):
    """Direction of edges, seen from the nodes that are given."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class NodeFound:
    """A node: its type and id, the value that names it, and its properties without blobs and vectors."""

    type: str
    id: str
    caption: str
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EdgeFound:
    """An edge, and the types and ids of its ends."""

    type: str
    id: str
    source: tuple[str, str]
    target: tuple[str, str]
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EdgeTotal:
    """The edges of one type in one direction: all of them, and those shown."""

    type: str
    side: Side
    total: int
    shown: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Some nodes with their neighbours, each once, and the edges between the two."""

    nodes: tuple[NodeFound, ...]
    edges: tuple[EdgeFound, ...]
    totals: tuple[EdgeTotal, ...]


def neighbours(
    snapshot: Snapshot,
    starts: Mapping[str, Sequence[str]],
    *,
    edges: Sequence[str] | None = None,
    side: Side = Side.BOTH,
    limit: int = 50,
) -> Neighbourhood:
    """The neighbours of nodes, given as ids by type, over some edge types or all."""
    if sum(map(len, starts.values())) > STARTS_MAX:
        raise UsageError(f"one call reads the neighbours of at most {STARTS_MAX:,} nodes")
    if not 0 <= limit <= EDGES_PER_TYPE_MAX:
        raise UsageError(f"the limit is 0 to {EDGES_PER_TYPE_MAX:,} edges of each type, not {limit:,}")
    given = {snapshot.nodes(name).type_name: list(dict.fromkeys(ids)) for name, ids in starts.items()}
    found: dict[tuple[str, str], EdgeFound] = {}
    totals: list[EdgeTotal] = []
    for edge in _edge_types(snapshot, edges):
        for direction, view in _sides(snapshot, edge, given, side):
            shown = list(_edges(edge, view.limit(limit)))
            add_total(totals, EdgeTotal(edge.name, direction, len(view), len(shown)))
            found |= {(item.type, item.id): item for item in shown}
    ends = [end for item in found.values() for end in (item.source, item.target)]
    wanted = dict.fromkeys([*((name, id_) for name, ids in given.items() for id_ in ids), *ends])
    return Neighbourhood(tuple(nodes_of(snapshot, list(wanted))), tuple(found.values()), tuple(totals))


def add_total(totals: list[EdgeTotal], added: EdgeTotal) -> None:
    """Add up the edges of one type and direction, which several types of nodes may have."""
    last = totals[-1] if totals else None
    if last is not None and (last.type, last.side) == (added.type, added.side):
        totals[-1] = EdgeTotal(added.type, added.side, last.total + added.total, last.shown + added.shown)
    else:
        totals.append(added)


def nodes_of(snapshot: Snapshot, wanted: Sequence[tuple[str, str]]) -> Iterator[NodeFound]:
    """Nodes by type and id, type by type; those that do not exist are left out."""
    by_type: dict[str, list[str]] = {}
    for type_name, id_ in wanted:
        by_type.setdefault(type_name, []).append(id_)
    for type_name, ids in by_type.items():
        node = snapshot.catalog.nodes[type_name]
        caption = usual_caption(snapshot, node)
        for row in result_rows(rows_of(shown_columns(snapshot, node), ids)):
            id_ = row.pop(ID)
            yield NodeFound(type_name, id_, shown_value(row.get(caption), CAPTION_CHARS_MAX) or id_, row)


def shown_columns(snapshot: Snapshot, entity: NodeType | EdgeType) -> EntityView:
    """All columns of a type that a list shows: no blobs and no vectors."""
    view = plain_view(snapshot, entity)
    declared = entity.properties
    return view.select(*(name for name in view.columns if name not in declared or not declared[name].type.is_vector))


def _edge_types(snapshot: Snapshot, names: Sequence[str] | None) -> list[EdgeType]:
    every = [item for item in snapshot.entities() if isinstance(item, EdgeType)]
    return every if names is None else [type_named(every, name, "edge type") for name in dict.fromkeys(names)]


def _sides(
    snapshot: Snapshot, edge: EdgeType, starts: Mapping[str, list[str]], side: Side
) -> Iterator[tuple[Side, EntityView]]:
    """The edges of a type that leave or reach the nodes; a loop does both."""
    view = shown_columns(snapshot, edge)
    for direction, end in ((Side.OUT, edge.source), (Side.IN, edge.target)):
        for type_name in end.types if side in (direction, Side.BOTH) else ():
            if type_name in starts:
                wanted = [Condition(end.column, Comparison.IN, starts[type_name])]
                if end.is_typed:
                    wanted.append(Condition(str(end.type_column), Comparison.EQ, type_name))
                yield direction, matching(view, wanted)


def _edges(edge: EdgeType, view: EntityView) -> Iterator[EdgeFound]:
    for batch in view.batches():
        for row in result_rows(batch):
            id_, (source, target) = row.pop(ID), edge_ends(edge, row)
            yield EdgeFound(edge.name, id_, source, target, row)
