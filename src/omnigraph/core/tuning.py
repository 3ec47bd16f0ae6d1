"""``Tuning``: thresholds and sizes of the engine that one graph may be opened with.

None changes what is stored or what a commit means: they choose between ways that give the same result, and bound
memory, files, requests and pages. Only ``nearest`` may differ, because an index of vectors is approximate. The defaults
are measured; each states its unit and its reason. A value is handed in where a graph is opened or created and travels
with its store, so two graphs of one process may differ.
"""

from __future__ import annotations

from omnigraph.core.classes.dataclass import dataclass


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

    chunk_bytes: int = 8 * 1024 * 1024
    """Bytes of rows per hand-over to an open fragment. Whole fragments took 250 MB more memory, and clearing it a
    sixth of the time; smaller chunks mean more statements of the key database."""

    row_group_bytes: int = 64 * 1024 * 1024
    """Bytes of rows gathered for one row group of an exported Parquet file: readers skip and share out work by
    groups, and small ones cost them more than they save."""

    table_file_bytes: int = 512 * 1024 * 1024
    """Size, about, of one file of an exported Iceberg or Delta table: the default of Iceberg's own writers."""

    pending_bytes_max: int = 256 * 1024 * 1024
    """Bytes waiting for full fragments in all types together: a load of a thousand types must not hold as many."""

    grouped_rows: int = 20_000_000
    """Rows whose hashes the key database groups in one round; fifty million did not fit into memory."""

    known_ids_bytes: int = 384 * 1024 * 1024
    """Memory for the ids of nodes in which a large load looks up the ends of edges: some eleven million short ids. More
    are looked up part by part."""

    recent_commits_max: int = 64
    """Commits kept in the manifest. Older ones are moved to the commit log, all in one write, so that this is rare."""

    published_commits_max: int = 64
    """Writes published in one swap: one manifest holds that many commits."""

    swaps_max: int = 200
    """Swaps attempted for one write. With n writers one in n wins each round, so this suffices for very many of
    them."""

    known_branches_max: int = 256
    """Branches whose newest state, queue of writers and scratch directory are kept in memory, at 50 to 90 kB each. A
    long-lived process sees any number of short-lived branches; one that was dropped costs a few reads to come back."""

    known_schemas_max: int = 64
    """Schemas whose catalogs are kept in memory. Each change of a schema makes one."""

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

    mapped_rows_min: int = 50_000
    """Smallest fragment, in rows, whose ids get a map; ids of smaller ones are looked up in storage."""

    pushed_rows_min: int = 50_000
    """Smallest table, in rows, that storage filters; smaller ones are filtered column by column in memory, because a
    storage filter costs more than it saves."""

    whole_rows_min: int = 1_024
    """Smallest table, in rows, whose scans and aggregates work on whole columns in memory; for fewer rows it makes no
    difference."""

    compared_rows_max: int = 200_000
    """Largest table, in rows, whose columns in memory are compared instead of using an index, which is faster."""

    indexed_values_min: int = 20
    """Distinct values that an indexed column must be able to have; with fewer, each value selects too many rows."""

    indexed_edges_min: int = 50_000
    """Smallest edge table, in rows, that is looked up by its index; neighbour lists of fewer edges are built within
    milliseconds."""

    changed_share: float = 16
    """Neighbour lists of an earlier version are reused while at most one edge in this many has changed; every step pays
    for the changes again."""

    exact_nodes_max: int = 1_000
    """Nodes up to which ``nearest`` computes every distance, which takes milliseconds."""

    vectors_held_after: int = 8
    """Searches of a vector column before its vectors are kept in memory, if they fit: reading them all takes as long as
    some tens of searches by index."""

    whole_column_share: int = 8
    """A column is read whole for more than one row in this many: sequential reads are cheaper than seeks."""

    counted_share: int = 8
    """Walks are counted in arrays over all nodes or edges when more than one in this many would be materialised as a
    row."""

    collapsed_rows_min: int = 64
    """Fewer rows are not collapsed: comparing costs more than it saves."""

    chunk_rows_min: int = 16
    """Rows of a scan that a limit reads first. Most limits are small."""

    chunk_growth: int = 4
    """Factor by which each further chunk of such a scan is larger: few chunks, if a filter keeps few rows."""

    selected_rows_min: int = 4096
    """Rows from which the first ones are selected without sorting all. For fewer rows all keys are read together:
    several reads from storage cost more than sorting."""

    selected_share: int = 4
    """Selection is used for at most one row in this many; otherwise everything is sorted."""

    divided_rows_min: int = 16_384
    """Fewer rows are neither partitioned nor sampled when memory is limited."""

    rows_at_once_max: int = 2**62
    """Rows sorted or compared together even if memory is not limited."""

    result_rows_max: int = 65_536
    """Rows up to which a result is read eagerly, so that errors such as an overflow are raised by the query itself."""

    graph_vectors_min: int = 250_000
    """Smallest segment, in vectors, that gets a graph of neighbours (HNSW). Below, scanning quantized vectors is as
    fast and has better recall, and building takes a hundredth of the time: 0.4 against 43 s for 50,000 vectors of 64
    numbers."""

    filtered_ids_max: int = 2_000
    """Ids of a load whose committed vectors are looked up with a filter; more are joined by their hashes, which reads
    the whole id column once."""

    feed_page_bytes: int = 4 * 1024 * 1024
    """Approximate size of a page of the change feed in bytes. A larger single change has a page of its own."""

    feed_page_commits: int = 128
    """Commits on one page of the change feed: each is compared with its parent before the page is returned."""

    checkpoint_rounds: int = 5
    """Rounds of an analysis between two checkpoints, and so the most that are repeated after a crash."""

    analysed_batch_rows: int = 65_536
    """Rows of a node table that are read together when the result of an analysis is written back."""

    divided_nodes_min: int = 50_000_000
    """Nodes from which an analysis on Spark keeps its vectors on executors. Below, the driver holds them, at up to 81
    bytes a node, and every round sends 8 bytes a node: that takes a fraction of the time of exchanging them."""

    hashed_edges_min: int = 2_000_000
    """Edges from which Spark counts walks over hashes of ids. Whether they are distinct takes a job to find out, which
    costs more than texts do for fewer edges."""

    partition_rows: int = 1_000_000
    """Target rows per Spark task that reads a table; a fragment is never divided."""

    broadcast_bytes: int = 16 * 1024 * 1024
    """Maximum estimated size, in bytes, of a table that Spark broadcasts instead of shuffling it. Spark's own default
    is 10 MB, for relations whose size it knows."""

    grouped_facts: int = 1_000_000
    """Target facts per Spark task that groups keys: half a second of work, and small enough to stay in memory."""

    merged_rows: int = 250_000
    """Target rows per reading and per merging Spark task of a merge, over all versions: about 60,000 entities."""

    driver_check_rows: int = 20_000_000
    """Maximum input rows that the Spark driver checks on its own with any cluster: it takes two thirds of the
    cluster's time."""

    driver_check_cores: int = 4
    """Maximum cores of a cluster that is no faster than the driver: the driver's key database uses as many threads."""

    copied_files_parallel: int = 8
    """Files that a copy or backup transfers at a time: the threads mostly wait for the stores, and each holds a few
    chunks."""

    sorted_bytes: int = 256 * 1024 * 1024
    """Estimated bytes of rows that an export sorts by id together. A larger table is read in ranges of ids, and every
    range costs a read of the id column."""
