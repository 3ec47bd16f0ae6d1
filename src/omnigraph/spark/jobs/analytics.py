"""Iterative graph algorithms on a cluster: executors keep the edges, and a vector over all nodes is broadcast.

Every step is one job over blocks that were built once and are persisted. Only the vector on the driver passes from one
step to the next, so the lineage of a job never grows. A lost executor costs its blocks, which Spark rebuilds from the
same pinned tables.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import LimitExceeded, UsageError
from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.chosen import ChosenEdges
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.exec.analytics.steps import EdgeBlock, Kernel, Vector, Weights, smaller_behind
from omnigraph.exec.analytics.triangles import triangles_among
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import translated_jobs
from omnigraph.spark.jobs.edge_blocks import Division, Shipped, edge_blocks, node_maps, row_block

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOCK_EDGES_MIN = 200_000
"""Minimum edges per block: fewer do not amortise a task."""

BLOCK_EDGES_MAX = 4_000_000
"""Approximate maximum of edges per block: a few hundred megabytes while it is built."""

CONNECT_NODES_MAX = 8_000_000
"""Maximum nodes of an analysis over Spark Connect: 16 bytes per node travel in one message of at most 128 MiB."""

VALUES = "block long, values binary"
SHARES = "nodes binary, amounts binary"
CORNERS = "task long, sources binary, targets binary"


@contextmanager
def spark_steps(
    snapshot: Snapshot,
    space: NodeSpace,
    chosen: ChosenEdges,
    form: Form,
    spark: SparkSession | None = None,
    partitions: int | None = None,
) -> Iterator[SparkSteps]:
    """Build the blocks of the chosen edges on a cluster; unpersist them after the block."""
    if partitions is not None and partitions < 1:
        raise UsageError(f"invalid number of partitions: {partitions}", hint="use at least 1")
    running = session() if spark is None else check_session(spark)
    if space.size > CONNECT_NODES_MAX and not _has_context(running):
        raise LimitExceeded(
            f"{space.size:,} nodes exceed the message size of Spark Connect",
            hint="use a classic session, or fewer edge types",
            resource="nodes",
            limit=CONNECT_NODES_MAX,
            actual=space.size,
        )
    pins = snapshot.state.tables
    edges = sum(pins[edge.table_key].rows for edge in chosen.edges)
    division = Division(space.size, partitions or _blocks(running, edges))
    with shipped(running, node_maps(running, space)) as maps:
        blocks = edge_blocks(running, snapshot.store, pins, chosen, form, maps, division).persist()
        try:
            with translated_jobs():
                failures = blocks.select("failure").where("failure is not null").take(1)
            if failures:
                # Tasks send errors as data: raised, Spark would retry them and reduce them to a text.
                raise pickle.loads(failures[0].failure)
            yield SparkSteps(running, blocks, division)
        finally:
            blocks.unpersist()


def _blocks(spark: SparkSession, edges: int) -> int:
    """Number of blocks: enough for all cores unless blocks get too small, and enough that no block gets too large."""
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return max(min(tasks, edges // BLOCK_EDGES_MIN), -(-edges // BLOCK_EDGES_MAX), 1)


def _has_context(spark: Any) -> bool:
    """True for a classic session, False for Spark Connect."""
    from pyspark.sql.session import SparkSession as ClassicSession

    return isinstance(spark, ClassicSession)


@contextmanager
def shipped(spark: Any, value: Any) -> Iterator[Shipped]:
    """Provide a value to executors within the block: a broadcast, or with Spark Connect, a copy in every job."""
    if not _has_context(spark):
        yield _Carried(value)
        return
    broadcast = spark.sparkContext.broadcast(value)
    try:
        yield broadcast
    finally:
        broadcast.destroy()


@dataclass(frozen=True)
class _Carried:
    value: Any


@dataclass(frozen=True)
class SparkSteps:
    """Blocks of edges that executors persist."""

    spark: SparkSession
    blocks: DataFrame
    division: Division

    @property
    def nodes(self) -> int:
        return self.division.nodes

    def step(self, kernel: Kernel, vector: Vector) -> Vector:
        """Run the kernel on every block in one job; returns its value per node."""
        with shipped(self.spark, vector) as seen:
            found = self._collected(self.blocks, partial(_step, kernel, self.division, seen), VALUES)
        values = dict(zip(found["block"].to_pylist(), found["values"], strict=True))
        pieces = []
        for number in range(self.division.blocks):
            first, size = self.division.range_of(number)
            if number in values:
                kind, packed = pickle.loads(values[number].as_py())
                pieces.append(np.frombuffer(packed, kind))
            else:
                # No edge leads to a node of this block, so no task has it: run the kernel on an empty block.
                nothing = np.zeros(0, np.int32)
                pieces.append(kernel(EdgeBlock(first, np.zeros(size + 1, np.int64), nothing, self.nodes), vector))
        return np.concatenate(pieces)

    def back(self, vector: Vector) -> Vector:
        """Propagate smaller values against the edges in one job: blocks propose values, the minimum per node wins."""
        with shipped(self.spark, vector) as seen:
            found = self._collected(self.blocks, partial(_back, self.division, seen), SHARES)
        values: Vector = vector[0].copy()
        for nodes, smaller in _pairs(found):
            np.minimum.at(values, nodes, smaller.astype(np.int64))
        return values

    def leaving(self) -> Weights:
        return self._added(self.blocks, partial(_leaving, self.division)).astype(np.float64)

    def triangles(self) -> Rows:
        """Triangles per node. Nodes are coloured, and every combination of three colours is one task."""
        colours = _colours(self.division.blocks)
        tasks = len(_combinations(colours))
        edges = mapped(self.blocks, partial(_coloured, self.division, colours), CORNERS).repartition(tasks, "task")
        return self._added(edges, partial(_triangles, colours)).astype(np.int64)

    def _added(self, frame: DataFrame, work: Callable[..., Iterator[pa.RecordBatch]]) -> Vector:
        """The sum per node of the amounts from all tasks."""
        total = np.zeros(self.nodes)
        found = self._collected(frame, work, SHARES)
        for nodes, amounts in _pairs(found):
            total[nodes] += amounts
        return total

    def _collected(self, frame: DataFrame, work: Callable[..., Iterator[pa.RecordBatch]], columns: str) -> pa.Table:
        with translated_jobs():
            return mapped(frame, work, columns).toArrow()


def _pairs(found: pa.Table) -> Iterator[tuple[Rows, Weights]]:
    """Nodes and amounts of each task."""
    for nodes, amounts in zip(found["nodes"], found["amounts"], strict=True):
        yield np.frombuffer(nodes.as_py(), np.int64), np.frombuffer(amounts.as_py(), np.float64)


def _blocks_in(batches: Iterator[pa.RecordBatch], division: Division) -> Iterator[tuple[int, EdgeBlock]]:
    for batch in batches:
        for row in batch.to_pylist():
            yield row["block"], row_block(row, division)


def _step(
    kernel: Kernel, division: Division, vector: Shipped, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for number, block in _blocks_in(batches, division):
        values = kernel(block, vector.value)
        packed = pickle.dumps((values.dtype.str, values.tobytes()))
        yield pa.RecordBatch.from_arrays(
            [pa.array([number], pa.int64()), pa.array([packed], pa.binary())], names=["block", "values"]
        )


def _back(division: Division, vector: Shipped, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _, block in _blocks_in(batches, division):
        yield _shares(*smaller_behind(block, vector.value))


def _leaving(division: Division, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _, block in _blocks_in(batches, division):
        nodes, places = np.unique(block.neighbours, return_inverse=True)
        yield _shares(nodes, np.bincount(places, block.weights, minlength=len(nodes)))


def _shares(nodes: Any, amounts: Any) -> pa.RecordBatch:
    packed = [nodes.astype(np.int64).tobytes()], [amounts.astype(np.float64).tobytes()]
    return pa.RecordBatch.from_arrays([pa.array(column, pa.binary()) for column in packed], names=["nodes", "amounts"])


def _combinations(colours: int) -> list[tuple[int, int, int]]:
    """Ascending colours of three corners."""
    return list(itertools.combinations_with_replacement(range(colours), 3))


def _colours(tasks: int) -> int:
    """The least number of colours with at least ``tasks`` combinations. Every edge is sent to one task per colour."""
    colours = 1
    while len(_combinations(colours)) < tasks:
        colours += 1
    return colours


def _coloured(division: Division, colours: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Send every edge to all tasks whose combination contains the colours of its ends."""
    numbers = {combination: number for number, combination in enumerate(_combinations(colours))}
    for _, block in _blocks_in(batches, division):
        targets, sources = block.owners + block.first, block.neighbours.astype(np.int64)
        # Each edge is in the blocks of both ends; keep one direction.
        once = sources < targets
        sources, targets = sources[once], targets[once]
        pairs = (sources % colours) * colours + targets % colours
        for pair in np.unique(pairs).tolist():
            chosen = pairs == pair
            ends = sources[chosen].tobytes(), targets[chosen].tobytes()
            first, second = divmod(pair, colours)
            tasks = [numbers[_sorted(first, second, third)] for third in range(colours)]
            yield pa.RecordBatch.from_arrays(
                [pa.array(tasks, pa.int64()), *(pa.array([end] * colours, pa.binary()) for end in ends)],
                names=["task", "sources", "targets"],
            )


def _sorted(*colours: int) -> tuple[int, int, int]:
    low, middle, high = sorted(colours)
    return low, middle, high


def _triangles(colours: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the triangles of the combinations of one task. A triangle counts only in the combination of its corners."""
    parts: dict[int, list[tuple[Rows, Rows]]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            ends = np.frombuffer(row["sources"], np.int64), np.frombuffer(row["targets"], np.int64)
            parts.setdefault(row["task"], []).append(ends)
    for task, combination in enumerate(_combinations(colours)):
        held = parts.pop(task, [])
        if not held:
            continue
        low = np.concatenate([sources for sources, _ in held])
        high = np.concatenate([targets for _, targets in held])
        for corners in triangles_among(np.concatenate((low, high)), np.concatenate((high, low))):
            own = np.sort(np.stack([corner % colours for corner in corners]), axis=0)
            wanted = (own == np.array(combination)[:, None]).all(axis=0)
            every = np.concatenate([corner[wanted] for corner in corners])
            nodes, amounts = np.unique(every, return_counts=True)
            yield _shares(nodes, amounts)
