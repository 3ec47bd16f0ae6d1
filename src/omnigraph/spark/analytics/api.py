"""``spark_steps``: the chosen edges of a snapshot on a cluster, for the algorithms of ``exec/analytics``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from omnigraph.core.ports import UlidSource
from omnigraph.core.tuning import Tuning
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import UsageError
from omnigraph.exec.analytics.chosen import ChosenEdges
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.exec.analytics.steps import Steps
from omnigraph.spark.analytics.divided_steps import DividedSteps, Names
from omnigraph.spark.analytics.division import Division
from omnigraph.spark.analytics.driver_steps import DriverSteps
from omnigraph.spark.analytics.edge_tables import EdgeOrder, edge_pieces
from omnigraph.spark.analytics.node_tables import node_maps
from omnigraph.spark.analytics.origin import Origin
from omnigraph.spark.analytics.scratch import Scratch
from omnigraph.spark.analytics.shipping import shipped
from omnigraph.spark.cluster.connect import is_connect
from omnigraph.spark.cluster.descriptions import described
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.storage.upkeep.jobs import SCRATCH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BLOCK_EDGES_MIN = 200_000
"""Minimum edges per block: fewer do not amortise a task."""

BLOCK_EDGES_MAX = 4_000_000
"""Approximate maximum of edges per block: a few hundred megabytes while it is built."""


CONNECT_NODES_MAX = 8_000_000
"""Nodes whose numbers travel in a message of Spark Connect: 16 bytes a node, in at most 128 MiB."""

NODE_BYTES = 8
"""Bytes of a node that arrive at the driver in one job."""

_RESULT_SIZE = "spark.driver.maxResultSize"


@contextmanager
def spark_steps(
    snapshot: Snapshot,
    space: NodeSpace,
    chosen: ChosenEdges,
    form: Form,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    scratch: str | None = None,
) -> Iterator[Steps]:
    """Build the blocks of the chosen edges on a cluster; release them after the block.

    Vectors of too many nodes for the driver are exchanged through files: below ``scratch``, which an analysis that can
    be resumed names, or below the root of the graph.
    """
    if partitions is not None and partitions < 1:
        raise UsageError(f"invalid number of partitions: {partitions}", hint="use at least 1")
    running = session() if spark is None else check_session(spark)
    pins = snapshot.state.tables
    edges = sum(pins[edge.table_key].rows for edge in chosen.edges)
    division = Division.of(space.size, partitions or _blocks(running, edges))
    order = EdgeOrder(chosen.weight, form)
    types = ", ".join(edge.name for edge in chosen.edges)
    title = f"Omnigraph: analysis of {types} in {snapshot.store.root}, commit {snapshot.commit_id}"
    with described(running, title), ExitStack() as resources:
        pieces = edge_pieces(snapshot.store, pins, chosen)
        origin = Origin(running, snapshot.store, space, pieces, resources)
        if space.size < _driver_nodes_max(running, snapshot.store.tuning):
            maps = resources.enter_context(shipped(running, node_maps(running, space)))
            yield DriverSteps.build(origin, division, order, maps)
        else:
            with _scratch(snapshot, scratch) as (files, names):
                yield DividedSteps.build(origin, files, division, order, names)


@contextmanager
def _scratch(snapshot: Snapshot, directory: str | None) -> Iterator[tuple[Scratch, Names]]:
    """Scratch files that are deleted at the end; after an error, those stay that a checkpoint names."""
    run, store = UlidSource().new_id(), snapshot.store
    files = Scratch(directory or f"{store.root}/{SCRATCH}/{run}", store.options)
    names = Names(run)
    try:
        yield files, names
    except BaseException:
        files.delete_everything(but=names.kept)
        raise
    files.delete_everything()


def _driver_nodes_max(spark: SparkSession, tuning: Tuning) -> int:
    """Nodes up to which vectors fit into the driver, and one of them into a message of the session."""
    if is_connect(spark):
        return min(tuning.divided_nodes_min, CONNECT_NODES_MAX)
    results = _bytes(spark.conf.get(_RESULT_SIZE, None) or "1g")
    return min(tuning.divided_nodes_min, results // (2 * NODE_BYTES)) if results else tuning.divided_nodes_min


def _bytes(text: str) -> int:
    """A size as Spark writes it: 1g, 512m, or a number of bytes; 0 is no limit."""
    units = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
    number = text.strip().lower().removesuffix("b") or "0"
    return int(number[:-1]) * units[number[-1]] if number[-1] in units else int(number)


def _blocks(spark: SparkSession, edges: int) -> int:
    """Number of blocks: enough for all cores unless blocks get too small, and enough that no block gets too large."""
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return max(min(tasks, edges // BLOCK_EDGES_MIN), -(-edges // BLOCK_EDGES_MAX), 1)
