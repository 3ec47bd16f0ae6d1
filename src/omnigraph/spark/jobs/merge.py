"""Large merges on a cluster: tasks read the rows that can differ, and each bucket of ids is merged by one task.

Spark shuffles blocks of Arrow data, partitioned by a hash of the id. Invariant: all rows of an id, from every version,
reach one task, which merges them with the functions of the embedded engine. The driver receives keys, conflicts and
descriptions of fragments. It receives rows only for constraint violations that the caller resolves.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import changes_schema, read_changes
from omnigraph.core.tables import TablePin
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.descriptions import described
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import OUTCOMES, attempts_max, outcome, outcome_batch, results
from omnigraph.storage.stage.staging import WrittenRows, write_rows
from omnigraph.storage.tables.difference import Piece, count_rows
from omnigraph.write.merge.images import Sides
from omnigraph.write.merge.parts import ImageRole, Images, PartedMerge, assemble, merge_part, part_keys, pieces_to_read
from omnigraph.write.merge.staging import with_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOCKS = "bucket int, role int, rows binary"

_BLOCKS = pa.schema([("bucket", pa.int32()), ("role", pa.int32()), ("rows", pa.binary())])

PartWork = Callable[[Sides, Images], Any]
"""The work on one part of the ids. Pickled to the executors."""


def merger(spark: SparkSession | None = None) -> SparkMerger:
    """A merger on the given session, or on a local one. The caller closes it."""
    return SparkMerger(spark)


@dataclass
class SparkMerger:
    """Merges tables on a session, and keeps the rows persisted there until it is closed."""

    spark: SparkSession | None = None
    kept: list[DataFrame] = field(default_factory=list)

    def merge(self, tables: Sequence[Sides]) -> list[PartedMerge]:
        """Merge tables in one job, and persist the blocks for the job that writes the rows."""
        self.spark = session() if self.spark is None else check_session(self.spark)
        jobs = _Jobs(self.spark, _divided(tables))
        self.kept.append(jobs.blocks)
        found = jobs.run(part_keys, range(len(tables)))
        return [
            assemble(table.entity, [keys for place, keys in found if place == number], _TableParts(jobs, number))
            for number, table in enumerate(tables)
        ]

    def close(self) -> None:
        """Unpersist the blocks."""
        for frame in self.kept:
            frame.unpersist()
        self.kept.clear()


@dataclass(frozen=True)
class _TableParts:
    """The merged rows of one table. Every access recomputes them from the blocks."""

    jobs: _Jobs
    table: int

    def fetch(self, ids: Sequence[str]) -> pa.Table:
        buckets = self.jobs.divided.buckets(self.table, ids)
        found = self.jobs.run(partial(_chosen_rows, pa.array(ids, pa.string())), [self.table], buckets)
        return pa.concat_tables([rows for _, rows in found])

    def write(self, without: frozenset[str]) -> list[WrittenRows]:
        found = self.jobs.run(partial(_write, without), [self.table])
        return [written for _, written in found if written is not None]


def _chosen_rows(ids: pa.Array, table: Sides, images: Images) -> pa.Table:
    rows = merge_part(table, images)[0].rows
    return rows.filter(pc.is_in(rows.column("id"), value_set=ids))


def _write(without: frozenset[str], table: Sides, images: Images) -> WrittenRows | None:
    rows = merge_part(table, images)[0].rows
    kept = rows.filter(pc.invert(pc.is_in(rows.column("id"), value_set=pa.array(sorted(without), pa.string()))))
    if not kept.num_rows:
        return None
    target = table.pins[1]
    assert target is not None, "a table that both sides changed"
    base = table.store.open(target.location, target.lance_version)
    return write_rows(table.store, base, target.location, with_bytes(table, kept))


@dataclass(frozen=True)
class _Divided:
    """Tables, and the first bucket of each; the last entry is the total. Pickled to the executors."""

    tables: tuple[Sides, ...]
    starts: tuple[int, ...]

    def table_of(self, bucket: int) -> int:
        return bisect_right(self.starts, bucket) - 1

    def buckets(self, table: int, ids: Iterable[str]) -> list[int]:
        """The buckets of ids. CRC-32 is the same on every machine; Python's own hash is not."""
        start, count = self.starts[table], self.starts[table + 1] - self.starts[table]
        return [start + zlib.crc32(id_.encode()) % count for id_ in ids]


@dataclass(frozen=True, slots=True)
class _Read:
    """Pieces of one table version that a task reads."""

    table: int
    role: ImageRole
    pin: TablePin
    pieces: tuple[Piece, ...]


