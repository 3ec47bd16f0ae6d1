"""A program: loads with Spark and kills itself, JVM and all, at one moment of the load."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omnigraph.engine.graph import open_graph
from omnigraph.manifest.publisher import Publisher
from omnigraph.spark import session
from omnigraph.spark.load import publish as bulk_load
from omnigraph.spark.load.slices import InputSlice, SliceWriter
from omnigraph.spark.load.splits import SplitGroup
from tests.features.spark.conftest import TEST_SETTINGS

PARTITIONS = 3
WAITS_MAX = 1_000


def die() -> None:
    """The whole group at once: the driver, its JVM and the workers."""
    os.killpg(0, signal.SIGKILL)


def before(function: Callable[..., Any]) -> Callable[..., Any]:
    def killed(*values: Any, **named: Any) -> Any:
        die()
        return function(*values, **named)

    return killed


def after(function: Callable[..., Any]) -> Callable[..., Any]:
    def killed(*values: Any, **named: Any) -> Any:
        function(*values, **named)
        die()

    return killed


def last_task(root: Path, size: int) -> Callable[..., Any]:
    """The task of the last split waits until the others are noted; then it is the end of all."""
    processes, write = os.getpgid(0), SliceWriter.write_lines

    def killed(writer: SliceWriter, group: SplitGroup) -> InputSlice:
        if group.splits[-1].end < size:
            return write(writer, group)
        for _ in range(WAITS_MAX):
            if len(list(root.glob("jobs/*.*.json"))) == PARTITIONS - 1:
                os.killpg(processes, signal.SIGKILL)
            time.sleep(0.05)
        raise AssertionError("the other tasks were never noted")

    return killed


def arrange(moment: str, root: Path, size: int) -> None:
    match moment:
        case "some tasks done":
            SliceWriter.write_lines = last_task(root, size)  # type: ignore[method-assign] # the moment to die at
        case "tasks done":
            bulk_load.publish_input = before(bulk_load.publish_input)
        case "staged":
            Publisher.publish = before(Publisher.publish)  # type: ignore[method-assign] # the moment to die at
        case "published":
            Publisher.publish = after(Publisher.publish)  # type: ignore[method-assign] # the moment to die at
        case _:
            raise AssertionError(moment)


def main(root: str, data: str, mode: str, moment: str, options: dict[str, str]) -> None:
    arrange(moment, Path(root), 0 if options else Path(data).stat().st_size)
    scratch, java = tempfile.gettempdir(), "spark.driver.extraJavaOptions"
    # Java does not ask the environment for a place of temporary files.
    places = {"spark.local.dir": scratch, java: f"{TEST_SETTINGS[java]} -Djava.io.tmpdir={scratch}"}
    spark = session(cores=2, memory="512m", config={**TEST_SETTINGS, **places})
    graph = open_graph(root, durability="os", storage_options=options)
    graph.load_spark(data, mode, spark=spark, partitions=PARTITIONS, checks="driver")


if __name__ == "__main__":
    main(*sys.argv[1:5], json.loads(sys.argv[5]))
