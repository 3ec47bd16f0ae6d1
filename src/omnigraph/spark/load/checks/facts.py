"""Facts: the keys of table rows in the one form that every check compares.

A fact says that a row holds a key, in a space, in a role. A space is a set of keys that are compared with each other:
the ids of a type, the values of a unique constraint, the sources of an edge type. Two facts concern each other exactly
if space and key are equal. So every check is a grouping by (space, key), and all spaces of all types share one job:
many small types cost as much as one large type.

Example: ``edge:Knows`` is table 0 and ``node:Person`` table 1, so their ids are spaces 0 and 1000. The input has a
Person ``ann`` and an edge ``e1`` from ``ann`` to ``bob``. A Person ``ann`` is committed.

=====  =============  ===  ===========  ======================
space  role           key  row          meaning
=====  =============  ===  ===========  ======================
1000   INPUT          ann  input 0      a Person of the input
1000   COMMITTED      ann  committed 7  a Person of the graph
0      INPUT          e1   input 0      an edge of the input
1000   REFERENCE + 0  ann  input 0      the source of the edge
1000   REFERENCE + 1  bob  input 0      the target of the edge
=====  =============  ===  ===========  ======================

Group (1000, ann) has an input and a committed row: an update, or an error in an append. Group (1000, bob) has a
reference but no node: a dangling edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.ends.references import end_of, is_of_type, node_references, with_types
from omnigraph.rows.keys import tuple_texts
from omnigraph.rows.validate import text_column
from omnigraph.schema.catalog import EdgeEnd
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.storage.tables.scan import fragment_rows, scan
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPACES_PER_TABLE = 1_000
"""Spaces reserved per table: 0 for its ids, then one per unique constraint, and the last for the sources of its edges.

The table of a space is therefore ``space // SPACES_PER_TABLE``; ``rules`` relies on it."""

FACTS = "space int, role int, key string, row long, id string"

_SCHEMA = pa.schema(
    [("space", pa.int32()), ("role", pa.int32()), ("key", pa.utf8()), ("row", pa.int64()), ("id", pa.utf8())]
)


def is_of_sources(space: int) -> bool:
    """True for the sources of an edge table, whose edges are counted."""
    return space % SPACES_PER_TABLE == SPACES_PER_TABLE - 1


class FactRole(IntEnum):
    """The relation of a row to a key."""

    INPUT = 0
    COMMITTED = 1
    REPLACED = 2
    """A committed row that the load removes: the input has the same id, or overwrites the table."""
    NEW_NODE = 3
    OLD_NODE = 4
    REFERENCE = 5
    """The first of the numbered references, the ends of edges. Must be the largest: checks compare with ``>=``."""


@dataclass(frozen=True, slots=True)
class Emission:
    """Columns of a table that form a key in a space."""

    space: int
    role: int
    columns: tuple[str, ...]
    of_type: str | None = None
    """Of an end of edges: only the nodes of one type, by their ids."""
    at_end: tuple[EdgeEnd, str] | None = None
    """Of ids of nodes of a type: their references at an end of edges."""

    def keys(self, entity: Entity, batch: pa.RecordBatch, texts: Mapping[str, pa.Array]) -> pa.Array:
        """The keys of rows, null where a row makes no fact."""
        if self.of_type is not None:
            end = end_of(entity, self.columns[0])
            assert end is not None, "only an end has nodes of a type"
            ids = batch.column(end.column)
            return pc.if_else(is_of_type(end, self.of_type, batch), ids, pa.scalar(None, ids.type))
        if self.at_end is not None:
            return node_references(*self.at_end, batch.column(self.columns[0]))
        return tuple_texts([texts[column] for column in self.columns])


@dataclass(frozen=True, slots=True)
class KeyScan:
    """A scan of one table version, or of some of its fragments. Facts have an ``id`` only ``with_ids``."""

    pin: TablePin
    entity: Entity
    emissions: tuple[Emission, ...]
    with_ids: bool = False
    fragments: tuple[int, ...] | None = None


ReadScans = Callable[[Sequence[KeyScan]], Iterator[pa.RecordBatch]]
"""Converts the scans of a task to batches."""


def facts(spark: SparkSession, store: Store, scans: Sequence[KeyScan]) -> DataFrame:
    """The facts of scans as a frame with the columns ``FACTS``. For many facts, ``groups`` is much faster."""
    return run_scans(spark, store, scans, partial(_read, store), FACTS)


def run_scans(spark: SparkSession, store: Store, scans: Sequence[KeyScan], read: ReadScans, columns: str) -> DataFrame:
    """Apply ``read`` to the scans, which are divided among tasks of about equal size."""
    tasks = list(_tasks(store, scans))
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    return mapped(numbers, partial(_run, read, tasks), columns)


def _tasks(store: Store, scans: Sequence[KeyScan]) -> Iterator[list[KeyScan]]:
    """Pack fragments into tasks of at least ``FACT_ROWS`` rows, in order; only the last task may have fewer.

    Example with ``FACT_ROWS`` = 100:

    ====  ========  ====  ===============
    scan  fragment  rows  task
    ====  ========  ====  ===============
    A     0         60    0
    A     1         50    0 (110 rows)
    A     2         30    1
    B     0         40    1
    C     0         90    1 (160 rows)
    ====  ========  ====  ===============

    Task 0 gets scan A with fragments 0 and 1. Task 1 gets three scans: small tables share a task.
    """
    task: list[KeyScan] = []
    held = 0
    for whole in scans:
        # A scan in several tasks becomes several scans with disjoint fragments, so no fact is read twice.
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
    """The facts of a scan by emission, with the columns ``key``, ``row`` and ``id``."""
    columns = dict.fromkeys(column for emission in wanted.emissions for column in emission.columns)
    names = with_types(wanted.entity, [*columns] if not wanted.with_ids else [*columns, ID])
    for batch in scan(store, wanted.pin, names, with_address=True, fragments=wanted.fragments):
        # Spark has no unsigned integers. The cast is checked: it fails, rather than wraps, from fragment 2 ** 31 on.
        rows = batch.column("_rowaddr").cast(pa.int64())
        ids = batch.column(ID) if wanted.with_ids else pa.nulls(batch.num_rows, pa.utf8())
        texts = {column: text_column(wanted.entity, column, batch) for column in columns}
        for emission in wanted.emissions:
            keys = emission.keys(wanted.entity, batch, texts)
            made = pa.RecordBatch.from_arrays([keys, rows, ids], names=["key", "row", "id"])
            # A null in a key makes no fact: null is unequal to everything, so it can break no constraint.
            yield emission, made.filter(keys.is_valid()) if keys.null_count else made
