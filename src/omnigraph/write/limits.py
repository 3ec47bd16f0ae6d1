"""Limits of writers, with unit and reason. None limits the size of a load."""

from __future__ import annotations

from typing import Final

BUFFERED_BYTES_MAX: Final = 64 * 1024 * 1024
"""Bytes of a load kept in memory: wide rows (vectors, blobs) reach this long before the limit in rows."""

KEY_DATABASE_BYTES: Final = 256 * 1024 * 1024
"""Memory of the database that checks ids, unique tuples and endpoints of a large load; the rest spills to disk. Twice
as much made loads of ten million rows no faster."""

KEYS_WAITING_BYTES_MAX: Final = KEY_DATABASE_BYTES
"""Ids and places of one type that wait in memory for a statement that needs them: some ten million short ids."""

KEY_DATABASE_BYTES_MAX: Final = 16 * KEY_DATABASE_BYTES
"""Maximum to which that memory is doubled when a statement runs out of it. No load of sixty million rows needed it."""

REJECTED_ROWS_MAX: Final = 1_000_000
"""Maximum rows that a load may reject. They are held in memory; a source with more errors is the wrong source."""

REJECT_ROUNDS_MAX: Final = 100
"""Maximum rounds of checks, each without the rows rejected before. Two rounds are usual: rejected nodes leave edges
dangling. Violations that remain after the last round fail the load."""

KNOWN_TEXTS_PARTS_MAX: Final = 16
"""Parts of ids of nodes that ends of edges are looked up in. Each part reads the ends once more; more of them cost as
much as the database."""

KEYS_AHEAD_BYTES: Final = 16 * 1024 * 1024
"""Read-ahead of key columns, in bytes. The database is slower than any disk, so more would only wait in memory."""

KEY_DATABASE_THREADS_MAX: Final = 4
"""Threads of that database. Each has its own memory: with 32 threads, 5 million rows did not fit."""

STREAMED_ROWS: Final = 122_880
"""Rows per batch from the database: its row group size."""

EMBEDDED_TEXTS_BYTES: Final = 64 * 1024 * 1024
"""Memory for the vectors of texts that a load has embedded; the rest is on disk."""

TEXTS_PER_CALL: Final = 128
"""Texts per call of an embedder: the timeout of a provider is per call, and its requests accept as many."""

COMPARED_ROWS: Final = 16_384
"""Rows of a large load compared with committed ones at a time: more rows made a million updates no faster."""

COMPARED_BYTES: Final = 32 * 1024 * 1024
"""Bytes of committed rows read for one comparison: wide rows are compared in smaller chunks."""

COMPARED_BLOB_ROWS: Final = 16
"""Rows with blobs compared at a time: one blob may be as large as a chunk."""

REMARKED_ROWS_MAX: Final = 2_000
"""Edges of a load, without ids, that are compared with committed ones: as many sources as one filter takes."""

REMARKED_EDGES_MAX: Final = 100_000
"""Committed edges read for that comparison: a remark must not cost more than the load."""

OPTIMIZE_BATCH_ROWS: Final = 1_000_000
"""Rows of the tables that one commit of ``optimize`` maintains; a larger table has a commit of its own."""

OPTIMIZE_ATTEMPTS_MAX: Final = 3
"""Attempts of ``optimize`` on a table that concurrent writers keep changing."""

GRACE_US: Final = 24 * 3_600 * 1_000_000
"""Default grace period of cleanup for unreferenced files, in microseconds: a reader may still have them open, and a
writer may still publish them."""

FENCES_MAX: Final = 5
"""Times that one write is staged again behind a fence of cleanup. Cleanups are hours apart."""

JOB_LEASE_US: Final = 7 * 24 * 3_600 * 1_000_000
"""Time after the last heartbeat of a job for which its journal and files are kept for a resume, in microseconds."""

CLEANUP_ATTEMPTS_MAX: Final = 5
"""Attempts of a cleanup when another one decides first."""

CLEANUP_THREADS: Final = 8
"""Datasets swept, or states read, in parallel: the threads mostly wait for the store."""

WAVE_ROWS_MAX: Final = 1_024
"""Rows of a write that is staged in a wave with others. A wave writes them twice, and larger ones gain little: most of
their time goes into their rows, not into waiting for the store."""

WAVE_BYTES_MAX: Final = 1024 * 1024
"""The same in bytes."""

WAVE_THREADS: Final = 32
"""Files of a wave written in parallel: the threads mostly wait for the store."""
