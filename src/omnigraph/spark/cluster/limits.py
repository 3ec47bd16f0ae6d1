"""Limits of work on a cluster, with unit and reason. None of them limits how much can be loaded."""

from __future__ import annotations

from typing import Final

from omnigraph.write.limits import KEY_DATABASE_THREADS_MAX

SPLIT_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a file that one task reads, by default: some seconds of work, so that a lost task costs little."""

READ_BYTES: Final = 4 * 1024 * 1024
"""Bytes read from a file at once."""

LINE_REST_BYTES: Final = 64 * 1024
"""Bytes read from a file first to find the end of a line that the next task would read otherwise: most are shorter."""

DRIVER_CHECK_ROWS: Final = 20_000_000
"""Rows of input whose keys the driver checks alone, beside any cluster: it needs two thirds of a cluster's time."""

DRIVER_CHECK_CORES: Final = KEY_DATABASE_THREADS_MAX
"""Cores of a cluster that cannot check faster than the driver, whose key database uses as many itself."""

DRIVER_CHECK_ROWS_MAX: Final = 200_000_000
"""Rows that the driver checks beside so small a cluster: some 140 bytes a row are on its disk then, 28 GB."""

KEY_BATCH_ROWS: Final = 8_192
"""Rows whose keys the driver reads at once for its own checks: with eight times as many it held 60 MB more, and needed
about as long."""

REJECTED_ROWS_MAX: Final = 1_000_000
"""Rows that a load may set aside. They pass through the driver; a source with more mistakes is the wrong source."""

REJECT_ROUNDS_MAX: Final = 100
"""How often an input is looked at again without the rows that were set aside: usually twice, for the edges of nodes.
Afterwards what is still wrong ends the load."""

PARTITION_ROWS: Final = 1_000_000
"""Rows of a table that one task of the data source reads; a fragment is never divided."""

FACT_ROWS: Final = 500_000
"""Rows whose keys one task of a check reads: enough to be worth a task, few enough to use all cores."""

FACT_BATCH_ROWS: Final = 10_000
"""Rows of one batch handed to the JVM: Spark's own default for Arrow."""

PACKED_FACTS: Final = 500_000
"""Facts of one kind that a task divides into buckets at once: some 30 MB, and blocks that are worth being moved."""

GROUP_FACTS: Final = 1_000_000
"""Facts that one task groups: half a second of work, and small enough to stay in memory."""

QUERY_BATCH_ROWS: Final = 65_536
"""Rows of a table that a query's task reads and tests at once: conditions are faster on many rows together."""

BROADCAST_BYTES: Final = 16 * 1024 * 1024
"""About how large a table may be that is sent to every executor instead of being shuffled: Spark's own default is ten
megabytes, of what it knows the size of."""

TEXT_BYTES: Final = 200
"""What a text or a list is taken for when the size of a table is estimated; ids are shorter."""

UNROLLED_HOPS: Final = 3
"""Hops that become one plan. For more every hop is a job: a plan of many joins takes longer to make than to run."""

MERGED_ROWS: Final = 250_000
"""Rows that one task of a merge reads, and that one merges: of all versions together, so some 60,000 entities."""

BLOCK_BYTES: Final = 32 * 1024 * 1024
"""Bytes of one block of rows that is moved between tasks: Spark holds several of them at once."""

PREDICATES_MAX: Final = 1_000
"""Conditions in one ``where`` of the data source; the values of a list do not count. Lance took twice as many."""

PREDICATE_DEPTH_MAX: Final = 32
"""Levels of nested conditions in one ``where``: Lance parses no more than about fifty."""

DECIMAL_DIGITS_MAX: Final = 38
"""Digits of an exact number: Spark's own limit."""

DECIMAL_PLACES_MAX: Final = 18
"""Digits behind the point of a number that is compared with whole ones: Spark rounds more of them away."""
