"""Run a Python function on the executors, one task per item.

The outcome of a task is its return value or its error; an OmnigraphError arrives on the driver as it was raised.
Permanent errors are not retried: invalid input, missing objects, and failed embeddings. Every other error is retried as
often as the cluster is configured to, and only the last failure is reported.
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
"""Columns of a frame of outcomes."""

NOT_COUNTED = "I/O of tasks is not counted"
"""Note in the profile of steps that tasks run: the driver counts only its own requests."""

SHOWN_CHARS_MAX = 1_000
"""Maximum characters of a Spark error in our message: its start, and its end, which holds the Python error."""

CAUSES_MAX = 5
"""Maximum number of causes of a Java exception in our message."""

_DEFAULT_ATTEMPTS = 4


def run_tasks(
    spark: SparkSession, work: Callable[[T], R], items: Sequence[T], undo: Callable[[R], None] | None = None
) -> list[R]:
    """Run the work and return the results in the order of the items. Raises the error of the first failed item.

    ``undo`` is called with every result if another item failed.
    """
    if not items:
        return []
    numbers = spark.range(0, len(items), 1, len(items))
    run = partial(_run_items, work, list(items), attempts_max(spark))
    return results(mapped(numbers, run, OUTCOMES), undo)


def results(outcomes: DataFrame, undo: Callable[[Any], None] | None = None) -> list[Any]:
    """Collect outcomes in the order of their numbers. On a failure, call ``undo`` with every result, then raise."""
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
    """Translate the error of a failed job to SparkError."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        message, half = _message(error), SHOWN_CHARS_MAX // 2
        shown = message if len(message) <= SHOWN_CHARS_MAX else f"{message[:half]} ... {message[-half:]}"
        hint = "nothing was changed; check the input and the cluster"
        raise SparkError(f"a Spark job failed: {shown}", hint=hint) from error


def _message(error: Exception) -> str:
    """The message of an error. For a Java exception: its message and those of its causes, without the stack trace."""
    cause: Any = getattr(error, "java_exception", None)
    if cause is None:
        return str(error)
    messages: list[str] = []
    while cause is not None and len(messages) < CAUSES_MAX:
        messages.append(str(cause.getMessage() or cause.getClass().getName()))
        cause = cause.getCause()
    return ": ".join(dict.fromkeys(messages))


def attempts_max(spark: SparkSession) -> int:
    """Maximum attempts of a task: the master's setting in local mode, otherwise ``spark.task.maxFailures``."""
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
    """Run the work and pickle its outcome for the driver; raises an error that is worth another attempt."""
    try:
        return pickle.dumps((True, work()))
    except (InputError, NotFoundError, EmbeddingError) as error:
        # Permanent errors. The embedder has already retried transient failures of its provider.
        return pickle.dumps((False, error))
    except Exception as error:
        # On the last attempt the error travels as a value: raised, Spark would reduce it to a text.
        if _attempt() + 1 < attempts:
            raise
        return pickle.dumps((False, _typed(error)))


def outcome_batch(number: int, packed: bytes) -> pa.RecordBatch:
    """One outcome as an Arrow batch."""
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
