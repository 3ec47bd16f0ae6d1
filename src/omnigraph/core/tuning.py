"""``Tuning``: thresholds and sizes of the engine that one graph may be opened with.

None changes an answer or what a commit means: they choose between ways that give the same result, and bound memory,
files and requests. The defaults are measured; each states its unit and its reason. A value is handed in where a graph
is opened or created and travels with its store, so two graphs of one process may differ.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Thresholds and sizes of the engine. A graph is opened with ``tuning=Tuning(index_rows_min=0)``."""

    index_rows_min: int = 10_000
    """Smallest table, in rows, that gets an index. Below, a full scan is as fast: a lookup by value took 1.0 ms either
    way at 10,000 rows, and 2.4 ms against 0.8 ms at 50,000."""

    vector_index_rows_min: int = 10_000
    """The same for vectors: below, an exact scan of all distances takes a few milliseconds."""

    ngram_index_rows_min: int = 250_000
    """The same for n-grams: below, comparing every text takes at most 20 ms, and building the index seconds."""

    spark_table_rows_min: int = 100_000
    """Smallest table, in rows, that ``optimize`` maintains on Spark: below, starting a job takes longer than the
    work."""

    buffered_rows_max: int = 50_000
    """Rows of a load kept in memory. Up to here Python sets are faster than starting a database; beyond it they are
    slower and take hundreds of bytes per row."""

    fragment_bytes: int = 128 * 1024 * 1024
    """Bytes of rows written as one fragment: large enough to scan well, small enough to hold two of them."""

    pending_bytes_max: int = 256 * 1024 * 1024
    """Bytes waiting for full fragments in all types together: a load of a thousand types must not hold as many."""

    grouped_rows: int = 20_000_000
    """Rows whose hashes the key database groups in one round; fifty million did not fit into memory."""

    recent_commits_max: int = 64
    """Commits kept in the manifest. Older ones are moved to the commit log, all in one write, so that this is rare."""

    published_commits_max: int = 64
    """Writes published in one swap: one manifest holds that many commits."""

    swaps_max: int = 200
    """Swaps attempted for one write. With n writers one in n wins each round, so this suffices for very many of
    them."""

    warm_seconds_max: int = 600
    """Maximum age, in seconds, of a cached state that is used without a lookup. Cleanup deletes the files it pins only
    much later."""

    cleanup_records_max: int = 100
    """Newest records of cleanups that are kept. A cleanup overtaken by that many finds its base deleted and stops."""

    fold_tiers: tuple[tuple[int, int], ...] = ((16, 16), (256, 2), (4096, 2))
    """Tiers of small fragments: upper bounds in rows, and the fragments that a tier may hold before they are folded.

    The smallest tier is wide, because most writes add to it; the others are narrow, so that the number of fragments
    hardly grows with the table. A row is rewritten some fifteen times on its way up. Larger fragments are left to
    ``optimize``.
    """

    extended_rows_min: int = 32_768
    """Uncovered rows of finished fragments from which a write extends an index. A segment costs requests in every
    lookup, and building one adds some 50 ms to the write. Queries scan up to this many uncovered rows."""

    extended_rows_max: int = 65_536
    """Maximum rows that one write indexes, per index."""

    fragment_numbers_ahead: int = 1_024
    """Distance of the numbers of rewritten fragments from the highest present one. Writers may add that many fragments
    while compaction runs; the numbers cannot be changed afterwards, because indexes are built on them."""

    cached_table_rows_max: int = 200_000
    """Largest table, in rows, whose ids are cached; others are searched with a filter: caching a million ids costs some
    150 MB."""

    walked_rows_max: int = 50_000
    """Rows of a fragment that Lance may walk for one read, at 6 to 40 ns a row: about the price of a read of its
    own."""
