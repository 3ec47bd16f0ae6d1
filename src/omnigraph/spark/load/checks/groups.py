"""Distributed grouping of facts by key: hash-partitioned blocks in the shuffle, a local check in each task.

Grouping texts in the JVM costs several times as much as writing the input. Therefore Spark only shuffles opaque blocks.
Map tasks divide their facts into buckets by a hash of the key. A reduce task first tries to prove that none of its
groups matters (``is_clean``). Otherwise it groups the bucket with the key database of the embedded load, which spills
to disk. Only the groups that a check needs become rows of Spark.

Invariant: all facts of a (space, key) are in one bucket, and all blocks of a bucket reach one task, so every group is
complete. It holds because the bucket depends on the key alone. A hash collision is harmless: the statement groups by
the key itself, the proof compares texts, and the hash only chooses the bucket.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.text_set import Hashes, TextBytes, TextSet, counted_runs, starts_of_runs
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.load.checks.facts import Emission, FactRole, KeyScan, emitted, is_of_sources, run_scans
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.keys import KeyDatabase, open_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOCKS = "bucket int, space int, role int, facts binary"

_BLOCKS = pa.schema([("bucket", pa.int32()), ("space", pa.int32()), ("role", pa.int32()), ("facts", pa.binary())])
_PACKED = pa.schema([("key", pa.utf8()), ("row", pa.int64()), ("times", pa.int64())])
_FACTS = pa.schema([("space", pa.int32()), ("role", pa.int32()), *_PACKED])


@dataclass(frozen=True, slots=True)
class Grouping:
    """An SQL statement over ``facts`` (space, role, key, row, times), and the Spark columns of its result.

    ``times`` is the multiplicity of a fact. Only references are pre-aggregated, and their ``row`` is null.
    """

    statement: str
    columns: str


@dataclass(frozen=True, slots=True)
class Buckets:
    """The number of buckets. Pickled to the executors."""

    count: int

    @classmethod
    def for_facts(cls, facts: int, task_facts: int) -> Buckets:
        """The number of buckets that gives grouping tasks of about ``task_facts`` facts."""
        return cls(max(1, -(-facts // task_facts)))

    def starts(self, ordered: Hashes) -> list[int]:
        """The first place of every bucket among ascending hashes: a bucket is a range of hashes."""
        bounds = [np.uint64((number << 64) // self.count) for number in range(1, self.count)]
        return [0, *np.searchsorted(ordered, np.array(bounds, np.uint64)).tolist()]


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
    for emission, batch in facts:
        pieces = waiting.setdefault(emission, [])
        pieces.append(batch)
        if sum(piece.num_rows for piece in pieces) >= limits.PACKED_FACTS:
            yield from _divide(buckets, emission, waiting.pop(emission))
    for emission, pieces in waiting.items():
        yield from _divide(buckets, emission, pieces)


def _divide(buckets: Buckets, emission: Emission, pieces: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Divide the facts of one emission into one block per bucket.

    Example with two buckets: references, sorted by their hashes. Bucket 0 has the hashes below 2 ** 63.

    ======  ===  =====  ======
    hash    key  times  bucket
    ======  ===  =====  ======
    0x0...  dan  1      0
    0x3...  ann  2      0
    0x9...  bob  1      1
    ======  ===  =====  ======

    The buckets start at 0 and 2, so the slices 0:2 and 2:3 become the blocks of buckets 0 and 1.
    """
    keys = pa.concat_arrays([piece.column("key") for piece in pieces])
    rows = pa.concat_arrays([piece.column("row") for piece in pieces])
    times = np.ones(len(keys), np.int64)
    # Many edges share an end. Counting references here shrinks the shuffle; checks need only their number.
    is_counted = emission.role >= FactRole.REFERENCE
    if is_counted:
        keys, times = counted_runs(keys, times)
        rows = pa.nulls(len(keys), pa.int64())
    if not len(keys):
        return
    hashed = TextBytes.of(keys).hashes()
    order = np.argsort(hashed)
    keys, rows, times, hashed = keys.take(pa.array(order)), rows.take(pa.array(order)), times[order], hashed[order]
    if is_counted:
        # Equal texts have equal hashes and are neighbours. Where a collision parts them they are counted apart.
        firsts = starts_of_runs(keys)
        keys, rows, hashed = keys.take(pa.array(firsts)), rows.slice(0, len(firsts)), hashed[firsts]
        times = np.add.reduceat(times, firsts)
    facts = pa.RecordBatch.from_arrays([keys, rows, pa.array(times)], schema=_PACKED)
    parts = [
        (bucket, facts.slice(start, end - start))
        for bucket, (start, end) in enumerate(pairwise([*buckets.starts(hashed), len(hashed)]))
        if start < end
    ]
    blocks_made = pa.array([part.serialize().to_pybytes() for _, part in parts], pa.binary())
    constants = [pa.repeat(pa.scalar(value, pa.int32()), len(parts)) for value in (emission.space, emission.role)]
    numbers = pa.array([bucket for bucket, _ in parts], pa.int32())
    yield pa.RecordBatch.from_arrays([numbers, *constants, blocks_made], schema=_BLOCKS)


def _group(grouping: Grouping, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    unpacked = _unpacked(batches)
    held: list[pa.RecordBatch] = []
    size = 0
    for facts in unpacked:
        held.append(facts)
        size += facts.nbytes
        if size > limits.PROVEN_BYTES_MAX:
            break
    else:
        if is_clean(held):
            return
    with open_keys(KeyDatabase, threads=1) as database:
        # A stream: the database spills groups to disk, so a task holds neither all blocks nor all facts in memory.
        facts = pa.RecordBatchReader.from_batches(_FACTS, chain(held, unpacked))
        yield from database.stream(grouping.statement, facts=facts)


def is_clean(facts: Sequence[pa.RecordBatch]) -> bool:
    """True only if no group of a bucket matters to any check: keys of rows are distinct, and references have one.

    False where it cannot be known from hashes, or if there are facts of other roles or about cardinality.
    """
    rows: dict[int, list[pa.Array]] = {}
    references: dict[int, list[pa.Array]] = {}
    for batch in facts:
        if not batch.num_rows:
            continue
        space, role = batch.column("space")[0].as_py(), batch.column("role")[0].as_py()
        if FactRole.COMMITTED < role < FactRole.REFERENCE or is_of_sources(space):
            return False
        (references if role >= FactRole.REFERENCE else rows).setdefault(space, []).append(batch.column("key"))
    if not references.keys() <= rows.keys():
        return False
    return all(_is_clean(keys, references.get(space, ())) for space, keys in rows.items())


def _is_clean(keys: Sequence[pa.Array], references: Sequence[pa.Array]) -> bool:
    if not references:
        ordered = np.sort(np.concatenate([TextBytes.of(column).hashes() for column in keys]))
        return not bool((ordered[1:] == ordered[:-1]).any())
    known = TextSet.of(keys)
    return known is not None and known.has_distinct_hashes and all(known.holds_all(column) for column in references)


def _unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The facts of blocks: each batch has one space and one role."""
    for batch in batches:
        for block in batch.select(["space", "role", "facts"]).to_pylist():
            facts = pa.ipc.read_record_batch(pa.py_buffer(block["facts"]), _PACKED)
            constants = [pa.repeat(pa.scalar(block[name], pa.int32()), facts.num_rows) for name in ("space", "role")]
            yield pa.RecordBatch.from_arrays([*constants, *facts.columns], schema=_FACTS)
