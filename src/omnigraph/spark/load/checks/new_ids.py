"""Tables of an input whose ids need no grouping, because all of them are new.

Ids that ascend differ from each other. If the committed table has none between the first and the last of them, they
differ from its ids as well. That holds for generated ids and for sorted files that continue a table; looking at the
committed ids once costs a fraction of shuffling them with those of the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.spark.load.checks.facts import KeyScan, emitted, run_scans
from omnigraph.spark.load.checks.spaces import Spaces
from omnigraph.spark.load.id_ranges import IdRange
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COUNTS = pa.schema([("space", pa.int32()), ("ids", pa.int64())])


def tables_of_new_ids(spark: SparkSession, store: Store, spaces: Spaces) -> set[str]:
    """The tables that no edge refers to, with only new ids. Runs a job if some of them have committed rows."""
    ascending = spaces.ascending()
    scans = [committed for committed in ascending.values() if committed is not None]
    if not scans:
        return set(ascending)
    ranges = {spaces.ids(key): spaces.tables[key].ids for key in ascending}
    between = partial(_count_between, store, {space: ids for space, ids in ranges.items() if ids is not None})
    held = {row.space for row in run_scans(spark, store, scans, between, "space int, ids long").collect()}
    return {key for key in ascending if spaces.ids(key) not in held}


def _count_between(store: Store, ranges: Mapping[int, IdRange], scans: Sequence[KeyScan]) -> Iterator[pa.RecordBatch]:
    """The number of committed ids in the range of the input, by space, where there are some."""
    counts: dict[int, int] = {}
    for emission, batch in (item for wanted in scans for item in emitted(store, wanted)):
        found = ranges[emission.space].count(batch.column("key"))
        counts[emission.space] = counts.get(emission.space, 0) + found
    rows = [{"space": space, "ids": found} for space, found in counts.items() if found]
    if rows:
        yield pa.RecordBatch.from_pylist(rows, _COUNTS)
