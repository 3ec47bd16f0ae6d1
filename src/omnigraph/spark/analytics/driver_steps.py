"""Steps on a cluster whose driver holds the vectors: a vector is broadcast, and blocks return their parts of the next.

Every step is one job over blocks that were built once and are persisted. Only the vector on the driver passes from one
step to the next, so the lineage of a job never grows. A lost executor costs its blocks, which Spark rebuilds from the
same pinned tables. At most eight bytes a node arrive at the driver in one job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.errors import OmnigraphError
from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.arrays import ArrayVectors
from omnigraph.exec.analytics.blocks import (
    EdgeArrays,
    EdgeBlock,
    block_of,
    contracted_edges,
    joined_edges,
    merged_edges,
)
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.kernels import Kernel
from omnigraph.exec.analytics.local import ArraySteps
from omnigraph.exec.analytics.nodes import checked_integers
from omnigraph.exec.analytics.steps import Question, Round, Steps, own_part
from omnigraph.exec.analytics.vectors import Array, Made
from omnigraph.spark.analytics.coloured import Colours, added, shares
from omnigraph.spark.analytics.division import Division
from omnigraph.spark.analytics.edge_tables import EdgeOrder, EdgePiece, chunked_edges, chunks, read_edges
from omnigraph.spark.analytics.messages import FAILURE, Message, collected, delivered, packed, sent, unpacked
from omnigraph.spark.analytics.node_order import ranged_ids, sampled_ranges, sorted_numbers
from omnigraph.spark.analytics.node_tables import NodePiece, node_pieces, read_column
from omnigraph.spark.analytics.origin import Origin, dense
from omnigraph.spark.analytics.shipping import Shipped, shipped
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLLECTED_EDGES_MAX = 500_000
"""Edges of a contracted graph that the driver processes itself: 12 MB, and a step takes milliseconds."""


@dataclass(frozen=True)
class DriverSteps(ArrayVectors):
    """Blocks of edges that executors persist, and vectors as arrays of the driver."""

    origin: Origin
    division: Division
    order: EdgeOrder
    blocks: DataFrame
    maps: Shipped | None
    """The numbers of ids; None for a contracted graph."""

    @classmethod
    def build(cls, origin: Origin, division: Division, order: EdgeOrder, maps: Shipped) -> DriverSteps:
        """Read the edges into blocks."""
        encode = partial(_encoded, origin.store, origin.edges, order, maps, division)
        chunked = origin.messages(len(origin.edges), encode)
        blocks = origin.persisted(delivered(chunked, division.blocks, partial(_built, order.form, division)))
        collected(blocks.where(blocks["sender"] == FAILURE))
        return cls(origin, division, order, blocks, maps)

    @property
    def nodes(self) -> int:
        return self.division.nodes

    def step(self, round_: Round, *vectors: Array, **numbers: Any) -> Made:
        """Exchange values in one job."""
        values = round_.sent(self.whole, vectors, numbers)
        with shipped(self.origin.spark, values) as seen:
            found = collected(sent(self.blocks, partial(_gathered, round_.kernel, self.division, seen)))
        arrays = {message.block: message.content for message in found}
        for block in range(self.division.blocks):
            if block not in arrays:
                # No edge leads to a node of this block, so no task has it: run the kernel on an empty block.
                empty = _empty(self.division, block)
                arrays[block] = round_.kernel(empty, values, own_part(values, self.division.span(block)))
        gathered = np.concatenate([arrays[block] for block in range(self.division.blocks)], axis=-1)
        return round_.finished(self.whole, gathered, vectors, numbers)

    def ask(self, question: Question, at: Array, *vectors: Array) -> Array:
        """Send all questions to all blocks, and collect the answers of each, in one job."""
        answers = np.full(len(at), -1, np.int64)
        named = np.flatnonzero(at >= 0)
        if not len(named):
            return answers
        askers = named[np.argsort(at[named], kind="stable")]
        requests = (at[askers], *(vector[askers] for vector in vectors))
        with shipped(self.origin.spark, requests) as given:
            found = collected(sent(self.blocks, partial(_answered, question, self.division, given)))
        known = {message.block: message.content for message in found}
        for block, part, positions in self.division.parts(requests[0]):
            if block not in known:
                payload = (vector[part] for vector in requests[1:])
                known[block] = question(_empty(self.division, block), positions, *payload)
            answers[askers[part]] = known[block]
        return answers

    def leaving(self) -> Array:
        return self._added(sent(self.blocks, partial(_left, self.division)))

    def closed(self) -> Array:
        colours = Colours.for_tasks(self.division.blocks)
        edges = sent(self.blocks, partial(_coloured, self.division, colours))
        return self._added(delivered(edges, len(colours.combinations), partial(colours.count_triangles, self.division)))

    def _added(self, amounts: DataFrame) -> Array:
        """Sum the shares of every node where its block is, so that one number per node arrives here."""
        found = collected(delivered(amounts, self.division.blocks, partial(_summed, self.division)))
        sums: Array = dense(found, [self.division.span(block).size for block in range(self.division.blocks)])
        return sums

    def ranks(self) -> Rows:
        if self.maps is None:
            return np.arange(self.nodes)
        origin, pieces = self.origin, node_pieces(self.origin.space)
        ranges = sampled_ranges(origin.spark, origin.store, origin.space, self.division.blocks)
        ids = origin.messages(len(pieces), partial(ranged_ids, origin.store, pieces, ranges))
        found = collected(delivered(ids, ranges.count, _ordered))
        ranks = np.empty(self.nodes, np.int64)
        ranks[np.concatenate([np.zeros(0, np.int64), *(message.content for message in found)])] = np.arange(self.nodes)
        return ranks

    def integers(self, name: str) -> Rows:
        self.origin.space.checked_property(name)
        pieces = node_pieces(self.origin.space)
        found = collected(self.origin.messages(len(pieces), partial(_integers, self.origin.store, pieces, name)))
        return np.concatenate([np.zeros(0, np.int64), *(message.content for message in found)])

    def turned(self) -> Steps:
        if self.order.is_symmetric:
            return self
        assert self.maps is not None, "contracted graphs are symmetric"
        return DriverSteps.build(self.origin, self.division, self.order.turned, self.maps)

    def contracted(self, groups: Array, count: int, loops: float) -> Steps:
        division = Division.of(count, self.division.blocks)
        seen = self.origin.resources.enter_context(shipped(self.origin.spark, groups))
        chunked = sent(self.blocks, partial(_contracted, self.division, seen, division, loops))
        blocks = self.origin.persisted(delivered(chunked, division.blocks, partial(_merged, division)))
        edges = sum(message.content for message in collected(sent(blocks, partial(_counted, division))))
        if edges > COLLECTED_EDGES_MAX:
            return DriverSteps(self.origin, division, self.order, blocks, None)
        found = [_edges_of(block) for _, block in _blocks_in(iter(collected(blocks)), division)]
        return ArraySteps(count, joined_edges(found), Form.DIRECTED)


def _encoded(
    store: Store, pieces: Sequence[EdgePiece], order: EdgeOrder, maps: Shipped, division: Division, number: int
) -> Iterator[Message]:
    """The edges of a piece as numbers, without edges of unknown nodes, for the blocks of their targets."""
    piece, found = pieces[number], []
    try:
        for sources, targets, weigh in read_edges(store, piece, order.weight):
            start, stop = piece.pair
            ends = EdgeArrays(maps.value.numbers_of(start, sources), maps.value.numbers_of(stop, targets))
            known = (ends.sources >= 0) & (ends.targets >= 0)
            found.append(EdgeArrays(ends.sources[known], ends.targets[known], weigh(pa.array(known))))
        yield from chunks(order.directed(joined_edges(found)), division, number)
    except OmnigraphError as error:
        yield Message(0, FAILURE, error)


def _built(form: Form, division: Division, number: int, messages: list[Message]) -> Iterator[Message]:
    span = division.span(number)
    block = block_of(chunked_edges(messages), span.first, span.size, division.nodes).seen_as(form)
    yield Message(number, 0, (block.offsets, block.neighbours, block.weights))


def _merged(division: Division, number: int, messages: list[Message]) -> Iterator[Message]:
    span = division.span(number)
    block = block_of(merged_edges(chunked_edges(messages), division.nodes), span.first, span.size, division.nodes)
    yield Message(number, 0, (block.offsets, block.neighbours, block.weights))


def _empty(division: Division, number: int) -> EdgeBlock:
    span = division.span(number)
    return EdgeBlock(span.first, np.zeros(span.size + 1, np.int64), np.zeros(0, np.int32), division.nodes)


def _blocks_in(messages: Iterator[Message], division: Division) -> Iterator[tuple[int, EdgeBlock]]:
    for message in messages:
        offsets, neighbours, weights = message.content
        yield message.block, EdgeBlock(division.span(message.block).first, offsets, neighbours, division.nodes, weights)


def _from_blocks(
    division: Division, make: Callable[[int, EdgeBlock], Iterator[Message]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for number, block in _blocks_in(unpacked(batches), division):
        yield from packed(make(number, block))


def _gathered(
    kernel: Kernel, division: Division, seen: Shipped, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    def gather(number: int, block: EdgeBlock) -> Iterator[Message]:
        yield Message(number, 0, kernel(block, seen.value, own_part(seen.value, division.span(number))))

    return _from_blocks(division, gather, batches)


def _answered(
    question: Question, division: Division, given: Shipped, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    def answer(number: int, block: EdgeBlock) -> Iterator[Message]:
        at, *vectors = given.value
        first, last = np.searchsorted(at, (block.first, block.first + block.size))
        if first < last:
            payload = (vector[first:last] for vector in vectors)
            yield Message(number, 0, question(block, at[first:last] - block.first, *payload))

    return _from_blocks(division, answer, batches)


def _left(division: Division, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return _from_blocks(
        division, lambda number, block: shares(block.neighbours, block.weights, division, number), batches
    )


def _coloured(division: Division, colours: Colours, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return _from_blocks(division, lambda number, block: colours.send(block, number), batches)


def _summed(division: Division, number: int, messages: list[Message]) -> Iterator[Message]:
    yield Message(number, 0, added(division.span(number).size, messages))


def _ordered(number: int, messages: list[Message]) -> Iterator[Message]:
    yield Message(number, 0, sorted_numbers(messages))


def _integers(store: Store, pieces: Sequence[NodePiece], name: str, number: int) -> Iterator[Message]:
    piece = pieces[number]
    try:
        yield Message(number, 0, checked_integers(read_column(store, piece, name), piece.type_name, name))
    except OmnigraphError as error:
        yield Message(0, FAILURE, error)


def _contracted(
    division: Division, groups: Shipped, following: Division, loops: float, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    def contract(number: int, block: EdgeBlock) -> Iterator[Message]:
        own = own_part(groups.value, division.span(number))
        yield from chunks(contracted_edges(block, groups.value, own, following.nodes, loops), following, number)

    return _from_blocks(division, contract, batches)


def _counted(division: Division, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    def count(number: int, block: EdgeBlock) -> Iterator[Message]:
        yield Message(number, 0, len(block.neighbours))

    return _from_blocks(division, count, batches)


def _edges_of(block: EdgeBlock) -> EdgeArrays:
    return EdgeArrays(block.senders, block.owners + block.first, block.weights)
