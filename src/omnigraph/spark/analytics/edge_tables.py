"""The chosen edges as tasks read them, and chunks of edges on their way to the block of their targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.exec.analytics.blocks import EdgeArrays, Weights, joined_edges, narrow_numbers
from omnigraph.exec.analytics.chosen import ChosenEdges
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.local import checked_weights
from omnigraph.rows.arrow_types import DST, SRC
from omnigraph.rows.ends.references import is_of_type, with_types
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.ir import Pair
from omnigraph.spark.analytics.division import Division
from omnigraph.spark.analytics.messages import Message
from omnigraph.spark.cluster import limits
from omnigraph.storage.tables.scan import fragment_groups, scan
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True, slots=True)
class EdgePiece:
    """Fragments of an edge table that one task reads."""

    edge: EdgeType
    pin: TablePin
    fragments: tuple[int, ...]
    pair: Pair
    """The node types between which edges count."""


@dataclass(frozen=True, slots=True)
class EdgeOrder:
    """The edges that an analysis wants: the property that is their weight, their form, and their direction."""

    weight: str | None
    form: Form
    is_turned: bool = False

    def directed(self, edges: EdgeArrays) -> EdgeArrays:
        """Stored edges in the directions in which values travel."""
        spread = edges.spread(self.form)
        return spread.turned if self.is_turned else spread

    @property
    def turned(self) -> EdgeOrder:
        """The same in the opposite direction."""
        return replace(self, is_turned=not self.is_turned)

    @property
    def is_symmetric(self) -> bool:
        return self.form is not Form.DIRECTED


def edge_pieces(store: Store, pins: Mapping[str, TablePin], chosen: ChosenEdges) -> list[EdgePiece]:
    """All chosen edges."""
    return [
        EdgePiece(edge, pins[edge.table_key], group, pair)
        for edge in chosen.edges
        for pair in edge.pairs
        for group in fragment_groups(store, pins[edge.table_key], limits.FACT_ROWS)
    ]


def read_edges(
    store: Store, piece: EdgePiece, weight: str | None
) -> Iterator[tuple[pa.Array, pa.Array, Callable[..., Weights | None]]]:
    """Ids of both ends, batch by batch, and a function for the weights of some of the edges."""
    names = with_types(piece.edge, [SRC, DST, *([] if weight is None else [weight])])
    for stored in scan(store, piece.pin, names, fragments=piece.fragments):
        batch = stored
        for end, name in zip(piece.edge.ends, piece.pair, strict=True) if piece.edge.has_types else ():
            batch = batch.filter(is_of_type(end, name, batch))
        yield batch.column(SRC), batch.column(DST), _Weighed(batch, piece.edge.name, weight)


@dataclass(frozen=True)
class _Weighed:
    batch: pa.RecordBatch
    edge_name: str
    weight: str | None

    def __call__(self, known: pa.Array | None = None) -> Weights | None:
        """Checked weights of all edges, or of the known ones."""
        if self.weight is None:
            return None
        column = self.batch.column(self.weight)
        return checked_weights(column if known is None else column.filter(known), self.edge_name, self.weight)


def chunks(edges: EdgeArrays, division: Division, sender: int) -> Iterator[Message]:
    """Edges divided by the block of their target.

    Example with blocks of two nodes, after the sort by target:

    ======  ======  =====
    source  target  block
    ======  ======  =====
    2       0       0
    4       1       0
    0       2       1
    3       2       1
    1       5       2
    ======  ======  =====

    The chunks are the ranges 0:2, 2:4 and 4:5.
    """
    order = np.argsort(edges.targets, kind="stable")
    sources, targets = (narrow_numbers(ends[order], division.nodes) for ends in (edges.sources, edges.targets))
    weights = None if edges.weights is None else edges.weights[order]
    for block, part, _ in division.parts(targets):
        yield Message(block, sender, (sources[part], targets[part], None if weights is None else weights[part]))


def chunked_edges(messages: list[Message]) -> EdgeArrays:
    """The edges of the chunks that arrived at a block."""
    return joined_edges([EdgeArrays(*message.content) for message in messages])
