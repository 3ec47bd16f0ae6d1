"""Rows of a merge on a cluster that equal their committed images: tasks compare them, so that only changes are written.

The driver receives the addresses of equal rows, sixteen bytes for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import Entity
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.cluster.tasks import OUTCOMES, attempts_max, outcome, outcome_batch, results
from omnigraph.spark.load.checks.omitted_cells import OmittedCells
from omnigraph.spark.load.input import LoadInput
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.rows_by_address import rows_at
from omnigraph.storage.tables.store import Store
from omnigraph.write.images import Images, count_cleared, image_schema, is_changed
from omnigraph.write.load.bulk_images import compared_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Addresses = npt.NDArray[np.uint64]


@dataclass
class Unchanged:
    """Equal rows of one table: the committed addresses and those in the input. Also counts the cleared values."""

    committed: list[Addresses] = field(default_factory=list)
    given: list[Addresses] = field(default_factory=list)
    cleared: int = 0

    @property
    def rows(self) -> int:
        return sum(map(len, self.committed))

    def stays(self) -> Addresses:
        """The committed addresses, ascending."""
        return np.sort(np.concatenate([np.zeros(0, np.uint64), *self.committed]))


@dataclass(frozen=True)
class ComparedTable:
    """One table to compare, for tasks."""

    entity: Entity
    given: TablePin
    committed: TablePin
    omitted: OmittedCells


def find_unchanged(
    spark: SparkSession, whole: LoadInput, pins: Mapping[str, TablePin], spaces: Mapping[int, str], pairs: DataFrame
) -> dict[str, Unchanged]:
    """Compare the rows of the input with their committed images. ``pairs`` are (space, committed, last)."""
    from pyspark.sql import functions as f

    tables = {
        space: ComparedTable(table.entity, table.complete_pin, pins[key], OmittedCells.of(whole, table))
        for space, key in spaces.items()
        for table in [whole.tables[key]]
    }
    rows = pairs.repartition(f.col("space"), f.shiftright(f.col("committed"), OFFSET_BITS))
    work = partial(_compare_task, whole.store, tables, attempts_max(spark))
    found: dict[str, Unchanged] = {}
    for space, committed, given, cleared in (item for task in results(mapped(rows, work, OUTCOMES)) for item in task):
        table = found.setdefault(spaces[space], Unchanged())
        table.committed.append(committed)
        table.given.append(given)
        table.cleared += cleared
    return found


def _compare_task(
    store: Store, tables: Mapping[int, ComparedTable], attempts: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    pairs = [batch for batch in batches if batch.num_rows]
    if pairs:
        spaces, old, new = (column.to_numpy() for column in pa.Table.from_batches(pairs).columns)

        def compare() -> list[tuple[int, Addresses, Addresses, int]]:
            return [
                (space, *_compare(store, tables[space], old[spaces == space], new[spaces == space]))
                for space in np.unique(spaces).tolist()
            ]

        yield outcome_batch(0, outcome(compare, attempts))


def _compare(
    store: Store, table: ComparedTable, old: npt.NDArray[np.int64], new: npt.NDArray[np.int64]
) -> tuple[Addresses, Addresses, int]:
    order = np.argsort(old)
    committed, given = old[order].astype(np.uint64), new[order].astype(np.uint64)
    schema, size = image_schema(table.entity), compared_rows(store, table.committed)
    is_same = np.zeros(len(order), np.bool_)
    cleared = 0
    for start in range(0, len(order), size):
        part = slice(start, start + size)
        before = rows_at(store, table.committed, committed[part], schema)
        after = rows_at(store, table.given, given[part], schema)
        images = Images(np.arange(after.num_rows), before)
        is_same[part] = ~is_changed(after, images)
        cleared += count_cleared(after, table.omitted.at(given[part]), images)
    return committed[is_same], given[is_same], cleared
