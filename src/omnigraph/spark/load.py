"""``load``: the door of Spark loads. Says what can be loaded and turns it into tasks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from omnigraph.engine.graph import Graph
from omnigraph.engine.loading import LoadRequest
from omnigraph.engine.results import LoadResult
from omnigraph.spark.bulk_load import load_parts
from omnigraph.spark.input import LoadInput, RowLines
from omnigraph.spark.parts import PartWriter, lines_of_rows
from omnigraph.spark.session import check_session, session
from omnigraph.spark.splits import FileSplit, plan_splits
from omnigraph.spark.tasks import run_tasks
from omnigraph.write.load import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def load(
    graph: Graph,
    sources: Paths,
    mode: str | LoadMode = LoadMode.MERGE,
    *,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    branch: str = "main",
    base: str | None = None,
    actor: str | None = None,
    message: str | None = None,
    idempotency_key: str | None = None,
    provenance: Mapping[str, str] | None = None,
) -> LoadResult:
    """Load files of JSON lines as one commit, on the session given or on one of this machine.

    ``partitions`` says into how many parts the input is cut; the result does not depend on it.
    """
    running = session() if spark is None else check_session(spark)
    request = LoadRequest(mode, branch, base, actor, message, idempotency_key, provenance or {})
    parsed = request.parsed_mode()
    paths = [os.fspath(sources)] if isinstance(sources, str | os.PathLike) else [os.fspath(path) for path in sources]
    splits = plan_splits(paths, partitions)

    def write(writer: PartWriter) -> LoadInput:
        parts = run_tasks(running, writer.write_split, splits)
        find = partial(_find_lines, running, writer, splits)
        return LoadInput(writer.store, parsed, parts, _starts(splits, [part.lines for part in parts]), find)

    return graph.load_with(partial(load_parts, running, write), request)


def _starts(splits: Sequence[FileSplit], lines: Sequence[int]) -> list[int]:
    """The line of its file that each split begins with."""
    starts: list[int] = []
    for number, split in enumerate(splits):
        starts.append(1 if split.start == 0 else starts[-1] + lines[number - 1])
    return starts


def _find_lines(
    spark: SparkSession,
    writer: PartWriter,
    splits: Sequence[FileSplit],
    wanted: Mapping[tuple[int, str], Sequence[int]],
) -> RowLines:
    """Lines of rows in splits whose lines are not plain runs: those splits are read once more."""
    numbers = sorted({number for number, _ in wanted})
    asked = [(splits[number], {key: wanted[n, key] for n, key in wanted if n == number}) for number in numbers]
    catalog = writer.catalog

    def read(item: tuple[FileSplit, dict[str, Sequence[int]]]) -> dict[str, dict[int, int]]:
        return lines_of_rows(catalog, *item)

    found = run_tasks(spark, read, asked)
    return {(number, key): lines for number, part in zip(numbers, found, strict=True) for key, lines in part.items()}
