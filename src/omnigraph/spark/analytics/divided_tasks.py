"""The tasks of a divided graph: the work of one block, from its files and messages to files and messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.blocks import contracted_edges
from omnigraph.exec.analytics.steps import Question, Round
from omnigraph.exec.analytics.vectors import Array, Made, SpanWork
from omnigraph.spark.analytics.coloured import Colours, added, shares
from omnigraph.spark.analytics.divided_edges import StoredEdges
from omnigraph.spark.analytics.divided_vectors import Stored
from omnigraph.spark.analytics.division import Division
from omnigraph.spark.analytics.edge_tables import chunks
from omnigraph.spark.analytics.messages import Message
from omnigraph.spark.analytics.node_order import sorted_numbers
from omnigraph.spark.analytics.scratch import Scratch

WAKING = -2
"""The sender of a message without content, by which a block is handled even if nothing else arrives there."""


@dataclass(frozen=True)
class Job:
    """Input and output of a job. Pickled to the executors."""

    scratch: Scratch
    name: str
    division: Division
    vectors: list[Stored]
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def arrays(self, block: int) -> list[Array]:
        return [vector.read(block) for vector in self.vectors]

    def write(self, block: int, made: Made) -> Iterator[Message]:
        """Write the arrays of a block, and report their number and the totals."""
        for place, array in enumerate(made.vectors):
            self.scratch.write(f"{self.name}-{place}", block, array)
        yield Message(block, 0, (len(made.vectors), made.totals))


def apply_work(job: Job, work: SpanWork, block: int) -> Iterator[Message]:
    yield from job.write(block, work(job.division.span(block), *job.arrays(block), **job.numbers))


def send_values(job: Job, edges: StoredEdges, round_: Round, block: int) -> Iterator[Message]:
    """Send the values of a block's nodes to the blocks that need them."""
    yield Message(block, WAKING, None)
    if round_.send is None:
        return
    values = round_.sent(job.division.span(block), tuple(job.arrays(block)), job.numbers)
    for target, positions in edges.routes(block):
        yield Message(target, block, values[..., positions])


def _arrived(messages: list[Message]) -> Array:
    """The values that a block needs, in the order of the nodes."""
    parts = [message.content for message in messages if message.content is not None]
    return np.concatenate(parts, axis=-1) if parts else np.zeros(0)


def receive_values(
    job: Job, edges: StoredEdges, round_: Round, block: int, messages: list[Message]
) -> Iterator[Message]:
    """Compute the values of a block's nodes from those that arrived."""
    span, arrays = job.division.span(block), tuple(job.arrays(block))
    own = round_.sent(span, arrays, job.numbers)
    # A block that needs no values still has to see their shape.
    seen = _arrived(messages) if len(messages) > 1 else own[..., :0]
    gathered = round_.kernel(edges.block(block), seen, own)
    yield from job.write(block, round_.finished(span, gathered, arrays, job.numbers))


def send_groups(job: Job, edges: StoredEdges, block: int) -> Iterator[Message]:
    """Send the groups of a block's nodes to the blocks of their neighbours."""
    yield Message(block, WAKING, None)
    (groups,) = job.arrays(block)
    for target, positions in edges.routes(block):
        yield Message(target, block, groups[positions])


def contract(
    job: Job, edges: StoredEdges, following: Division, loops: float, block: int, messages: list[Message]
) -> Iterator[Message]:
    (own,) = job.arrays(block)
    seen = _arrived(messages).astype(np.int64)
    found = contracted_edges(edges.block(block), seen, own, following.nodes, loops)
    yield from chunks(found, following, block)


def no_edges(block: int) -> Iterator[Message]:
    nothing = np.zeros(0, np.int32)
    yield Message(block, 0, (nothing, nothing, np.zeros(0)))


def wake(block: int) -> Iterator[Message]:
    """Nothing, so that a block is handled even if nothing else arrives."""
    yield Message(block, WAKING, (np.zeros(0, np.int64), np.zeros(0, np.int64)))


def request_values(job: Job, owners: Division, block: int) -> Iterator[Message]:
    """Ask the owners of the nodes that a block's nodes name for their values."""
    (at,) = job.arrays(block)
    yield Message(0, block, np.zeros(0, np.int64))
    for owner, _, positions in owners.parts(np.unique(at)):
        yield Message(owner, block, positions)


