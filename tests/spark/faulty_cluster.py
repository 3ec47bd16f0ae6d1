"""A program: loads on a cluster of two executors while things go wrong there, and tells what came of it as JSON.

Tasks are disturbed on their way back, after they wrote their fragments: the worst moment, for the files are there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import SparkError, StorageError
from omnigraph.spark import session
from omnigraph.spark.parts import Part, PartWriter
from omnigraph.spark.splits import FileSplit

ROWS = 600
WRITE = PartWriter.write_split
SLOW_SECONDS = 120
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "3",
    "spark.cores.max": "2",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    # A task that takes far longer than the others is started a second time, on another host.
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "3s",
}


def attempt() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.attemptNumber()


def killed(writer: PartWriter, split: FileSplit) -> Part:
    """The executor dies at once, the first time."""
    part = WRITE(writer, split)
    if split.start == 0 and attempt() == 0:
        workers_parent = Path(f"/proc/{os.getppid()}/stat").read_text().split()[3]
        os.kill(int(workers_parent), signal.SIGKILL)
        time.sleep(60)
    return part


def slow(writer: PartWriter, split: FileSplit) -> Part:
    """The first copy of a task is never done; it says so if it is not ended."""
    part = WRITE(writer, split)
    if split.start == 0:
        beside = Path(split.file.address).parent / f"slow-{attempt()}"
        beside.touch()
        if attempt() == 0:
            time.sleep(SLOW_SECONDS)
            raise AssertionError("there was no second copy")
    return part


def fails_twice(writer: PartWriter, split: FileSplit) -> Part:
    part = WRITE(writer, split)
    if split.start == 0 and attempt() < 2:
        raise StorageError("the disk was away")
    return part


def fails_always(writer: PartWriter, split: FileSplit) -> Part:
    part = WRITE(writer, split)
    if split.start == 0:
        raise StorageError("the disk is away", location="there")
    return part


def fragments(graph: Graph) -> int:
    return len(list(Path(graph.uri).glob("nodes/*/data/*.lance")))


def main(directory: Path, master: str, python_path: str) -> None:
    data = directory / "data.jsonl"
    data.write_text("".join(f'{{"type": "Person", "data": {{"name": "p{number}"}}}}\n' for number in range(ROWS)))
    spark = session(config={**SETTINGS, "spark.master": master, "spark.executorEnv.PYTHONPATH": python_path})
    told: dict[str, Any] = {}
    for disturbed in (fails_twice, fails_always, slow, killed):
        PartWriter.write_split = disturbed  # type: ignore[method-assign] # what the tasks of this load will run
        graph = create(directory / disturbed.__name__, "node Person {\n name: String @key\n}\n", durability="os")
        failed = None
        try:
            graph.load_spark(data, "append", spark=spark, partitions=6)
        except (SparkError, StorageError) as error:
            failed = [type(error).__name__, error.message]
        names = [name for batch in graph.snapshot().batches("node:Person") for name in batch.column("name").to_pylist()]
        told[disturbed.__name__] = {
            "rows": len(names),
            "different": len(set(names)),
            "commits": len(list(graph.commits())),
            "clean": graph.verify().is_clean,
            "failed": failed,
            "fragments": fragments(graph),
        }
    told["copies"] = sorted(path.name for path in directory.glob("slow-*"))
    spark.stop()
    print("told", json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
