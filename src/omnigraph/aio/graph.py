"""``AsyncGraph``: every method of ``Graph``, awaited. A test compares the two classes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from omnigraph.aio.mirror import awaited, iterated
from omnigraph.aio.retry import Sleep, repeat
from omnigraph.aio.threads import THREADS, Threads
from omnigraph.core.actors import Actor
from omnigraph.core.calls.retries import ATTEMPTS, WAIT_SECONDS, WAIT_SECONDS_MAX, ErrorTypes, Retries
from omnigraph.core.ports import Embedder
from omnigraph.core.tuning import Tuning
from omnigraph.engine.analysis.run import Analysis
from omnigraph.engine.graph import Graph
from omnigraph.engine.permits.authorizer import Authorizer
from omnigraph.engine.schema.text import SchemaText
from omnigraph.errors import UsageError

Answer = TypeVar("Answer")


class AsyncGraph:
    """A graph for asyncio, shared by any number of tasks. Every method is that of ``Graph``, and is awaited.

    ``export`` and ``commits`` are taken with ``async for``. At most ``threads`` calls run at the same time. Cancelling
    a task cancels its query; a write that has begun runs on, and is committed as a whole or not at all.
    """

    def __init__(self, graph: Graph, threads: int | Threads = THREADS) -> None:
        self._graph = graph
        self._threads = Threads(threads) if isinstance(threads, int) else threads

    def __repr__(self) -> str:
        return f"<AsyncGraph {self.uri}>"

    async def __aenter__(self) -> AsyncGraph:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Wait for the calls that run, end the threads, and close the connections of a remote graph."""
        await self._threads.close()
        close = getattr(self._graph, "close", None)
        if close is not None:
            await asyncio.to_thread(close)

    @property
    def blocking(self) -> Graph:
        """The graph itself, whose methods block."""
        return self._graph

    @property
    def threads(self) -> Threads:
        """The threads that the methods run on."""
        return self._threads

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Run a blocking function on the threads of the graph: ``await graph.run(result.to_pylist)``."""
        return await self._threads.call(work)

    @property
    def uri(self) -> str:
        """The address of the graph."""
        return self._graph.uri

    @property
    def storage_options(self) -> Mapping[str, str]:
        """The options of the object store that the graph was opened with."""
        return self._graph.storage_options

    @property
    def tuning(self) -> Tuning:
        """The thresholds and sizes that the graph was opened with."""
        return self._graph.tuning

    @property
    def id(self) -> str:
        """The graph's own id, which copies of it share."""
        return self._graph.id

    @property
    def embedder(self) -> Embedder | None:
        """The embedder for texts that are written."""
        return self._graph.embedder

    @property
    def actor(self) -> Actor | None:
        """The actor that calls of this graph act as, if it was opened or made for one."""
        return self._graph.actor

    def acting_as(self, actor: str | Actor) -> AsyncGraph:
        """The same graph for one actor, on the same threads. Every other method is awaited, this one is not."""
        return AsyncGraph(self._graph.acting_as(actor), self._threads)

    def under(self, authorizer: Authorizer) -> AsyncGraph:
        """The same graph behind an authorizer, on the same threads; it is not awaited either."""
        return AsyncGraph(self._graph.under(authorizer), self._threads)

    @property
    async def schema(self) -> SchemaText:
        """The schema of ``main``: ``await graph.schema``."""
        return await self._threads.call(lambda: self._graph.schema)

    @property
    def analyze(self) -> AsyncAnalysis:
        """Graph algorithms: ``await graph.analyze.pagerank("Knows")``, for example."""
        return AsyncAnalysis(self._graph.analyze, self._threads)

    async def retry(
        self,
        work: Callable[[AsyncGraph], Awaitable[Answer]],
        *,
        attempts: int = ATTEMPTS,
        on: ErrorTypes = (),
        wait: float = WAIT_SECONDS,
        wait_max: float = WAIT_SECONDS_MAX,
        sleep: Sleep | None = None,
        random: Callable[[], float] | None = None,
    ) -> Answer:
        """Await ``work(graph)``, and again while it fails with a retryable error, as ``Graph.retry`` does."""
        if not callable(work):
            raise UsageError(f"retry takes an async function, not {work!r}", hint="await graph.retry(work)")
        return await repeat(lambda: work(self), Retries(attempts, wait, wait_max, on, random), sleep)

    snapshot = awaited(Graph.snapshot)
    moment = awaited(Graph.moment)
    query = awaited(Graph.query)
    query_with = awaited(Graph.query_with)
    prepare = awaited(Graph.prepare)
    sql = awaited(Graph.sql)
    spark_views = awaited(Graph.spark_views)
    register_tables = awaited(Graph.register_tables)
    spark_sql = awaited(Graph.spark_sql)
    explain = awaited(Graph.explain)
    read_blob = awaited(Graph.read_blob)
    nodes = awaited(Graph.nodes)
    edges = awaited(Graph.edges)
    counts = awaited(Graph.counts)
    to_networkx = awaited(Graph.to_networkx)
    to_igraph = awaited(Graph.to_igraph)
    to_pyg = awaited(Graph.to_pyg)
    nx = awaited(Graph.nx)
    draw = awaited(Graph.draw)
    catalog = awaited(Graph.catalog)
    schema_text = awaited(Graph.schema_text)
    export = iterated(Graph.export)
    export_files = awaited(Graph.export_files)
    create_branch = awaited(Graph.create_branch)
    branches = awaited(Graph.branches)
    delete_branch_preview = awaited(Graph.delete_branch_preview)
    delete_branch = awaited(Graph.delete_branch)
    rename_branch = awaited(Graph.rename_branch)
    commits = iterated(Graph.commits)
    commit = awaited(Graph.commit)
    diff = awaited(Graph.diff)
    changes = awaited(Graph.changes)
    change_baseline = awaited(Graph.change_baseline)
    feed = awaited(Graph.feed)
    commit_changes = awaited(Graph.commit_changes)
    mutate = awaited(Graph.mutate)
    mutate_preview = awaited(Graph.mutate_preview)
    load = awaited(Graph.load)
    earlier_load = awaited(Graph.earlier_load)
    load_preview = awaited(Graph.load_preview)
    load_spark = awaited(Graph.load_spark)
    load_spark_preview = awaited(Graph.load_spark_preview)
    load_documents = awaited(Graph.load_documents)
    load_documents_preview = awaited(Graph.load_documents_preview)
    load_with = awaited(Graph.load_with)
    preview_with = awaited(Graph.preview_with)
    plan_schema = awaited(Graph.plan_schema)
    apply_schema = awaited(Graph.apply_schema)
    merge = awaited(Graph.merge)
    merge_preview = awaited(Graph.merge_preview)
    resolve = awaited(Graph.resolve)
    resolve_preview = awaited(Graph.resolve_preview)
    revert = awaited(Graph.revert)
    revert_preview = awaited(Graph.revert_preview)
    verify = awaited(Graph.verify)
    doctor = awaited(Graph.doctor)
    optimize = awaited(Graph.optimize)
    cleanup = awaited(Graph.cleanup)
    commit_versions = awaited(Graph.commit_versions)
    external_types = awaited(Graph.external_types)
    refresh_external = awaited(Graph.refresh_external)
    refresh_external_preview = awaited(Graph.refresh_external_preview)
    mirror = awaited(Graph.mirror)
    mirrors = awaited(Graph.mirrors)
    remove_mirror = awaited(Graph.remove_mirror)
    copy = awaited(Graph.copy)
    backup = awaited(Graph.backup)


class AsyncAnalysis:
    """The algorithms of ``graph.analyze``, awaited."""

    def __init__(self, analysis: Analysis, threads: Threads) -> None:
        self._analysis = analysis
        self._threads = threads

    @property
    def blocking(self) -> Analysis:
        """The algorithms themselves, whose methods block."""
        return self._analysis

    @property
    def threads(self) -> Threads:
        """The threads that the algorithms run on."""
        return self._threads

    run = awaited(Analysis.run)
    pagerank = awaited(Analysis.pagerank)
    components = awaited(Analysis.components)
    label_propagation = awaited(Analysis.label_propagation)
    shortest_paths = awaited(Analysis.shortest_paths)
    triangles = awaited(Analysis.triangles)
    degrees = awaited(Analysis.degrees)
    louvain = awaited(Analysis.louvain)
    betweenness = awaited(Analysis.betweenness)
    local_clustering = awaited(Analysis.local_clustering)
    k_core = awaited(Analysis.k_core)
    random_walks = awaited(Analysis.random_walks)
