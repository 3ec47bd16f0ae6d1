"""Limits and sizes of Spark jobs, with unit and reason. None of them limits how much can be loaded."""

from __future__ import annotations

from typing import Final

SPLIT_BYTES: Final = 64 * 1024 * 1024
"""Default size of a split in bytes: a few seconds of work, so that a lost task costs little."""

GROUP_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of several files that one task reads: files of this size still occupy all cores of a cluster."""

GROUPED_FILE_BYTES: Final = 128 * 1024
"""Bytes that a file counts at least for its task: opening it takes about as long as reading that much."""

READ_BYTES: Final = 4 * 1024 * 1024
"""Bytes per read request to a file."""

LINE_REST_BYTES: Final = 64 * 1024
"""First read, in bytes, beyond the end of a split to complete its last line: most lines are shorter."""

DRIVER_CHECK_ROWS_MAX: Final = 200_000_000
"""Maximum input rows that the driver checks with such a small cluster: about 140 bytes per row on its disk, 28 GB."""

KEY_BATCH_ROWS: Final = 8_192
"""Batch size, in rows, of the key scan of the driver's checks. Eight times as many took 60 MB more memory and about the
same time."""

SMALL_SLICES_MAX: Final = 16
"""Small slices of a load that stay separate fragments, as many as the smallest tier of a table may hold."""

SMALL_SLICE_ROWS: Final = 4_096
"""Rows below which a slice is small: larger fragments are left to ``optimize``."""

SMALL_SLICE_BYTES: Final = 1024 * 1024
"""Bytes below which a slice is small: the driver rewrites small ones, and a thousand tasks must not slow it down."""

FOLDED_ROWS: Final = 65_536
"""Rows from which joined slices are a fragment of their own."""

FOLDED_BYTES: Final = 64 * 1024 * 1024
"""Bytes from which joined slices are a fragment of their own: the driver holds its rows in memory."""

FACT_ROWS: Final = 500_000
"""Rows whose keys one check task reads: large enough to amortise a task, small enough to use all cores."""

FACT_BATCH_ROWS: Final = 10_000
"""Rows per Arrow batch passed to the JVM: Spark's own default."""

PACKED_FACTS: Final = 500_000
"""Facts of one emission that a task buffers before it divides them into buckets: about 30 MB, which gives blocks large
enough to shuffle efficiently."""

PROVEN_BYTES_MAX: Final = 256 * 1024 * 1024
"""Bytes of the facts of a bucket up to which a task looks them up in memory, instead of in its database. A bucket has
about a million facts, unless the input repeats a key very often."""

QUERY_BATCH_ROWS: Final = 65_536
"""Batch size, in rows, of a query's table scan: vectorised predicates are faster on large batches."""

TEXT_BYTES: Final = 200
"""Assumed bytes of a text or list when the size of a table is estimated; ids are shorter."""

UNROLLED_HOPS: Final = 3
"""Maximum hops that become one plan. Beyond that every hop is a job: a plan of many joins takes longer to optimise than
to run."""

BLOCK_BYTES: Final = 32 * 1024 * 1024
"""Maximum bytes of a shuffled block of rows: Spark holds several blocks in memory at a time."""

PREDICATES_MAX: Final = 1_000
"""Maximum predicates in one ``where`` of the data source; the values of a list do not count. Lance accepts twice as
many."""

PREDICATE_DEPTH_MAX: Final = 32
"""Maximum nesting depth of one ``where``: Lance parses about fifty levels."""

DECIMAL_DIGITS_MAX: Final = 38
"""Maximum digits of an exact number: Spark's own limit."""

DECIMAL_PLACES_MAX: Final = 18
"""Maximum decimal places of a number that is compared with integers: Spark rounds beyond them."""
