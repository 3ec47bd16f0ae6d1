"""``Graph``: the whole embedded API on one page. Every method hands over to the module of its concern.

Modules that only writers and maintenance need are imported in the methods that use them: a process that runs one query
starts faster.
"""

from __future__ import annotations

import html
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from omnigraph.core.limits import FEED_CHANGES_PER_PAGE, FEED_KEPT_BYTES
from omnigraph.core.lru import Lru
from omnigraph.core.ports import Clock, Embedder, IdSource, SystemClock, UlidSource
from omnigraph.core.tuning import Tuning
from omnigraph.engine import plugs
from omnigraph.engine.history.snapshots import Moment, head_snapshot, resolve_moment, snapshot_at
from omnigraph.engine.load_options import LoadOptions, takes
from omnigraph.engine.query.choice import QueryLimits, query_runner
from omnigraph.engine.query.memory import query_memory
from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.query.run import Compiler, bound_query
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.telemetry import logged
from omnigraph.exec.graph_view import Derived, GraphView
from omnigraph.history.changes import Names, read_filter
from omnigraph.manifest.layout import MAIN, read_stamp
from omnigraph.manifest.publisher import Publisher
from omnigraph.manifest.reader import Manifests
from omnigraph.query.ir import QueryIR
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.tables.array_cache import ArrayCache, cache_directory
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import WriteContext, WriteOptions

if TYPE_CHECKING:
    from omnigraph.core.commit import GraphCommit
    from omnigraph.core.durations import Duration
    from omnigraph.engine.analysis.run import Analysis
    from omnigraph.engine.blobs import Blob
    from omnigraph.engine.history.commit_changes import CommitChanges, Compared
    from omnigraph.engine.history.diff import Diff
    from omnigraph.engine.history.feed import ChangeBaseline, ChangePage, Feed
    from omnigraph.engine.load.run import Loader
    from omnigraph.engine.load.sources import Loadable
    from omnigraph.engine.merge.result import MergePreview, MergeResult, Policy
    from omnigraph.engine.previews import WritePreview
    from omnigraph.engine.query.explanation import Explanation
    from omnigraph.engine.results import (
        BranchInfo,
        BranchList,
        BranchLoss,
        LoadResult,
        MutationResult,
        VerifyReport,
    )
    from omnigraph.engine.revert.result import RevertPreview, RevertResult
    from omnigraph.engine.schema.result import SchemaResult
    from omnigraph.engine.upkeep.cleanup_result import CleanupResult
    from omnigraph.engine.upkeep.doctor import Finding
    from omnigraph.engine.upkeep.optimize_result import OptimizeResult
    from omnigraph.engine.upkeep.repair_result import RepairReport
    from omnigraph.exec.sql import SqlParams
    from omnigraph.history.conflicts import Resolution
    from omnigraph.schema.migration import MigrationPlan

Answer = TypeVar("Answer")


