"""Facts grouped by their keys. Spark moves them between tasks in blocks; only the groups that matter become its rows.

Grouping texts in the JVM costs several times what writing the rows of the input costs. So tasks divide their facts by a
hash of the key into buckets, and a task for each bucket groups with the key database of the embedded load, which
spills to disk. All facts of a key are in one bucket, so every group is whole. It is formed by the key itself: the hash
only chooses the bucket.
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
from omnigraph.spark.load.checks.facts import Emission, KeyScan, Role, emitted, run_scans
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.keys import KeyDatabase, open_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOCKS = "bucket int, space int, role int, facts binary"

_BLOCKS = pa.schema([("bucket", pa.int32()), ("space", pa.int32()), ("role", pa.int32()), ("facts", pa.binary())])
_PACKED = pa.schema([("key", pa.utf8()), ("row", pa.int64()), ("times", pa.int64())])
_FACTS = pa.schema([("space", pa.int32()), ("role", pa.int32()), *_PACKED])
_PROBE = "SELECT CAST(hash('omnigraph') % 9223372036854775807 AS BIGINT)"


@dataclass(frozen=True, slots=True)
class Grouping:
    """A statement over ``facts`` (space, role, key, row, times), and the columns of what it gives, as Spark names them.

    ``times`` is how many facts one stands for; only references are counted together, and their ``row`` means nothing.
    """

    statement: str
    columns: str


@dataclass(frozen=True, slots=True)
class Buckets:
    """How many there are. ``probe`` tells whether a task hashes as the driver does. Travels to the executors."""

    count: int
    probe: int

    @classmethod
    def for_facts(cls, facts: int) -> Buckets:
        """As many as make tasks of a good size of so many facts."""
        with open_keys(KeyDatabase, threads=1) as database:
            return cls(max(1, -(-facts // limits.GROUP_FACTS)), database.number(_PROBE))

    def check(self, database: KeyDatabase) -> None:
        """Facts that are hashed otherwise would be in another bucket than their like."""
        if database.number(_PROBE) != self.probe:
            raise SparkError(
                "the executors hash keys otherwise than the driver",
                hint="install the same version of duckdb everywhere, or load with checks by the driver",
            )


def count_facts(scans: Sequence[KeyScan]) -> int:
    """How many facts scans give at most."""
    return sum(scan.pin.rows * len(scan.emissions) for scan in scans)


def blocks(spark: SparkSession, store: Store, scans: Sequence[KeyScan], buckets: Buckets) -> DataFrame:
    """The facts of scans as a frame with the columns of ``BLOCKS``."""
    return run_scans(spark, store, scans, partial(_pack_scans, store, buckets), BLOCKS)


def packed(facts: DataFrame, buckets: Buckets) -> DataFrame:
    """The same of facts that are rows of Spark already."""
    columns = facts.select("space", "role", "key", "row", "id")
    return mapped(columns, partial(_pack_rows, buckets), BLOCKS)


def grouped(given: DataFrame, buckets: Buckets, grouping: Grouping) -> DataFrame:
    """What the grouping says of the facts in blocks."""
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
    """Gather the facts of each emission until they are worth dividing."""
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
    given = pa.Table.from_batches(pieces)
    if not given.num_rows:
        return
    if emission.role >= Role.REFERENCE:
        chosen = 'SELECT key, CAST(NULL AS BIGINT) AS "row", count(*) AS times FROM given GROUP BY key'
    else:
        chosen = 'SELECT key, "row", CAST(1 AS BIGINT) AS times FROM given'
    query = f"SELECT *, CAST(hash(key) % {buckets.count} AS INTEGER) AS bucket FROM ({chosen})"
    table = pa.Table.from_batches(database.stream(query, given=given)).combine_chunks()
    table = table.take(pc.sort_indices(table.column("bucket")))
    [batch] = table.combine_chunks().to_batches()
    runs = pc.run_end_encode(batch.column("bucket"))
    facts, ends = batch.select(_PACKED.names), runs.run_ends.to_pylist()
    divided = [facts.slice(start, end - start).serialize().to_pybytes() for start, end in pairwise([0, *ends])]
    constants = [pa.repeat(pa.scalar(value, pa.int32()), len(ends)) for value in (emission.space, emission.role)]
    yield pa.RecordBatch.from_arrays([runs.values, *constants, pa.array(divided, pa.binary())], schema=_BLOCKS)


def _group(grouping: Grouping, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with open_keys(KeyDatabase, threads=1) as database:
        facts = pa.RecordBatchReader.from_batches(_FACTS, _unpacked(batches))
        yield from database.stream(grouping.statement, facts=facts)


def _unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for block in batch.select(["space", "role", "facts"]).to_pylist():
            facts = pa.ipc.read_record_batch(pa.py_buffer(block["facts"]), _PACKED)
            constants = [pa.repeat(pa.scalar(block[name], pa.int32()), facts.num_rows) for name in ("space", "role")]
            yield pa.RecordBatch.from_arrays([*constants, *facts.columns], schema=_FACTS)
