"""Running a Python function once per item on the executors, each in a task of its own.

A task's outcome is what it returns, or the error it ended with: those of ours arrive as they were raised. Mistakes in
the input, and texts that nobody embeds, are not tried again; everything else is, as often as the cluster is set to, and
only the last failure counts.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from omnigraph.errors import EmbeddingError, InputError, NotFoundError, OmnigraphError, SparkError
from omnigraph.spark.cluster.python_workers import mapped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
R = TypeVar("R")

OUTCOMES = "number long, outcome binary"
"""The columns in which outcomes come back."""

NOT_COUNTED = "what tasks read and write is not counted"
"""Said in the profile of steps that tasks do: the driver sees its own requests only."""

SHOWN_CHARS_MAX = 1_000
"""Characters of what Spark says that are repeated: the beginning, and the end, where Python's own error is."""

CAUSES_MAX = 5
"""Causes of an error of Java that are repeated."""

_DEFAULT_ATTEMPTS = 4


def run_tasks(
    spark: SparkSession, work: Callable[[T], R], items: Sequence[T], undo: Callable[[R], None] | None = None
) -> list[R]:
    """The results in the order of the items. The first failed item, in that order, decides what is raised."""
    if not items:
        return []
    numbers = spark.range(0, len(items), 1, len(items))
    run = partial(_run_items, work, list(items), attempts_max(spark))
    return results(mapped(numbers, run, OUTCOMES), undo)


def results(outcomes: DataFrame, undo: Callable[[Any], None] | None = None) -> list[Any]:
    """The results of outcomes, by number. If there is a failure, ``undo`` is called with those that went well."""
    with translated_jobs():
        rows = outcomes.collect()
    found = [pickle.loads(row.outcome) for row in sorted(rows, key=lambda row: int(row.number))]
    failures = [value for is_good, value in found if not is_good]
    if failures and undo is not None:
        for is_good, value in found:
            if is_good:
                undo(value)
    if failures:
        raise failures[0]
    return [value for _, value in found]


@contextmanager
def translated_jobs() -> Iterator[None]:
    """What Spark says of a job that failed, as our error."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        said, half = _said(error), SHOWN_CHARS_MAX // 2
        shown = said if len(said) <= SHOWN_CHARS_MAX else f"{said[:half]} ... {said[-half:]}"
        hint = "nothing was changed; look at what it reads, and at the cluster"
        raise SparkError(f"a Spark job failed: {shown}", hint=hint) from error


def _said(error: Exception) -> str:
    """What an error says: one of Java what it and its causes say, instead of where in Spark they were."""
    cause: Any = getattr(error, "java_exception", None)
    if cause is None:
        return str(error)
    told: list[str] = []
    while cause is not None and len(told) < CAUSES_MAX:
        told.append(str(cause.getMessage() or cause.getClass().getName()))
        cause = cause.getCause()
    return ": ".join(dict.fromkeys(told))


def attempts_max(spark: SparkSession) -> int:
    """How often Spark runs a task before it gives up."""
    master = spark.conf.get("spark.master", "") or ""
    if master.startswith("local") and not master.startswith("local-cluster"):
        return int(master.rstrip("]").partition(",")[2] or 1)
    return int(spark.conf.get("spark.task.maxFailures", str(_DEFAULT_ATTEMPTS)) or _DEFAULT_ATTEMPTS)


def _run_items(
    work: Callable[[Any], Any], items: Sequence[Any], attempts: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield outcome_batch(number, outcome(partial(work, items[number]), attempts))


def outcome(work: Callable[[], Any], attempts: int) -> bytes:
    """What came of the work, to be sent to the driver; raises what is worth another attempt of the task."""
    try:
        return pickle.dumps((True, work()))
    except (InputError, NotFoundError, EmbeddingError) as error:
        # A provider of vectors was asked again already, as often as it should be.
        return pickle.dumps((False, error))
    except Exception as error:
        if _attempt() + 1 < attempts:
            raise
        return pickle.dumps((False, _typed(error)))


def outcome_batch(number: int, packed: bytes) -> pa.RecordBatch:
    """One outcome as Arrow data."""
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int64()), pa.array([packed], pa.binary())], names=["number", "outcome"]
    )


def _attempt() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.attemptNumber()


def _typed(error: Exception) -> OmnigraphError:
    if isinstance(error, OmnigraphError):
        return error
    where = "".join(traceback.format_exception(error))
    return SparkError(f"a task failed: {type(error).__name__}: {error}", hint="nothing was changed", traceback=where)