class Graph:
    """One graph: a typed property graph with branches and history, on local disk or in an object store.

    Open one with ``omnigraph.open`` or create one with ``omnigraph.create``. A graph may be shared between threads and
    pickled.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self._store = store
        self._embedder = embedder
        self._manifests = Manifests(store, read_stamp(store))
        self._context = WriteContext(self._manifests, Publisher(self._manifests), clock, ids or UlidSource(clock))
        self._compiler = Compiler()
        self._derived = Derived.kept_in(ArrayCache(cache_directory(store.root.path, self.id)))
        self._compared: Compared = Lru(FEED_KEPT_BYTES, lambda found: sum(rows.nbytes for rows in found))

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self._store, "embedder": self._embedder}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc] # unpickling opens the graph again

    def __repr__(self) -> str:
        return f"<Graph {self.uri}>"

    def _repr_html_(self) -> str:
        return f"<p><b>Graph</b> {html.escape(self.uri)}</p>{self.snapshot()._repr_html_()}"

    @property
    def uri(self) -> str:
        """The address of the graph."""
        return str(self._store.root)

    @property
    def storage_options(self) -> Mapping[str, str]:
        """The options of the object store that the graph was opened with."""
        return self._store.options

    @property
    def tuning(self) -> Tuning:
        """The thresholds and sizes that the graph was opened with."""
        return self._store.tuning

    @property
    def id(self) -> str:
        """The graph's own id, which copies of it share."""
        return self._manifests.stamp.graph_id

    @property
    def embedder(self) -> Embedder | None:
        """The embedder for texts that are written: the one given to ``open``, otherwise that of the environment."""
        return self._embedder or plugs.configured_embedder()

    def snapshot(self, branch: str | None = None, *, at: str | datetime | None = None) -> Snapshot:
        """The graph at the head of a branch, at a commit (``at="01..."``), or at a time on a branch."""
        return snapshot_at(self._manifests, branch, at)

    def moment(self, named: Moment) -> Snapshot:
        """The snapshot that a branch, a commit or a time on ``main`` names."""
        return resolve_moment(self._manifests, named)

    @overload
    def query(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        engine: Literal["spark"],
        spark: Any = None,
        name: str | None = None,
        branch: str | None = None,
        at: str | datetime | None = None,
    ) -> Any: ...

    @overload
    def query(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        engine: Literal["embedded", "auto"] = "embedded",
        spark: Any = None,
        name: str | None = None,
        branch: str | None = None,
        at: str | datetime | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: threading.Event | None = None,
        stats: bool = False,
    ) -> QueryResult: ...

    def query(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        engine: str = "embedded",
        spark: Any = None,
        name: str | None = None,
        branch: str | None = None,
        at: str | datetime | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: threading.Event | None = None,
        stats: bool = False,
    ) -> QueryResult | Any:
        """Run a read over the head of a branch, a commit or a time. ``name`` selects one of several queries.

        ``timeout`` (seconds) and ``memory_limit`` (bytes; default ``OMNIGRAPH_QUERY_MEMORY``, otherwise half of the
        machine's memory) raise ``LimitExceeded`` when the query needs more. Setting ``cancel`` from another thread
        raises ``QueryCancelled`` here. ``stats`` measures every operator.

        ``engine="spark"`` returns a lazy DataFrame of the session given, or of one of this machine. ``"auto"`` runs
        very large queries on Spark and returns the ordinary result.
        """
        limits = QueryLimits(timeout, memory_limit, cancel, stats)
        runner = query_runner(engine, spark, limits, None if at is not None else branch or MAIN)
        return self.query_with(runner, text, params, name=name, branch=branch, at=at)

    @logged("query")
    def query_with(
        self,
        runner: Callable[[QueryIR, GraphView], Answer],
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: str | datetime | None = None,
    ) -> Answer:
        """Compile and bind a read, and hand it with its snapshot to a function that runs it."""
        snapshot = self.snapshot(branch, at=at)
        plan = self._compiler.plan(snapshot, text, name)
        now_ms = self._context.clock.now_us() // 1000
        query = bound_query(snapshot, plan, params, embedder=self._embedder, now_ms=now_ms)
        with snapshot.reading():
            return runner(query, self._view(snapshot))

    def _view(self, snapshot: Snapshot) -> GraphView:
        return GraphView(snapshot.store, snapshot.state, snapshot.catalog, self._derived)

    def sql(
        self,
        text: str,
        params: SqlParams | None = None,
        *,
        branch: str | None = None,
        at: str | datetime | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
    ) -> QueryResult:
        """Run one SQL ``SELECT`` over the tables of a branch, a commit or a time. Tables are named like the types.

        Where a node and an edge type share a name, the tables are ``node_Name`` and ``edge_Name``. ``params`` are
        values for ``?``, or by name for ``$name``. Only these tables can be read, and nothing can be written.
        """
        from omnigraph.engine.query.sql import run

        snapshot = self.snapshot(branch, at=at)
        with snapshot.reading():
            rows = run(snapshot, text, params, timeout, query_memory(memory_limit))
        return QueryResult("sql", rows, None if at is not None else branch or MAIN, snapshot.commit_id)

    def spark_views(
        self, branch: str | None = None, *, at: str | datetime | None = None, prefix: str = "", spark: Any = None
    ) -> dict[str, str]:
        """Register the tables of one commit as temporary views for Spark SQL; returns view name -> table.

        Views are named as in ``sql``, after the prefix. ``spark`` is a session; by default one of this machine.
        """
        return plugs.cluster().views(self, branch, at=at, prefix=prefix, spark=spark)

    def explain(
        self, text: str, *, name: str | None = None, branch: str | None = None, at: str | datetime | None = None
    ) -> Explanation:
        """The plan of a query or mutation, with the size and indexes of its tables. Nothing runs."""
        from omnigraph.engine.query.explanation import explained

        snapshot = self.snapshot(branch, at=at)
        with snapshot.reading():
            return explained(self._compiler.plan(snapshot, text, name), self._view(snapshot))

    @property
    def analyze(self) -> Analysis:
        """Graph algorithms: ``graph.analyze.pagerank("Knows")``, for example."""
        from omnigraph.engine.analysis.run import Analysis

        return Analysis(self.snapshot, self._derived, self.load_with)

    def read_blob(
        self,
        kind: str,
        type_name: str,
        id: str,
        property: str,
        *,
        branch: str | None = None,
        at: str | datetime | None = None,
    ) -> Blob:
        """The value of a Blob property of one node or edge (``kind``). A null value raises ``NotFoundError``."""
        from omnigraph.engine import blobs

        return blobs.read_blob(self.snapshot(branch, at=at), kind, type_name, id, property)

    def catalog(self, branch: str = MAIN) -> Catalog:
        """The compiled schema of a branch."""
        return head_snapshot(self._manifests, branch).catalog

    def schema_text(self, branch: str = MAIN) -> str:
        """The schema of a branch as it was written."""
        return head_snapshot(self._manifests, branch).schema_text()

    def export(
        self, branch: str | None = None, *, at: str | datetime | None = None, types: list[str] | None = None
    ) -> Iterator[bytes]:
        """JSON lines in the form that ``load`` reads."""
        return self.snapshot(branch, at=at).export(types)

    @logged("create_branch")
    def create_branch(
        self, name: str, parent: str = MAIN, *, at: str | None = None, actor: str | None = None
    ) -> BranchInfo:
        """Create a branch at the head of another one, or at any commit (``at``). No data is copied."""
        from omnigraph.engine.branches import create_branch

        return create_branch(self._context, name, parent, at, actor)

    def branches(self) -> BranchList:
        """All branches with their heads, ``main`` first.

        Branches that cannot be read are in ``damaged`` of the list, with the file and the reason.
        """
        from omnigraph.engine.branches import list_branches

        return list_branches(self._manifests)

    def delete_branch_preview(self, name: str) -> BranchLoss:
        """The commits that no other branch has, which a deletion would make unreachable."""
        from omnigraph.engine.branches import branch_loss

        return branch_loss(self._manifests, name)

    @logged("delete_branch")
    def delete_branch(self, name: str) -> None:
        """Delete a branch, even one whose ref is damaged. Its commits stay readable until cleanup."""
        from omnigraph.manifest import naming

        naming.delete_branch(self._manifests, name)

    @logged("rename_branch")
    def rename_branch(self, name: str, new_name: str) -> None:
        """Rename a branch."""
        from omnigraph.manifest import naming

        naming.rename_branch(self._manifests, name, new_name, self._context.ids.new_id())

    def commits(self, branch: str = MAIN, *, limit: int | None = None, **filters: str) -> Iterator[GraphCommit]:
        """Commits of a branch, newest first. All filters, such as ``actor="ann"`` or ``kind="load"``, must hold."""
        from omnigraph.engine.history.commits import list_commits

        return list_commits(self._manifests, branch, limit, filters)

    def commit(self, commit_id: str) -> GraphCommit:
        """A commit by its id, on any branch."""
        from omnigraph.engine.history.commits import find_commit

        return find_commit(self._manifests, commit_id)

    @logged("diff")
    def diff(
        self, before: Moment, after: Moment = MAIN, *, kind: Names = None, type: Names = None, op: Names = None
    ) -> Diff:
        """The changes from one moment to another: branches, commits, times on ``main``, or snapshots.

        The two need not be related. ``kind`` (``node``, ``edge``), ``type`` and ``op`` (``insert``, ``update``,
        ``delete``) take one name or several. The cost follows the size of the change, not of the tables.
        """
        from omnigraph.engine.history.diff import compare

        return compare(self.moment(before), self.moment(after), read_filter(kind, type, op))

    @logged("changes")
    def changes(
        self,
        since: str = "now",
        *,
        limit: int = FEED_CHANGES_PER_PAGE,
        branch: str = MAIN,
        kind: Names = None,
        type: Names = None,
        op: Names = None,
    ) -> ChangePage:
        """One page of the change feed of a branch: each commit against its first parent, oldest first.

        ``since`` is the cursor of an earlier page, ``"now"``, ``"beginning"``, or ``"after:01..."`` with a commit.
        The same cursor returns the same changes again; store the new one after processing the page.
        ``ChangeFeedGap`` means that history was cleaned up: start again from a ``change_baseline``.
        """
        return self.feed(branch, kind=kind, type=type, op=op).poll(since, limit)

    def change_baseline(
        self, branch: str = MAIN, *, kind: Names = None, type: Names = None, op: Names = None
    ) -> ChangeBaseline:
        """All entities of a branch, with the cursor from which ``changes`` continues. ``op`` applies to the cursor."""
        return self.feed(branch, kind=kind, type=type, op=op).baseline()

    def feed(self, branch: str = MAIN, *, kind: Names = None, type: Names = None, op: Names = None) -> Feed:
        """The change feed of a branch up to its head, for callers that page through it themselves."""
        from omnigraph.engine.history.feed import open_feed

        return open_feed(self._manifests, branch, read_filter(kind, type, op), self._compared)

    def commit_changes(
        self,
        commit_id: str,
        *,
        page_token: str | None = None,
        limit: int = FEED_CHANGES_PER_PAGE,
        kind: Names = None,
        type: Names = None,
        op: Names = None,
    ) -> CommitChanges:
        """One page of the changes of a commit against its first parent."""
        from omnigraph.engine.history.commit_changes import Comparer, changes_of

        comparer = Comparer(self._manifests, read_filter(kind, type, op), self._compared)
        return changes_of(comparer, commit_id, page_token, limit)

    @logged("mutate")
    def mutate(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str = MAIN,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
        stats: bool = False,
    ) -> MutationResult:
        """Run the statements of a mutation query as one atomic commit.

        ``if_commit`` is a precondition: the head of the branch must be that commit. A repeated ``idempotency_key``
        returns the first commit and writes nothing. ``stats`` measures every step.
        """
        from omnigraph.engine.load.mutations import Mutation, mutate

        options = WriteOptions(actor, message, idempotency_key, provenance or {}, if_commit)
        context = self._context.profiled() if stats else self._context
        mutation = Mutation(self._compiler, text, params, name, lambda: self.embedder)
        return mutate(context, mutation, branch, options)

    @logged("mutate_preview")
    def mutate_preview(
        self, text: str, params: Mapping[str, object] | None = None, *, name: str | None = None, branch: str = MAIN
    ) -> WritePreview:
        """The counts per table that ``mutate`` would commit. Statements run, texts are embedded, nothing is written."""
        from omnigraph.engine.load.mutations import Mutation, preview

        return preview(self._context, Mutation(self._compiler, text, params, name, lambda: self.embedder), branch)

    @takes(LoadOptions)
    def load(self, data: Loadable, options: LoadOptions) -> LoadResult:
        """Load entities of any number of types as one atomic commit. The input may be larger than memory.

        ``data`` is a JSON-lines file (path, object-store address or open file), a list of them, an iterable of
        records, an Arrow table or reader, a pandas or polars frame of one type (``type_name``), or tables by type.
        ``LoadOptions`` describes the options; ``base`` forks a missing branch first.
        """
        from omnigraph.engine.load.run import embedded

        return self.load_with(embedded(data, options), options)

    @takes(LoadOptions)
    def load_preview(self, data: Loadable, options: LoadOptions) -> WritePreview:
        """The counts per table that ``load`` would commit. The whole input is read, checked and embedded."""
        from omnigraph.engine.load.run import embedded

        return self.preview_with(embedded(data, options), options)

    @takes(LoadOptions, needs_data=False)
    def load_spark(self, sources: Any, options: LoadOptions) -> LoadResult:
        """Load on Spark as one atomic commit: files of JSON lines, or with ``mapping`` tables and frames by name."""
        return plugs.cluster().load(self, sources, options)

    @takes(LoadOptions, needs_data=False)
    def load_spark_preview(self, sources: Any, options: LoadOptions) -> WritePreview:
        """The counts per table that ``load_spark`` would commit."""
        return plugs.cluster().load_preview(self, sources, options)

    @logged("load")
    def load_with(self, loader: Loader, options: LoadOptions) -> LoadResult:
        """Run a loader as one atomic commit. A branch that it creates (``base``) is deleted again if it fails."""
        from omnigraph.engine.load import run

        return run.load(self._context, loader, options, lambda: self.embedder)

    @logged("load_preview")
    def preview_with(self, loader: Loader, options: LoadOptions) -> WritePreview:
        """The counts per table that a loader would commit. A branch it would create is taken to be like ``base``."""
        from omnigraph.engine.load import run

        return run.preview(self._context, loader, options, lambda: self.embedder)

    def plan_schema(
        self, schema: str | os.PathLike[str], *, branch: str = MAIN, allow_data_loss: bool = False
    ) -> MigrationPlan:
        """The steps that ``apply_schema`` would take. Only schemas are compared: no entity is read.

        ``schema`` is a text, or a file as a ``pathlib.Path``.
        """
        from omnigraph.engine.schema.run import plan_schema, schema_source

        return plan_schema(self._context, schema_source(schema), branch, allow_data_loss=allow_data_loss)

    @logged("apply_schema")
    def apply_schema(
        self,
        schema: str | os.PathLike[str],
        *,
        branch: str = MAIN,
        allow_data_loss: bool = False,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
    ) -> SchemaResult:
        """Change the schema of a branch as one atomic commit; no commit if the text means the same schema.

        ``schema`` is a text, or a file as a ``pathlib.Path``. Entities that violate the new schema are counted and
        sampled in a ``ViolationError``; steps that cannot be taken raise ``MigrationRefused``. Both change nothing.
        Older commits keep their schema and their data.
        """
        from omnigraph.engine.schema.run import apply_schema, schema_source

        options = WriteOptions(actor, message, idempotency_key, provenance or {}, if_commit)
        return apply_schema(self._context, schema_source(schema), branch, options, allow_data_loss=allow_data_loss)

    @logged("merge")
    def merge(
        self,
        source: str | MergePreview,
        into: str | None = None,
        *,
        policy: Policy = None,
        resolutions: Sequence[Mapping[str, Any] | Resolution] = (),
        engine: str = "auto",
        spark: Any = None,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
    ) -> MergeResult:
        """Merge a branch into another one (``main``) as one atomic commit; or exactly what a preview showed.

        ``policy`` settles two changes of one property where the schema does not: a word such as ``"source"``, or words
        by ``Type``, ``Type.property`` and ``*``. ``resolutions`` settle single conflicts or kinds of them:
        ``{"type": "Person", "id": "ann", "property": "age", "take": "source"}``. Conflicts that remain raise
        ``MergeConflicts`` with all of them, and nothing is changed. ``engine`` merges tables that both branches changed
        in this process (``embedded``), on Spark (``spark``), or by the number of rows that can differ (``auto``).
        """
        from omnigraph.engine.merge import run

        options = WriteOptions(actor, message, idempotency_key, provenance or {}, if_commit)
        where = run.Engine(engine, spark)
        if isinstance(source, str):
            return run.merge(self._context, source, into or MAIN, policy, resolutions, where, options)
        return run.resume(self._context, source, into, policy, resolutions, where, options)

    @logged("merge_preview")
    def merge_preview(
        self,
        source: str,
        into: str = MAIN,
        *,
        policy: Policy = None,
        resolutions: Sequence[Mapping[str, Any] | Resolution] = (),
        engine: str = "auto",
        spark: Any = None,
    ) -> MergePreview:
        """The counts and conflicts of ``merge``. Nothing is written."""
        from omnigraph.engine.merge import run

        return run.preview(self._context, source, into, policy, resolutions, run.Engine(engine, spark))

    @logged("revert")
    def revert(
        self,
        commits: str | None = None,
        *,
        actor: str | None = None,
        run: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        branch: str = MAIN,
        policy: Policy = None,
        resolutions: Sequence[Mapping[str, Any] | Resolution] = (),
        by: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
    ) -> RevertResult:
        """Undo the changes of some commits as one atomic commit on top of the head; later changes by others stay.

        ``commits`` is a commit or a range ``"OLDER..NEWER"`` (without the older one). ``actor``, ``run`` (the key of
        that name in the provenance), ``since`` and ``until`` select commits by author and time; all must hold. ``by``
        is the actor of the revert. A revert is decided like a merge: the source is the state before the commits, the
        target is the head, and ``policy`` and ``resolutions`` settle conflicts as there.
        """
        from omnigraph.engine.revert import run as reverts

        options = WriteOptions(by, message, idempotency_key, provenance or {}, if_commit)
        undone = reverts.Undone(commits, actor, run, since, until)
        return reverts.revert(self._context, undone, branch, policy, resolutions, options)

    def revert_preview(
        self,
        commits: str | None = None,
        *,
        actor: str | None = None,
        run: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        branch: str = MAIN,
        policy: Policy = None,
        resolutions: Sequence[Mapping[str, Any] | Resolution] = (),
    ) -> RevertPreview:
        """The counts and conflicts of ``revert``. Nothing is written."""
        from omnigraph.engine.revert import run as reverts

        undone = reverts.Undone(commits, actor, run, since, until)
        return reverts.preview(self._context, undone, branch, policy, resolutions)

    @logged("verify")
    def verify(self, *, deep: bool = True, progress: Callable[[int], None] | None = None) -> VerifyReport:
        """Check that every file of every branch's history exists with its recorded content.

        A deep check also validates the entities of every head: unique ids, and no edge without its nodes. Without
        ``deep`` only file sizes are compared, and no file is read.
        """
        from omnigraph.engine.upkeep.verify import verify

        return verify(self._manifests, deep=deep, progress=progress)

    @logged("doctor")
    def doctor(self, branch: str = MAIN) -> list[Finding]:
        """Examine the store and the tables of a branch: findings with a verdict and advice.

        An unreadable file is a finding with the verdict ``problem``; the examination continues past it.
        """
        from omnigraph.engine.upkeep.doctor import examined

        return examined(self._manifests, branch, self._derived)

    @logged("optimize")
    def optimize(
        self,
        branch: str = MAIN,
        *,
        types: Sequence[str] | None = None,
        compact: bool = True,
        index: bool = True,
        engine: str = "auto",
        spark: Any = None,
        actor: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> OptimizeResult:
        """Compact the files of a branch's tables and complete their indexes. Query results stay the same.

        Readers and writers continue. Tables that they change meanwhile are left for the next run, with the reason.
        ``engine`` rewrites large tables in this process (``embedded``), on Spark (``spark``), or by size (``auto``).
        ``progress`` is called with the number of finished tables.
        """
        from omnigraph.engine.upkeep.optimize import maintain, workers_for
        from omnigraph.write.upkeep.optimize import OptimizeSettings

        settings = OptimizeSettings(compact, index, workers_for(engine, spark, self._store.tuning.spark_table_rows_min))
        return maintain(self._context, branch, types, WriteOptions(actor), progress, settings)

    @logged("cleanup")
    def cleanup(
        self,
        *,
        keep: int | None = None,
        older_than: Duration | None = None,
        grace: Duration | None = None,
        dry_run: bool = False,
        engine: str = "embedded",
        spark: Any = None,
        progress: Callable[[int], None] | None = None,
    ) -> CleanupResult:
        """Collect garbage: delete unreferenced files, and expire old commits if a rule is given.

        The newest ``keep`` commits of every branch stay readable, and so do commits younger than ``older_than``, such
        as ``"7d"``; without both no commit expires. Expired commits and unreferenced files are deleted by a run at
        least ``grace`` later (``"24h"``), so readers and writers that began before can finish. A smaller ``grace`` is
        safe only if no reader or writer runs longer than that. ``engine`` is ``embedded``, ``spark`` or ``auto``.
        """
        from omnigraph.engine.upkeep.cleanup import clean

        return clean(self._context, keep, older_than, grace, engine, spark, progress, dry_run=dry_run)


def open_graph(
    uri: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
    embedder: Embedder | None = None,
    tuning: Tuning | None = None,
) -> Graph:
    """Open a graph. Object stores take ``storage_options``, or for S3 the usual ``AWS_*`` variables.

    The ``embedder`` turns texts of ``nearest`` and of ``@embed`` properties into vectors, for example
    ``omnigraph.embed.from_environment()``. ``tuning`` changes thresholds and sizes of the engine.
    """
    return Graph(Store(uri, storage_options, durability, tuning or Tuning()), embedder=embedder)


def repair(
    uri: str | os.PathLike[str],
    *,
    apply: bool = False,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
) -> RepairReport:
    """Plan the repair of damaged files, and execute it with ``apply``. Works on a graph that cannot be opened.

    Damaged files are moved below ``aside/``, never deleted. No other process may write meanwhile.
    """
    from omnigraph.engine.upkeep.repair import repair as repair_store

    return repair_store(Store(uri, storage_options, durability), UlidSource(), apply=apply)


def create(
    uri: str | os.PathLike[str],
    schema: str,
    *,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
    actor: str | None = None,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    embedder: Embedder | None = None,
    tuning: Tuning | None = None,
) -> Graph:
    """Create a graph with a schema text, and open it."""
    from omnigraph.engine.schema.creation import create_from_text

    store = Store(uri, storage_options, durability, tuning or Tuning())
    clock = clock or SystemClock()
    ids = ids or UlidSource(clock)
    create_from_text(store, schema, clock, ids, actor)
    return Graph(store, clock=clock, ids=ids, embedder=embedder)
