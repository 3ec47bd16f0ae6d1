"""Edges of a graph whose node maps no process holds: encoded by joins, and stored as blocks in scratch files.

Nodes and edges meet in buckets of the hash of an id: first those of the sources of edges, then those of their targets.
A block keeps the numbers of the nodes that it needs values of; every block of nodes keeps which of them it sends where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from omnigraph.errors import OmnigraphError
from omnigraph.exec.adjacency import Integers, Rows, sorted_set
from omnigraph.exec.analytics.blocks import EdgeArrays, EdgeBlock, Weights, block_of, merged_edges
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.id_map import Hashes
from omnigraph.rows.arrow_types import ID
from omnigraph.spark.analytics.division import Division
from omnigraph.spark.analytics.edge_tables import EdgeOrder, EdgePiece, chunked_edges, chunks, read_edges
from omnigraph.spark.analytics.messages import FAILURE, Message, collected, delivered
from omnigraph.spark.analytics.node_tables import NodeMap, NodePiece, node_pieces, read_column, salted_hashes, salts
from omnigraph.spark.analytics.origin import Origin
from omnigraph.spark.analytics.scratch import Scratch
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class _Collision(Exception):
    """Two ids have the same hash; all are hashed again with another salt."""


@dataclass(frozen=True)
class StoredEdges:
    """Blocks of edges in scratch files. Pickled to the executors."""

    scratch: Scratch
    name: str
    division: Division
    edges: int

    def block(self, number: int) -> EdgeBlock:
        """The block of the nodes that receive values."""
        offsets, neighbours, needed, *weights = self.scratch.read(f"{self.name}-edges", number)
        first = self.division.span(number).first
        return EdgeBlock(first, offsets, neighbours, len(needed), weights[0] if weights else None, needed)

    def routes(self, number: int) -> Iterator[tuple[int, Rows]]:
        """The blocks that need values of the nodes of a block, and the positions of these nodes."""
        blocks, counts, positions = self.scratch.read(f"{self.name}-routes", number)
        ends = np.cumsum(counts)
        for block, start, end in zip(blocks.tolist(), (ends - counts).tolist(), ends.tolist(), strict=True):
            yield block, positions[start:end]


def stored_edges(origin: Origin, scratch: Scratch, name: str, division: Division, order: EdgeOrder) -> StoredEdges:
    """Read the edges into stored blocks."""
    for salt in salts():
        try:
            chunked = _encoded(origin, division, order, salt)
            return store_blocks(chunked, scratch, name, division, order.form)
        except _Collision:
            continue
    raise AssertionError("the last salt raises")


def store_blocks(chunked: DataFrame, scratch: Scratch, name: str, division: Division, form: Form | None) -> StoredEdges:
    """Store chunks of edges as blocks, in one job. Without a form, parallel edges are merged to one."""
    made = StoredEdges(scratch, name, division, 0)
    # Every block is made, even without an edge.
    wanted = delivered(chunked, division.blocks, partial(_stored, made, form))
    routed = delivered(wanted, division.blocks, partial(_routed, made))
    counts = [message.content for message in collected(routed)]
    return StoredEdges(scratch, name, division, sum(counts))


@dataclass(frozen=True)
class _Nodes:
    """Hashes and numbers of nodes of one type, on their way to a bucket."""

    type_name: str
    hashes: Hashes
    numbers: Integers


@dataclass(frozen=True)
class _Edges:
    """Edges of one type: hashes of their targets, and hashes or numbers of their sources."""

    source: str
    target: str
    sources: Any
    targets: Hashes
    weights: Weights | None


def _encoded(origin: Origin, division: Division, order: EdgeOrder, salt: str) -> DataFrame:
    """Chunks of edges as numbers, for the blocks of their targets. Lazy."""
    nodes, buckets = node_pieces(origin.space), division.blocks
    read = partial(_hashed, origin.store, nodes, origin.edges, order.weight, salt, buckets)
    hashed = origin.messages(len(nodes) + len(origin.edges) + buckets, read)
    with_sources = delivered(hashed, buckets, partial(_join_sources, buckets))
    return delivered(with_sources, buckets, partial(_join_targets, division, order))


def _hashed(
    store: Store,
    nodes: Sequence[NodePiece],
    edges: Sequence[EdgePiece],
    weight: str | None,
    salt: str,
    buckets: int,
    number: int,
) -> Iterator[Message]:
    try:
        if number < len(nodes):
            piece = nodes[number]
            hashed = salted_hashes(read_column(store, piece, ID), salt)
            numbers = np.arange(piece.first, piece.first + len(hashed))
            for bucket, own in _buckets(hashed, buckets):
                yield Message(bucket, number, _Nodes(piece.type_name, hashed[own], numbers[own]))
        elif number < len(nodes) + len(edges):
            yield from _hashed_edges(store, edges[number - len(nodes)], weight, salt, buckets, number)
        else:
            # Wakes the bucket, and with it the block of this number, even if nothing else arrives there.
            yield Message(number - len(nodes) - len(edges), number, None)
    except OmnigraphError as error:
        yield Message(0, FAILURE, error)


def _hashed_edges(
    store: Store, piece: EdgePiece, weight: str | None, salt: str, buckets: int, sender: int
) -> Iterator[Message]:
    for sources, targets, weigh in read_edges(store, piece, weight):
        ends = [salted_hashes(ids, salt) for ids in (sources, targets)]
        weights = weigh()
        for bucket, own in _buckets(ends[0], buckets):
            given = None if weights is None else weights[own]
            yield Message(bucket, sender, _Edges(*piece.pair, ends[0][own], ends[1][own], given))


def _buckets(hashed: Hashes, buckets: int) -> Iterator[tuple[int, Rows]]:
    """The places of the hashes of every bucket."""
    owners = (hashed % np.uint64(buckets)).astype(np.int64)
    order = np.argsort(owners, kind="stable")
    present, cuts = np.unique(owners[order], return_index=True)
    yield from zip(present.tolist(), np.split(order, cuts[1:]), strict=True)


def _maps(messages: list[Message]) -> dict[str, NodeMap]:
    """The node maps of a bucket; raises if two of its ids have the same hash."""
    parts: dict[str, list[_Nodes]] = {}
    for message in messages:
        if isinstance(message.content, _Nodes):
            parts.setdefault(message.content.type_name, []).append(message.content)
    found = {}
    for name, held in parts.items():
        made = NodeMap.of(np.concatenate([part.hashes for part in held]), np.concatenate([p.numbers for p in held]))
        if made is None:
            raise _Collision(f"two ids of type {name} have the same hash")
        found[name] = made
    return found


_NOTHING = NodeMap(np.zeros(0, np.uint64), np.zeros(0, np.int64))


def _join_sources(buckets: int, bucket: int, messages: list[Message]) -> Iterator[Message]:
    """Replace the hashes of sources by numbers, and send the edges on to the buckets of their targets."""
    try:
        maps = _maps(messages)
    except _Collision as error:
        yield Message(0, FAILURE, error)
        return
    yield Message(bucket, 0, None)
    for message in messages:
        match message.content:
            case _Nodes():
                yield message
            case _Edges() as edges:
                sources = maps.get(edges.source, _NOTHING).numbers_of(edges.sources)
                known = sources >= 0
                sources, targets = sources[known], edges.targets[known]
                weights = None if edges.weights is None else edges.weights[known]
                for following, own in _buckets(targets, buckets):
                    given = None if weights is None else weights[own]
                    joined = _Edges(edges.source, edges.target, sources[own], targets[own], given)
                    yield Message(following, message.sender, joined)


def _join_targets(division: Division, order: EdgeOrder, bucket: int, messages: list[Message]) -> Iterator[Message]:
    """Replace the hashes of targets by numbers, and send the edges to the blocks that receive values along them."""
    maps = _maps(messages)
    yield Message(bucket, 0, _NO_EDGES)
    for message in messages:
        if isinstance(message.content, _Edges):
            edges = message.content
            targets = maps.get(edges.target, _NOTHING).numbers_of(edges.targets)
            found = EdgeArrays(edges.sources, targets, edges.weights).where(targets >= 0)
            yield from chunks(order.directed(found), division, bucket)


_NO_EDGES = (np.zeros(0, np.int32), np.zeros(0, np.int32), None)


def _stored(made: StoredEdges, form: Form | None, number: int, messages: list[Message]) -> Iterator[Message]:
    """Store the block of some nodes, and tell the blocks of its neighbours which of their nodes it needs."""
    division, span = made.division, made.division.span(number)
    edges = chunked_edges(messages)
    if form is None:
        edges = merged_edges(edges, division.nodes)
    needed = sorted_set(edges.sources)
    local = EdgeArrays(np.searchsorted(needed, edges.sources), edges.targets, edges.weights)
    block = block_of(local, span.first, span.size, len(needed))
    block = block if form is None else block.seen_as(form)
    weights = [] if block.weights is None else [block.weights]
    made.scratch.write(f"{made.name}-edges", number, block.offsets, block.neighbours, needed, *weights)
    yield Message(number, number, len(block.neighbours))
    for owner, _, positions in division.parts(needed):
        yield Message(owner, number, positions)


def _routed(made: StoredEdges, number: int, messages: list[Message]) -> Iterator[Message]:
    """Store where the values of a block's nodes go, and report the edges that lead to it."""
    routes = [message for message in messages if not isinstance(message.content, int)]
    blocks = np.array([message.sender for message in routes], np.int64)
    counts = np.array([len(message.content) for message in routes], np.int64)
    positions = np.concatenate([np.zeros(0, np.int64), *(message.content for message in routes)])
    made.scratch.write(f"{made.name}-routes", number, blocks, counts, positions)
    yield Message(number, 0, sum(message.content for message in messages if isinstance(message.content, int)))
