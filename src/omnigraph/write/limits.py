"""Limits of writing, with unit and reason. None of them limits how much can be loaded."""

from __future__ import annotations

from typing import Final

BUFFERED_ROWS_MAX: Final = 50_000
"""Rows of a load kept in memory. Up to here Python sets are faster than starting a database; beyond it they are slower,
and cost hundreds of bytes a row."""

BUFFERED_BYTES_MAX: Final = 64 * 1024 * 1024
"""Bytes of a load kept in memory: wide rows (vectors, blobs) reach this long before the limit in rows."""

FRAGMENT_BYTES: Final = 128 * 1024 * 1024
"""Bytes of rows written as one fragment: large enough to scan well, small enough to hold two of them."""

PENDING_BYTES_MAX: Final = 256 * 1024 * 1024
"""Bytes waiting for full fragments in all types together: a load of a thousand types must not hold as many."""

KEY_DATABASE_BYTES: Final = 256 * 1024 * 1024
"""Memory of the database that checks ids, unique tuples and endpoints of a large load. What does not fit is on disk:
twice as much made loads of ten million rows no faster."""

KEY_DATABASE_BYTES_MAX: Final = 16 * KEY_DATABASE_BYTES
"""What that memory grows to, doubled each time, for a statement that cannot do with less. None over sixty million rows
needed it."""

KEYS_AHEAD_BYTES: Final = 16 * 1024 * 1024
"""Bytes of keys that are read from tables before the database asks for them: it is slower than any disk, and would have
much of a large table waiting for it in memory."""

GROUPED_ROWS: Final = 20_000_000
"""Rows whose hashes that database groups at once: fifty million did not fit. More are grouped in several rounds."""

KEY_DATABASE_THREADS_MAX: Final = 4
"""Threads of that database. Each holds memory of its own: with 32 of them it had too little for 5 million rows."""

STREAMED_ROWS: Final = 122_880
"""Rows that the database hands over at once: its own unit of storage."""

EMBEDDED_TEXTS_BYTES: Final = 64 * 1024 * 1024
"""Memory for the vectors of texts that a load has embedded already. What does not fit is on disk."""

TEXTS_PER_CALL: Final = 128
"""Texts that an embedder is given at once: the deadline of a provider is for a call, and a request takes as many."""

INDEX_ROWS_MIN: Final = 10_000
"""Rows of a table from which on an index is built. Below, looking at every row is as fast as asking an index: a lookup
by value took 1.0 ms either way at 10,000 rows, 2.4 against 0.8 ms at 50,000."""

VECTOR_INDEX_ROWS_MIN: Final = 10_000
"""The same for vectors: below, every distance is computed, which is exact and takes some milliseconds."""

NGRAM_INDEX_ROWS_MIN: Final = 250_000
"""The same for parts of texts: below, comparing every text takes 20 ms at most, and a first index takes seconds."""

OPTIMIZE_BATCH_ROWS: Final = 1_000_000
"""Rows of the tables that one commit of ``optimize`` maintains; a larger table has a commit of its own."""

OPTIMIZE_ATTEMPTS_MAX: Final = 3
"""How often ``optimize`` works on a table that others keep changing, before it is left for the next time."""

GRACE_US: Final = 24 * 3_600 * 1_000_000
"""Microseconds for which cleanup leaves alone what nothing refers to: a reader may still have it open, and a writer may
still publish it."""

FENCES_MAX: Final = 5
"""How often one write is staged again because a cleanup fenced its branch: cleanups are hours apart."""

JOB_LEASE_US: Final = 7 * 24 * 3_600 * 1_000_000
"""Microseconds after the last sign of life of a job for which its journal and its files stay, to be resumed."""

CLEANUP_ATTEMPTS_MAX: Final = 5
"""How often a cleanup starts again because another one decided first."""

CLEANUP_THREADS: Final = 8
"""Datasets swept, and states read, at once: their threads mostly wait for the store."""

SPARK_TABLE_ROWS_MIN: Final = 100_000
"""Rows of a table below which ``optimize`` never asks Spark: starting a job takes longer than the work."""
