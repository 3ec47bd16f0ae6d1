"""Distributed grouping of facts by key: hash-partitioned blocks in the shuffle, a local database in each task.

Grouping texts in the JVM costs several times as much as writing the input. Therefore Spark only shuffles opaque blocks.
Map tasks divide their facts into buckets by a hash of the key. A reduce task groups one bucket with the key database of
the embedded load, which spills to disk. Only the groups that a check needs become rows of Spark.

Invariant: all facts of a (space, key) are in one bucket, and all blocks of a bucket reach one task, so every group is
complete. It holds because the bucket depends on the key alone, and because every process computes the same hash, which
``Buckets.check`` verifies. A hash collision is harmless: the statement groups by the key itself, and the hash only
chooses the bucket.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import SparkError
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.load.checks.facts import Emission, FactRole, KeyScan, emitted, run_scans
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.keys import KeyDatabase, open_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOCKS = "bucket int, space int, role int, facts binary"

_BLOCKS = pa.schema([("bucket", pa.int32()), ("space", pa.int32()), ("role", pa.int32()), ("facts", pa.binary())])
_PACKED = pa.schema([("key", pa.utf8()), ("row", pa.int64()), ("times", pa.int64())])
_FACTS = pa.schema([("space", pa.int32()), ("role", pa.int32()), *_PACKED])
_PROBE = "SELECT CAST(hash('omnigraph') % 9223372036854775807 AS BIGINT)"
"""Hash of a fixed text. DuckDB may change its hash function between versions."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """An SQL statement over ``facts`` (space, role, key, row, times), and the Spark columns of its result.

    ``times`` is the multiplicity of a fact. Only references are pre-aggregated, and their ``row`` is null.
    """

    statement: str
    columns: str


@dataclass(frozen=True, slots=True)
class Buckets:
    """The number of buckets, and the driver's hash of a fixed text. Pickled to the executors."""

    count: int
    probe: int

    @classmethod
    def for_facts(cls, facts: int, task_facts: int) -> Buckets:
        """The number of buckets that gives grouping tasks of about ``task_facts`` facts."""
        with open_keys(KeyDatabase, threads=1) as database:
            return cls(max(1, -(-facts // task_facts)), database.number(_PROBE))

    def check(self, database: KeyDatabase) -> None:
        """Raise if this process hashes differently: equal keys in different buckets would hide violations."""
        if database.number(_PROBE) != self.probe:
            raise SparkError(
                "the executors hash keys differently from the driver",
                hint="install the same version of duckdb on all machines, or load with checks='driver'",
            )


def count_facts(scans: Sequence[KeyScan]) -> int:
    """Upper bound of the number of facts of scans: keys with a null give none."""
    return sum(scan.pin.rows * len(scan.emissions) for scan in scans)


def blocks(spark: SparkSession, store: Store, scans: Sequence[KeyScan], buckets: Buckets) -> DataFrame:
    """The facts of scans as a frame of blocks, with the columns ``BLOCKS``."""
    return run_scans(spark, store, scans, partial(_pack_scans, store, buckets), BLOCKS)


def packed(facts: DataFrame, buckets: Buckets) -> DataFrame:
    """The blocks of facts that are rows of a frame."""
    columns = facts.select("space", "role", "key", "row", "id")
    return mapped(columns, partial(_pack_rows, buckets), BLOCKS)


def grouped(given: DataFrame, buckets: Buckets, grouping: Grouping) -> DataFrame:
    """The result of a grouping over the facts in blocks."""
    # By id: bucket n is partition n. Hashing the bucket number again would give some tasks several buckets and others
    # none.
    return mapped(given.repartitionById(buckets.count, "bucket"), partial(_group, grouping), grouping.columns)


def _pack_scans(store: Store, buckets: Buckets, scans: Sequence[KeyScan]) -> Iterator[pa.RecordBatch]:
    return _pack(buckets, (item for wanted in scans for item in emitted(store, wanted)))


def _pack_rows(buckets: Buckets, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return _pack(buckets, (item for batch in batches for item in _by_emission(batch)))


def _by_emission(batch: pa.RecordBatch) -> Iterator[tuple[Emission, pa.RecordBatch]]:
    spaces, roles = batch.column("space"), batch.column("role")
    for space in pc.unique(spaces).to_pylist():
        for role in pc.unique(roles).to_pylist():
            chosen = pc.and_(pc.equal(spaces, space), pc.equal(roles, role))
            yield Emission(space, role, ()), batch.select(["key", "row", "id"]).filter(chosen)


def _pack(buckets: Buckets, facts: Iterator[tuple[Emission, pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Buffer the facts of each emission until there are enough for blocks of a useful size."""
    waiting: dict[Emission, list[pa.RecordBatch]] = {}
    with open_keys(KeyDatabase, threads=1) as database:
        buckets.check(database)
        for emission, batch in facts:
            pieces = waiting.setdefault(emission, [])
            pieces.append(batch)
            if sum(piece.num_rows for piece in pieces) >= limits.PACKED_FACTS:
                yield from _divide(database, buckets, emission, waiting.pop(emission))
        for emission, pieces in waiting.items():
            yield from _divide(database, buckets, emission, pieces)


def _divide(
    database: KeyDatabase, buckets: Buckets, emission: Emission, pieces: Sequence[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Divide the facts of one emission into one block per bucket.

    Example with two buckets, sorted by bucket:

    ===  ===  =====  ======
    key  row  times  bucket
    ===  ===  =====  ======
    ann  0    1      0
    dan  3    1      0
    bob  1    1      1
    cid  2    1      1
    eve  4    1      1
    ===  ===  =====  ======

    The run ends of ``bucket`` are [2, 5]. Slices 0:2 and 2:5 become the blocks of buckets 0 and 1.
    """
    given = pa.Table.from_batches(pieces)
    if not given.num_rows:
        return
    # Many edges share an end. Counting references here shrinks the shuffle; checks need only their number.
    if emission.role >= FactRole.REFERENCE:
        chosen = 'SELECT key, CAST(NULL AS BIGINT) AS "row", count(*) AS times FROM given GROUP BY key'
    else:
        chosen = 'SELECT key, "row", CAST(1 AS BIGINT) AS times FROM given'
    query = f"SELECT *, CAST(hash(key) % {buckets.count} AS INTEGER) AS bucket FROM ({chosen})"
    table = pa.Table.from_batches(database.stream(query, given=given)).combine_chunks()
    # One batch sorted by bucket, so that every bucket is one run and its facts one zero-copy slice.
    table = table.take(pc.sort_indices(table.column("bucket")))
    [batch] = table.combine_chunks().to_batches()
    runs = pc.run_end_encode(batch.column("bucket"))
    facts, ends = batch.select(_PACKED.names), runs.run_ends.to_pylist()
    divided = [facts.slice(start, end - start).serialize().to_pybytes() for start, end in pairwise([0, *ends])]
    constants = [pa.repeat(pa.scalar(value, pa.int32()), len(ends)) for value in (emission.space, emission.role)]
    yield pa.RecordBatch.from_arrays([runs.values, *constants, pa.array(divided, pa.binary())], schema=_BLOCKS)


def _group(grouping: Grouping, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with open_keys(KeyDatabase, threads=1) as database:
        # A stream: the database spills groups to disk, so a task holds neither all blocks nor all facts in memory.
        facts = pa.RecordBatchReader.from_batches(_FACTS, _unpacked(batches))
        yield from database.stream(grouping.statement, facts=facts)


def _unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for block in batch.select(["space", "role", "facts"]).to_pylist():
            facts = pa.ipc.read_record_batch(pa.py_buffer(block["facts"]), _PACKED)
            constants = [pa.repeat(pa.scalar(block[name], pa.int32()), facts.num_rows) for name in ("space", "role")]
            yield pa.RecordBatch.from_arrays([*constants, *facts.columns], schema=_FACTS)