def look_up(values: Stored, block: int, messages: list[Message]) -> Iterator[Message]:
    array = values.read(block)
    for message in messages:
        yield Message(message.sender, block, array[message.content])


def assemble(job: Job, block: int, messages: list[Message]) -> Iterator[Message]:
    """Give every node the value of the node that it names."""
    (at,) = job.arrays(block)
    _, places = np.unique(at, return_inverse=True)
    values = np.concatenate([message.content for message in messages])
    yield from job.write(block, Made((values[places],)))


def offer(job: Job, combine: np.ufunc, block: int) -> Iterator[Message]:
    """Combine the values of a block by the node that they are for, and send them there."""
    at, values = job.arrays(block)
    named = at >= 0
    nodes, places = np.unique(at[named], return_inverse=True)
    order = np.argsort(places, kind="stable")
    heads = np.searchsorted(places[order], np.arange(len(nodes)))
    offers = combine.reduceat(values[named][order], heads) if len(nodes) else values[:0]
    yield from wake(block)
    for owner, part, positions in job.division.parts(nodes):
        yield Message(owner, block, (positions, offers[part]))


def combine_offers(job: Job, combine: np.ufunc, into: Stored, block: int, messages: list[Message]) -> Iterator[Message]:
    array = into.read(block)
    for message in messages:
        positions, values = message.content
        array[positions] = combine(array[positions], values.astype(array.dtype))
    yield from job.write(block, Made((array,)))


def send_questions(job: Job, block: int) -> Iterator[Message]:
    """Send the questions of a block's nodes to the blocks of the nodes that they name."""
    at, *vectors = job.arrays(block)
    askers = _askers(at)
    yield Message(0, block, (np.zeros(0, np.int64), *(vector[:0] for vector in vectors)))
    for owner, part, positions in job.division.parts(at[askers]):
        yield Message(owner, block, (positions, *(vector[askers[part]] for vector in vectors)))


def _askers(at: Rows) -> Rows:
    """The nodes that name a node, in the order of the named ones."""
    named = np.flatnonzero(at >= 0)
    return named[np.argsort(at[named], kind="stable")]


def answer(edges: StoredEdges, question: Question, block: int, messages: list[Message]) -> Iterator[Message]:
    held = edges.block(block)
    for message in messages:
        yield Message(message.sender, block, question(held, *message.content))


def deliver_answers(job: Job, block: int, messages: list[Message]) -> Iterator[Message]:
    """Give every node the answer to its question."""
    at = job.vectors[0].read(block)
    answers = np.full(len(at), -1, np.int64)
    answers[_askers(at)] = np.concatenate([message.content for message in messages])
    yield from job.write(block, Made((answers,)))


def leaving_shares(edges: StoredEdges, block: int) -> Iterator[Message]:
    held = edges.block(block)
    yield from wake(block)
    yield from shares(held.senders, held.weights, edges.division, block)


def colour(edges: StoredEdges, colours: Colours, block: int) -> Iterator[Message]:
    yield from colours.send(edges.block(block), block)


def sum_shares(job: Job, block: int, messages: list[Message]) -> Iterator[Message]:
    yield from job.write(block, Made((added(job.division.span(block).size, messages),)))


def place(job: Job, block: int, messages: list[Message]) -> Iterator[Message]:
    """The values of a block's nodes from parts of them."""
    array = np.zeros(job.division.span(block).size, np.int64)
    for message in messages:
        positions, values = message.content
        array[positions] = values
    yield from job.write(block, Made((array,)))


def order_ids(ordered: Stored, number: int, messages: list[Message]) -> Iterator[Message]:
    numbers = sorted_numbers(messages)
    ordered.write(number, numbers)
    yield Message(number, 0, len(numbers))


def rank(ordered: Stored, firsts: Mapping[int, int], division: Division, number: int) -> Iterator[Message]:
    """The ranks of the nodes of a range, for their blocks."""
    if number not in firsts:
        return
    numbers = ordered.read(number)
    order = np.argsort(numbers)
    ranks = order + firsts[number]
    for block, part, positions in division.parts(numbers[order]):
        yield Message(block, number, (positions, ranks[part]))
