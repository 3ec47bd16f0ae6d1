"""A program: loads with Spark and kills itself, JVM and all, at one moment of the load."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omnigraph.engine.graph import open_graph
from omnigraph.manifest.publisher import Publisher
from omnigraph.spark import bulk_load, session
from tests.spark.conftest import TEST_SETTINGS

KEY = "the-load"
PARTITIONS = 3


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


def arrange(moment: str) -> None:
    match moment:
        case "tasks done":
            bulk_load.publish_input = before(bulk_load.publish_input)
        case "staged":
            Publisher.publish = before(Publisher.publish)  # type: ignore[method-assign] # the moment to die at
        case "published":
            Publisher.publish = after(Publisher.publish)  # type: ignore[method-assign] # the moment to die at
        case _:
            raise AssertionError(moment)


def main(root: Path, data: Path, mode: str, moment: str) -> None:
    arrange(moment)
    spark = session(cores=2, memory="512m", config=TEST_SETTINGS)
    graph = open_graph(root, durability="os")
    graph.load_spark(data, mode, spark=spark, partitions=PARTITIONS, checks="driver", idempotency_key=KEY)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
