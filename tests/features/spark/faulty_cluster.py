"""Loads, a merge and an analysis on a cluster of two executors while things go wrong, and what came of each.

Tasks of loads are disturbed on their way back, after they wrote their fragments: the worst moment, for the files are
there. The analysis loses an executor between two rounds, and with it blocks of edges.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from omnigraph.engine.graph import Graph, create
from omnigraph.engine.merge.result import MergeResult
from omnigraph.errors import SparkError, StorageError
from omnigraph.exec.analytics.steps import Round
from omnigraph.spark.analytics.driver_steps import DriverSteps
from omnigraph.spark.jobs import merge
from omnigraph.spark.load.slices import InputSlice, SliceWriter
from omnigraph.spark.load.splits import FileSplit
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.write.merge.images import Sides
from omnigraph.write.merge.parts import Images
from tests.support.tuning import tuned

ROWS = 600
WRITE = SliceWriter.write_split
WRITE_MERGED = merge._write
MERGED_ROWS = 150
SLOW_SECONDS = 120
LOST_SECONDS_MAX = 60
LOST_AFTER_ROUNDS = 3
BLOCKS = 4
SETTINGS = {
    "spark.task.maxFailures": "3",
    # A task that takes far longer than the others is started a second time, on another host.
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "2s",
    "spark.speculation.multiplier": "1000",
}


def attempt() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.attemptNumber()


def executor() -> int:
    """The process whose Python worker this is: between them is the one that forks workers."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().split()[3])


def killed(writer: SliceWriter, split: FileSplit) -> InputSlice:
    """The executor dies at once, the first time."""
    written = WRITE(writer, split)
    if split.start == 0 and attempt() == 0:
        kill_executor()
    return written


def kill_executor() -> None:
    os.kill(executor(), signal.SIGKILL)
    time.sleep(60)


def slow(writer: SliceWriter, split: FileSplit) -> InputSlice:
    """The first copy of a task is never done; it says so if it is not ended."""
    written = WRITE(writer, split)
    if split.start == 0:
        beside = Path(split.file.address).parent / f"slow-{attempt()}"
        beside.touch()
        if attempt() == 0:
            time.sleep(SLOW_SECONDS)
            raise AssertionError("there was no second copy")
        # On a busy machine the second copy may come so far first; the first one shall have written its rows too.
        while not beside.with_name("slow-0").exists():
            time.sleep(0.05)
    return written


def fails_twice(writer: SliceWriter, split: FileSplit) -> InputSlice:
    written = WRITE(writer, split)
    if split.start == 0 and attempt() < 2:
        raise StorageError("the disk was away")
    return written


def fails_always(writer: SliceWriter, split: FileSplit) -> InputSlice:
    written = WRITE(writer, split)
    if split.start == 0:
        raise StorageError("the disk is away", location="there")
    return written


def fragments(graph: Graph) -> int:
    return len(list(Path(graph.uri).glob("nodes/*/data/*.lance")))


def killed_merge(mark: Path, without: frozenset[str], table: Sides, images: Images) -> WrittenRows | None:
    """The first executor that wrote merged rows dies, with the blocks it kept. Tasks of a lost stage count anew."""
    written = WRITE_MERGED(without, table, images)
    if not mark.exists():
        mark.touch()
        kill_executor()
    return written


def disturbed_merge(spark: Any, graph: Graph, source: str, into: str, mark: Path) -> MergeResult:
    """A merge that loses an executor while it writes, in parts of some rows."""
    merge._write = partial(killed_merge, mark)  # what the tasks of this merge will run
    # Parts of usual size need more rows.
    return tuned(graph, merged_rows=MERGED_ROWS).merge(source, into, engine="spark", spark=spark)


def disturbed_loads(spark: Any, directory: Path) -> dict[str, Any]:
    """What came of a load for each way to disturb it. The last one costs an executor."""
    from pyspark import cloudpickle

    # Executors have the package, but not its tests.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    # Every job asks for this again. Until here no task was to run twice, however slow the machine is.
    spark.sparkContext._jsc.sc().conf().set("spark.speculation.multiplier", "2")
    data = directory / "data.jsonl"
    data.write_text("".join(f'{{"type": "Person", "data": {{"name": "p{number}"}}}}\n' for number in range(ROWS)))
    report: dict[str, Any] = {}
    for disturbed in (fails_twice, fails_always, slow, killed):
        SliceWriter.write_split = disturbed  # type: ignore[method-assign] # what the tasks of this load will run
        graph = create(directory / disturbed.__name__, "node Person {\n name: String @key\n}\n", durability="os")
        failed = None
        try:
            graph.load_spark(data, "append", spark=spark, partitions=6)
        except (SparkError, StorageError) as error:
            failed = [type(error).__name__, error.message]
        names = [name for batch in graph.snapshot().batches("node:Person") for name in batch.column("name").to_pylist()]
        report[disturbed.__name__] = {
            "rows": len(names),
            "different": len(set(names)),
            "commits": len(list(graph.commits())),
            "clean": graph.verify().is_clean,
            "failed": failed,
            "fragments": fragments(graph),
        }
    report["copies"] = sorted(path.name for path in directory.glob("slow-*"))
    return report


def analysis_without_an_executor(spark: Any, graph: Graph) -> dict[str, Any]:
    """Ranks by a cluster that loses an executor between two rounds, and how far they are from the embedded ones."""
    step, rounds, blocks = DriverSteps.step, [0], list[int]()

    def disturbed(steps: DriverSteps, round_: Round, *vectors: Any, **numbers: Any) -> Any:
        if rounds[0] == LOST_AFTER_ROUNDS:
            blocks.append(_blocks_held(spark))
            os.kill(_executor_of(steps), signal.SIGKILL)
            deadline = time.monotonic() + LOST_SECONDS_MAX
            while _blocks_held(spark) == blocks[-1] and time.monotonic() < deadline:
                time.sleep(0.05)
            blocks.append(_blocks_held(spark))
        rounds[0] += 1
        found = step(steps, round_, *vectors, **numbers)
        blocks.append(_blocks_held(spark))
        return found

    DriverSteps.step = disturbed  # type: ignore[method-assign] # a moment between two rounds
    try:
        ranks = graph.analyze.pagerank("Knows", engine="spark", spark=spark, partitions=BLOCKS)
    finally:
        DriverSteps.step = step  # type: ignore[method-assign] # see above
    expected = graph.analyze.pagerank("Knows", engine="embedded")
    columns = [result.to_arrow()["rank"].to_numpy() for result in (ranks, expected)]
    return {
        "blocks": blocks[LOST_AFTER_ROUNDS : LOST_AFTER_ROUNDS + 3],
        "iterations": [result.facts["iterations"] for result in (ranks, expected)],
        "difference": float(np.abs(columns[0] - columns[1]).max()),
    }


def _blocks_held(spark: Any) -> int:
    """Blocks of edges that some executor has."""
    return sum(held.numCachedPartitions() for held in spark.sparkContext._jsc.sc().getRDDStorageInfo())


def _executor_of(steps: DriverSteps) -> int:
    """An executor that holds some."""

    def where(batches: Any) -> Any:
        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"process": [executor()]})

    return int(steps.blocks.mapInArrow(where, "process long").collect()[0].process)
