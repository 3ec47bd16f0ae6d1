"""``load``: the door of Spark loads. Says what can be loaded and turns it into tasks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from omnigraph.engine.graph import Graph
from omnigraph.engine.loading import LoadRequest
from omnigraph.engine.results import LoadResult
from omnigraph.errors import UsageError
from omnigraph.spark.bulk_load import Checks, load_parts
from omnigraph.spark.frames import write_frames
from omnigraph.spark.input import LoadInput, RowLines
from omnigraph.spark.mapping import parse_mapping
from omnigraph.spark.parts import Part, PartWriter, discard_part, lines_of_rows
from omnigraph.spark.progress import Report, Watch
from omnigraph.spark.rejected_rows import Reasons, records_of_lines
from omnigraph.spark.rejects import Rejects
from omnigraph.spark.session import check_session, session
from omnigraph.spark.splits import FileSplit, plan_splits
from omnigraph.spark.tasks import run_tasks, translated_jobs
from omnigraph.write.load import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""Files of JSON lines."""


def load(
    graph: Graph,
    sources: Paths | Mapping[str, Any] | None = None,
    mode: str | LoadMode = LoadMode.MERGE,
    *,
    mapping: Mapping[str, Any] | None = None,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    checks: str | Checks = Checks.AUTO,
    branch: str = "main",
    base: str | None = None,
    actor: str | None = None,
    message: str | None = None,
    idempotency_key: str | None = None,
    provenance: Mapping[str, str] | None = None,
    progress: Report | None = None,
    reject_to: str | os.PathLike[str] | None = None,
) -> LoadResult:
    """Load as one commit, on the session given or on one of this machine.

    Without a ``mapping`` the sources are files of JSON lines, cut into about as many ``partitions`` as wanted. With
    one, ``sources`` are frames or paths by the names that the mapping uses; those it has paths for may be left out.
    ``checks`` says who compares keys: the ``driver`` alone, the ``cluster``, or by the number of rows (``auto``).
    ``progress`` is told the stage, its tasks and the rows written so far. With ``reject_to``, rows that something is
    wrong with are written into that new file, and the others are loaded.
    """
    running = session() if spark is None else check_session(spark)
    request = LoadRequest(mode, branch, base, actor, message, idempotency_key, provenance or {})
    parsed = request.parsed_mode()
    chosen = _checks(checks)
    if reject_to is not None and (mapping is not None or chosen is Checks.CLUSTER):
        what = "a mapping" if mapping is not None else "checks by the cluster"
        raise UsageError(f"rows cannot be rejected with {what}", hint="load JSON lines, checked by the driver")
    splits = [] if mapping is not None else plan_splits(_paths(sources), partitions)
    rejects = None if reject_to is None else Rejects(os.fspath(reject_to), partial(_find_records, running, splits))

    def write(writer: PartWriter) -> LoadInput:
        if mapping is not None:
            with translated_jobs():
                found = write_frames(running, writer, parse_mapping(mapping, writer.catalog), _named(sources))
            return LoadInput(writer.store, parsed, found)
        parts = run_tasks(running, writer.write_split, splits, partial(discard_part, writer.store))
        return LoadInput(writer.store, parsed, parts, partial(_find_lines, running, writer, splits, parts))

    loader = partial(load_parts, running, write, chosen, Watch(running, progress), rejects)
    if rejects is None:
        return graph.load_with(loader, request)
    with rejects.kept():
        result = graph.load_with(loader, request)
        return rejects.told(result)


def _checks(given: str | Checks) -> Checks:
    try:
        return Checks(given)
    except ValueError:
        known = ", ".join(kind.value for kind in Checks)
        raise UsageError(f"{given!r} is not where checks are made", hint=f"it is one of {known}") from None


def _paths(sources: Paths | Mapping[str, Any] | None) -> list[str]:
    match sources:
        case None | Mapping():
            raise UsageError(
                "without a mapping the sources are files of JSON lines", hint="name files, or pass mapping="
            )
        case str() | os.PathLike():
            return [os.fspath(sources)]
        case _:
            return [os.fspath(path) for path in sources]


def _named(sources: Paths | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if sources is not None and not isinstance(sources, Mapping):
        raise UsageError("with a mapping the sources have names", hint='pass {"name": path or DataFrame}')
    return sources or {}


def _find_lines(
    spark: SparkSession,
    writer: PartWriter,
    splits: Sequence[FileSplit],
    parts: Sequence[Part],
    wanted: Mapping[tuple[int, str], Sequence[int]],
) -> RowLines:
    """Lines of rows in splits whose lines are not plain runs: those splits are read once more."""
    numbers = sorted({number for number, _ in wanted})
    asked = [
        (splits[number], {key: wanted[n, key] for n, key in wanted if n == number}, parts[number].rejected)
        for number in numbers
    ]
    catalog = writer.catalog

    def read(item: tuple[FileSplit, dict[str, Sequence[int]], Reasons]) -> dict[str, dict[int, int]]:
        return lines_of_rows(catalog, *item)

    found = run_tasks(spark, read, asked)
    return {(number, key): lines for number, part in zip(numbers, found, strict=True) for key, lines in part.items()}


def _find_records(
    spark: SparkSession, splits: Sequence[FileSplit], wanted: Mapping[int, Sequence[int]]
) -> Mapping[int, Mapping[int, object]]:
    """Records of lines, by number of the split and line in it."""
    asked = [(splits[number], lines) for number, lines in wanted.items()]
    found = run_tasks(spark, _read_records, asked)
    return dict(zip(wanted, found, strict=True))


def _read_records(item: tuple[FileSplit, Sequence[int]]) -> dict[int, object]:
    return records_of_lines(*item)
