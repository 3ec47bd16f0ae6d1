"""Keys of table versions as facts: which row of which table holds which key, in which space, in which role.

A space is a set of keys that are compared with each other: the ids of a type, the values of a unique constraint, the
sources of an edge type. All spaces of all types go through one job: many small types cost as much as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.keys import tuple_texts
from omnigraph.rows.validate import text_column
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.storage.tables.scan import fragment_rows, scan
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPACES_PER_TABLE = 1_000
"""Room for the spaces of one table: its ids first, then its unique constraints, and last the sources of its edges."""

FACTS = "space int, role int, key string, row long, id string"

_SCHEMA = pa.schema(
    [("space", pa.int32()), ("role", pa.int32()), ("key", pa.utf8()), ("row", pa.int64()), ("id", pa.utf8())]
)


class Role(IntEnum):
    """What a row has to do with a key."""

    INPUT = 0
    COMMITTED = 1
    REPLACED = 2
    """Committed, but the input has a row of the same id, or overwrites the table."""
    NEW_NODE = 3
    OLD_NODE = 4
    REFERENCE = 5
    """References are numbered from here on: the ends of edges."""


@dataclass(frozen=True, slots=True)
class Emission:
    """Columns that are a key in a space."""

    space: int
    role: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyScan:
    """What is read from one version of a table, or from some fragments of it. ``id`` is told only if wanted."""

    pin: TablePin
    entity: Entity
    emissions: tuple[Emission, ...]
    with_ids: bool = False
    fragments: tuple[int, ...] | None = None


ReadScans = Callable[[Sequence[KeyScan]], Iterator[pa.RecordBatch]]
"""What a task makes of its scans."""


def facts(spark: SparkSession, store: Store, scans: Sequence[KeyScan]) -> DataFrame:
    """The facts of all scans, as a frame with the columns of ``FACTS``. Spark is slow with many: see ``groups``."""
    return run_scans(spark, store, scans, partial(_read, store), FACTS)


def run_scans(spark: SparkSession, store: Store, scans: Sequence[KeyScan], read: ReadScans, columns: str) -> DataFrame:
    """What ``read`` gives for the scans, which are cut and packed so that every task has about as much to do."""
    tasks = list(_tasks(store, scans))
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    return mapped(numbers, partial(_run, read, tasks), columns)


def _tasks(store: Store, scans: Sequence[KeyScan]) -> Iterator[list[KeyScan]]:
    task: list[KeyScan] = []
    held = 0
    for whole in scans:
        fragments: list[int] = []
        for number, rows in fragment_rows(store, whole.pin) if whole.pin.rows else []:
            fragments.append(number)
            held += rows
            if held >= limits.FACT_ROWS:
                yield [*task, replace(whole, fragments=tuple(fragments))]
                task, fragments, held = [], [], 0
        if fragments:
            task.append(replace(whole, fragments=tuple(fragments)))
    if task:
        yield task


def _run(
    read: ReadScans, tasks: Sequence[Sequence[KeyScan]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from read(tasks[number])


def _read(store: Store, scans: Sequence[KeyScan]) -> Iterator[pa.RecordBatch]:
    for emission, batch in (item for wanted in scans for item in emitted(store, wanted)):
        constants = [
            pa.repeat(pa.scalar(value, pa.int32()), batch.num_rows) for value in (emission.space, emission.role)
        ]
        yield pa.RecordBatch.from_arrays([*constants, *batch.columns], schema=_SCHEMA)


def emitted(store: Store, wanted: KeyScan) -> Iterator[tuple[Emission, pa.RecordBatch]]:
    """The facts of a scan, by emission: ``key``, ``row`` and ``id``."""
    columns = dict.fromkeys(column for emission in wanted.emissions for column in emission.columns)
    names = [*columns] if not wanted.with_ids else list(dict.fromkeys([*columns, ID]))
    for batch in scan(store, wanted.pin, names, with_address=True, fragments=wanted.fragments):
        rows = batch.column("_rowaddr").cast(pa.int64())
        ids = batch.column(ID) if wanted.with_ids else pa.nulls(batch.num_rows, pa.utf8())
        texts = {column: text_column(wanted.entity, column, batch) for column in columns}
        for emission in wanted.emissions:
            keys = tuple_texts([texts[column] for column in emission.columns])
            made = pa.RecordBatch.from_arrays([keys, rows, ids], names=["key", "row", "id"])
            yield emission, made.filter(keys.is_valid()) if keys.null_count else made
