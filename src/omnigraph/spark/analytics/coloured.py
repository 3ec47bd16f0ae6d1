"""Triangles on a cluster: nodes are coloured by their number, and every combination of three colours is one task.

An edge is sent to all tasks with the colours of its ends. A triangle counts in the one task of its corners' colours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from omnigraph.exec.adjacency import Integers
from omnigraph.exec.analytics.blocks import EdgeArrays, EdgeBlock, Weights
from omnigraph.exec.analytics.triangles import triangles_among
from omnigraph.spark.analytics.division import Division
from omnigraph.spark.analytics.edge_tables import chunked_edges
from omnigraph.spark.analytics.messages import Message

Combination = tuple[int, int, int]


@dataclass(frozen=True)
class Colours:
    """A number of colours, and the tasks of their combinations."""

    count: int

    @classmethod
    def for_tasks(cls, tasks: int) -> Colours:
        """The fewest colours with at least as many combinations. Every edge is sent to one task per colour."""
        count = 1
        while count * (count + 1) * (count + 2) // 6 < tasks:
            count += 1
        return cls(count)

    @property
    def combinations(self) -> list[Combination]:
        """Ascending colours of three corners."""
        return list(itertools.combinations_with_replacement(range(self.count), 3))

    def send(self, block: EdgeBlock, sender: int) -> Iterator[Message]:
        """Send every edge of a block to its tasks."""
        numbers = {combination: number for number, combination in enumerate(self.combinations)}
        sources, targets = block.senders, block.owners + block.first
        # Each edge is in the blocks of both ends; keep one direction.
        once = np.flatnonzero(sources < targets)
        pairs = (sources[once] % self.count) * self.count + targets[once] % self.count
        for pair in np.unique(pairs).tolist():
            slots = once[pairs == pair]
            weights = None if block.weights is None else block.weights[slots]
            first, second = divmod(pair, self.count)
            for third in range(self.count):
                low, middle, high = sorted((first, second, third))
                yield Message(numbers[low, middle, high], sender, (sources[slots], targets[slots], weights))

    def count_triangles(self, division: Division, task: int, messages: list[Message]) -> Iterator[Message]:
        """The weights opposite to the corners of a task's triangles, for the blocks of these corners."""
        edges = chunked_edges(messages)
        both = EdgeArrays(
            np.concatenate((edges.sources, edges.targets)),
            np.concatenate((edges.targets, edges.sources)),
            None if edges.weights is None else np.concatenate((edges.weights, edges.weights)),
        )
        wanted = np.array(self.combinations[task])[:, None]
        for found in triangles_among(both.sources, both.targets, both.weights):
            own = np.sort(np.stack([corner % self.count for corner in found.corners]), axis=0)
            mine = (own == wanted).all(axis=0)
            corners = np.concatenate([corner[mine] for corner in found.corners])
            weights = None if found.opposite is None else np.concatenate([side[mine] for side in found.opposite])
            yield from shares(corners, weights, division, task)


def shares(numbers: Integers, weights: Weights | None, division: Division, sender: int) -> Iterator[Message]:
    """Weights added up by node, or the number of times a node is named, for the blocks of these nodes."""
    nodes, places = np.unique(numbers, return_inverse=True)
    amounts = np.bincount(places, weights, minlength=len(nodes)).astype(np.float64)
    for block, part, positions in division.parts(nodes):
        yield Message(block, sender, (positions, amounts[part]))


def added(size: int, messages: list[Message]) -> Weights:
    """The sum of all shares of every node of a block."""
    total = np.zeros(size)
    for message in messages:
        positions, amounts = message.content
        total[positions] += amounts
    return total
