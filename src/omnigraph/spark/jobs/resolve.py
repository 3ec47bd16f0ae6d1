"""Entity resolution on a cluster: records meet in buckets of block keys, where the embedded kernel scores their pairs.

A round is two jobs. The first counts the entities of every key, so that blocks that are too large are left out before
any record is sent. The second sends each record, with all its keys, to the buckets of its keys: a pair is scored in the
bucket of its smallest common key, and nowhere else. The driver receives counts of large blocks, and matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.engine.snapshot import Snapshot
from omnigraph.exec.resolve.candidates import Blocks
from omnigraph.exec.resolve.keys import Hashes, RecordKeys, named_keys, record_columns, record_keys, records_of
from omnigraph.exec.resolve.matches import Matches, find_matches, joined_pairs
from omnigraph.exec.resolve.rounds import Changed, Found, require_blocks, skipped_blocks
from omnigraph.exec.resolve.rules import ResolveRules
from omnigraph.rows.arrow_types import ID
from omnigraph.schema.catalog import NodeType
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.descriptions import described
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import (
    OUTCOMES,
    attempts_max,
    outcome,
    outcome_batch,
    results,
    run_tasks,
    translated_jobs,
)
from omnigraph.spark.jobs.merge import part_count
from omnigraph.storage.tables.scan import fragment_groups, scan
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEYS: Final = "_keys"
_FRESH: Final = "_fresh"
_COUNTS: Final = pa.schema([("key", pa.int64()), ("entities", pa.int64())])
_BLOCKS: Final = pa.schema([("bucket", pa.int32()), ("rows", pa.binary())])


@contextmanager
def match_finder(
    snapshot: Snapshot, node: NodeType, rules: ResolveRules, spark: SparkSession | None, partitions: int | None
) -> Iterator[SparkFinder]:
    """The rounds of a resolution on the given session, or on a local one."""
    started = session() if spark is None else check_session(spark)
    yield SparkFinder(started, snapshot.store, snapshot.state.tables[node.table_key], node, rules, partitions)


@dataclass(frozen=True)
class SparkFinder:
    """Rounds over one version of a node table."""

    spark: SparkSession
    store: Store
    pin: TablePin
    node: NodeType
    rules: ResolveRules
    partitions: int | None = None

    def find(self, changed: Changed) -> Found:
        """The pairs of a round."""
        require_blocks(self.rules, self.pin.rows)
        groups = tuple(fragment_groups(self.store, self.pin, self.store.tuning.partition_rows))
        records = Records(self.store, self.pin, self.node, self.rules, groups, changed)
        with self._described("counting block keys"):
            sizes = self._large_blocks(records)
        skipped = np.array(sorted(sizes), np.uint64)
        with self._described("comparing pairs"):
            found = self._matches(records, skipped)
        with self._described("naming skipped blocks"):
            names = self._names(records, skipped)
        pairs = joined_pairs([matches.pairs for matches in found], self.rules)
        return Found(pairs, sum(matches.compared for matches in found), skipped_blocks(sizes, names))

    def _described(self, step: str) -> AbstractContextManager[None]:
        return described(self.spark, f"Omnigraph: resolve {self.node.name} of {self.store.root}: {step}")

    def _large_blocks(self, records: Records) -> dict[int, int]:
        """Keys with more entities than are compared, and their number."""
        from pyspark.sql import functions as f

        counted = mapped(self._tasks(records), partial(_count_keys, records), "key long, entities long")
        sums = counted.groupBy("key").agg(f.sum("entities").alias("entities"))
        with translated_jobs():
            rows = sums.where(f.col("entities") > self.rules.block_max).collect()
        return {int(np.int64(row.key).view(np.uint64)): int(row.entities) for row in rows}

    def _matches(self, records: Records, skipped: Hashes) -> list[Matches]:
        entries = self.pin.rows * max(1, len(self.rules.blocks))
        buckets = self.partitions or part_count(entries, self.store.tuning.merged_rows)
        sent = mapped(self._tasks(records), partial(_send, records, skipped, buckets), "bucket int, rows binary")
        bucketed = sent.repartitionById(buckets, "bucket")
        work = partial(_match_buckets, records, skipped, buckets, attempts_max(self.spark))
        return results(mapped(bucketed, work, OUTCOMES))

    def _names(self, records: Records, skipped: Hashes) -> dict[int, str]:
        if not len(skipped):
            return {}
        found = run_tasks(self.spark, partial(_named, records, skipped), range(records.parts))
        return {key: name for names in reversed(found) for key, name in names.items()}

    def _tasks(self, records: Records) -> DataFrame:
        return self.spark.range(0, records.parts, 1, records.parts)


@dataclass(frozen=True)
class Records:
    """Records of one round in parts: groups of fragments, and the survivors of earlier rounds. Pickled to executors."""

    store: Store
    pin: TablePin
    node: NodeType
    rules: ResolveRules
    groups: tuple[tuple[int, ...], ...]
    changed: Changed

    @property
    def parts(self) -> int:
        return len(self.groups) + (not self.changed.is_first) or 1

    def read(self, number: int) -> tuple[pa.Table, RecordKeys]:
        """The records of a part that this round compares, and their keys."""
        records = self._records(number)
        keys = record_keys(records, self.node, self.rules)
        if self.changed.is_first:
            return records, keys
        # Pairs without a fresh record were compared before, unless their block was too large then.
        is_wanted = np.isin(keys.hashes, self._wanted())
        kept = np.flatnonzero(np.bincount(keys.owners[is_wanted], minlength=records.num_rows))
        chosen = records.take(pa.array(kept))
        return chosen, record_keys(chosen, self.node, self.rules)

    def fresh(self, records: pa.Table) -> pa.Array:
        """A mask of the records that this round compares with all others."""
        known = pa.array(sorted(self.changed.fresh), pa.string())
        return pc.is_in(records.column(ID), value_set=known).combine_chunks()

    def _wanted(self) -> Hashes:
        assert self.changed.replaced is not None
        fresh = self.changed.replaced.filter(self.fresh(self.changed.replaced))
        return np.union1d(record_keys(fresh, self.node, self.rules).hashes, self.changed.skipped)

    def _records(self, number: int) -> pa.Table:
        if number >= len(self.groups):
            replaced = self.changed.replaced
            return records_of([] if replaced is None else replaced.to_batches(), self.node, self.rules)
        batches = scan(self.store, self.pin, record_columns(self.rules), fragments=self.groups[number])
        return self.changed.unchanged(records_of(batches, self.node, self.rules))


def _numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _count_keys(records: Records, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for number in _numbers(batches):
        _, keys = records.read(number)
        known, counts = np.unique(keys.hashes, return_counts=True)
        arrays = [pa.array(known.view(np.int64)), pa.array(counts.astype(np.int64))]
        yield pa.RecordBatch.from_arrays(arrays, schema=_COUNTS)


def _send(
    records: Records, skipped: Hashes, buckets: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Send every record, with its keys, to the buckets of its keys, once to each."""
    for number in _numbers(batches):
        rows, keys = records.read(number)
        keys = keys.without(skipped)
        if not rows.num_rows:
            continue
        lists = pa.ListArray.from_arrays(pa.array(keys.offsets.astype(np.int32)), pa.array(keys.hashes))
        rows = rows.append_column(_KEYS, lists).append_column(_FRESH, records.fresh(rows))
        targets = np.unique(np.stack(((keys.hashes % np.uint64(buckets)).astype(np.int64), keys.owners)), axis=1)
        bounds = np.flatnonzero(np.diff(targets[0], prepend=-1))
        rows_max = max(1, limits.BLOCK_BYTES * rows.num_rows // max(1, rows.nbytes))
        for owners, bucket in zip(np.split(targets[1], bounds[1:]), targets[0][bounds].tolist(), strict=True):
            for start in range(0, len(owners), rows_max):
                chosen = rows.take(pa.array(owners[start : start + rows_max])).combine_chunks()
                yield from _packed(bucket, chosen)


def _packed(bucket: int, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    arrays = [pa.array([bucket], pa.int32()), pa.array([sink.getvalue().to_pybytes()], pa.binary())]
    yield pa.RecordBatch.from_arrays(arrays, schema=_BLOCKS)


def _match_buckets(
    records: Records, skipped: Hashes, buckets: int, attempts: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Score the pairs of every bucket of this task, which has received all records of them."""
    held: dict[int, list[pa.Table]] = {}
    for batch in batches:
        for bucket, packed in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            held.setdefault(bucket, []).append(pa.ipc.open_stream(packed.as_buffer()).read_all())
    for bucket in sorted(held):
        rows = pa.concat_tables(held.pop(bucket))
        yield outcome_batch(bucket, outcome(partial(_matches_in, records, skipped, buckets, bucket, rows), attempts))


def _matches_in(records: Records, skipped: Hashes, buckets: int, bucket: int, rows: pa.Table) -> Matches:
    lists = rows.column(_KEYS).combine_chunks()
    offsets = np.concatenate(([0], np.cumsum(pc.list_value_length(lists).to_numpy()))).astype(np.int64)
    keys = RecordKeys(offsets, lists.flatten().to_numpy())
    chosen = keys.hashes % np.uint64(buckets) == bucket
    changed = records.changed
    if changed.is_first:
        blocks = Blocks(keys, chosen)
    else:
        fresh = rows.column(_FRESH).combine_chunks().to_numpy(zero_copy_only=False)
        blocks = Blocks(keys, chosen, fresh, changed.skipped[~np.isin(changed.skipped, skipped)])
    return find_matches(rows, records.node, records.rules, blocks)


def _named(records: Records, skipped: Hashes, number: int) -> dict[int, str]:
    return named_keys(records.read(number)[0], records.node, records.rules, skipped)