def _divided(tables: Sequence[Sides]) -> _Divided:
    starts = [0]
    for table in tables:
        rows = sum(count_rows(table.store, pin, pieces) for pin, pieces in pieces_to_read(table).values())
        starts.append(starts[-1] + part_count(rows, table.store.tuning.merged_rows))
    return _Divided(tuple(tables), tuple(starts))


def part_count(rows: int, part_rows: int) -> int:
    """Number of buckets of about ``part_rows`` rows."""
    return max(1, -(-rows // part_rows))


def _reads(divided: _Divided) -> Iterator[list[_Read]]:
    """Divide the reads among tasks of about equal size."""
    task: list[_Read] = []
    held = 0
    for number, table in enumerate(divided.tables):
        for role, (pin, pieces) in pieces_to_read(table).items():
            for piece in pieces:
                task.append(_Read(number, role, pin, (piece,)))
                held += count_rows(table.store, pin, [piece])
                if held >= table.store.tuning.merged_rows:
                    yield task
                    task, held = [], 0
    if task:
        yield task


class _Jobs:
    """Jobs over the buckets of tables. The rows are read once and persisted."""

    def __init__(self, spark: SparkSession, divided: _Divided) -> None:
        from pyspark.storagelevel import StorageLevel

        self.divided = divided
        self._spark = spark
        self._attempts = attempts_max(spark)
        tasks = list(_reads(divided))
        numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
        read = mapped(numbers, partial(_read_blocks, divided, tasks), BLOCKS)
        self.blocks = read.repartitionById(divided.starts[-1], "bucket").persist(StorageLevel.MEMORY_AND_DISK)

    def run(self, work: PartWork, tables: Sequence[int], buckets: Iterable[int] | None = None) -> list[tuple[int, Any]]:
        """Run the work on all buckets of tables, or on the given ones; returns table numbers and results in order."""
        from pyspark.sql import functions as f

        starts = self.divided.starts
        wanted = set(buckets) if buckets is not None else {n for t in tables for n in range(starts[t], starts[t + 1])}
        chosen = self.blocks if len(wanted) == starts[-1] else self.blocks.where(f.col("bucket").isin(sorted(wanted)))
        step = f"Omnigraph: merge {self.divided.tables[0].store.root}: {', '.join(self._keys(tables))}"
        with described(self._spark, step):
            return results(mapped(chosen, partial(_run_parts, work, self.divided, self._attempts), OUTCOMES))

    def _keys(self, tables: Iterable[int]) -> list[str]:
        return [self.divided.tables[number].entity.table_key for number in tables]


def _read_blocks(
    divided: _Divided, tasks: Sequence[Sequence[_Read]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            for wanted in tasks[number]:
                table = divided.tables[wanted.table]
                rows = read_changes(table.store, table.entity, wanted.pin, wanted.pieces)
                yield from _blocks(divided, wanted, rows)


def _blocks(divided: _Divided, wanted: _Read, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Divide rows into blocks by bucket, each of at most about ``BLOCK_BYTES``."""
    buckets = pa.array(divided.buckets(wanted.table, rows.column("id").to_pylist()), pa.int32())
    order = pc.sort_indices(buckets)
    runs = pc.run_end_encode(buckets.take(order))
    rows_max = max(1, limits.BLOCK_BYTES * rows.num_rows // max(1, rows.nbytes))
    start = 0
    for bucket, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        for first in range(start, end, rows_max):
            chosen = rows.take(order.slice(first, min(rows_max, end - first))).combine_chunks()
            packed = [batch.serialize().to_pybytes() for batch in chosen.to_batches()]
            constants = [pa.repeat(pa.scalar(value, pa.int32()), len(packed)) for value in (bucket, int(wanted.role))]
            yield pa.RecordBatch.from_arrays([*constants, pa.array(packed, pa.binary())], schema=_BLOCKS)
        start = end


def _run_parts(
    work: PartWork, divided: _Divided, attempts: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run the work on every bucket of this task, which has received all of their blocks."""
    blocks: dict[int, dict[ImageRole, list[pa.RecordBatch]]] = {}
    for batch in batches:
        for block in batch.to_pylist():
            schema = changes_schema(divided.tables[divided.table_of(block["bucket"])].entity)
            rows = pa.ipc.read_record_batch(pa.py_buffer(block["rows"]), schema)
            blocks.setdefault(block["bucket"], {}).setdefault(ImageRole(block["role"]), []).append(rows)

    def done(bucket: int) -> tuple[int, Any]:
        number = divided.table_of(bucket)
        images = {role: pa.Table.from_batches(parts) for role, parts in blocks[bucket].items()}
        return number, work(divided.tables[number], images)

    for bucket in sorted(blocks):
        yield outcome_batch(bucket, outcome(partial(done, bucket), attempts))
