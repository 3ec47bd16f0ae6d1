"""``Graph``: the whole embedded API on one page. Every method hands over to the module of its concern.

Modules that only writers and maintenance need are imported in the methods that use them: a process that runs one query
starts faster.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from omnigraph.core.actors import Action, Actor, Caller, Need, actor_id
from omnigraph.core.calls.arguments import checked, checked_methods
from omnigraph.core.calls.retries import ATTEMPTS, WAIT_SECONDS, WAIT_SECONDS_MAX, ErrorTypes, Retries
from omnigraph.core.limits import FEED_CHANGES_PER_PAGE, FEED_KEPT_BYTES
from omnigraph.core.lru import ENTRY_BYTES, Lru
from omnigraph.core.ports import Clock, Embedder, IdSource, SystemClock, UlidSource
from omnigraph.core.tuning import Tuning
from omnigraph.engine import plugs
from omnigraph.engine.access.gated import gated
from omnigraph.engine.access.gates import GATES, branch_of
from omnigraph.engine.access.opening import check_rules, permit_of
from omnigraph.engine.documents.options import DocumentOptions
from omnigraph.engine.engine_choice import EMBEDDED
from omnigraph.engine.history.moments import Moments
from omnigraph.engine.history.snapshots import Moment, resolve_moment, resolve_range, snapshot_at
from omnigraph.engine.load_options import LoadOptions, takes
from omnigraph.engine.permits.authorizer import Authorizer
from omnigraph.engine.permits.permit import ANYONE, Permit
from omnigraph.engine.query.choice import QueryLimits, query_runner
from omnigraph.engine.query.memory import query_memory
from omnigraph.engine.query.reads import Reads, Run
from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.query.run import Compiler, bound_query, readable
from omnigraph.engine.schema.places import graph_place
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.telemetry import logged, logger
from omnigraph.exec.graph_view import Derived, GraphView
from omnigraph.history.state import ManifestState
from omnigraph.manifest.branches import find_head
from omnigraph.manifest.layout import MAIN, Stamp, read_stamp
from omnigraph.manifest.reader import Manifests
from omnigraph.query.ir import QueryIR
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.tables.array_cache import ArrayCache, cache_directory
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import Publishing, WriteContext, WriteOptions

if TYPE_CHECKING:
    from omnigraph.core.commit import GraphCommit
    from omnigraph.engine.analysis.run import Analysis
    from omnigraph.engine.blobs import Blob
    from omnigraph.engine.copies.result import CopyResult
    from omnigraph.engine.documents.result import DocumentsPreview, DocumentsResult
    from omnigraph.engine.durations import Duration
    from omnigraph.engine.export.result import ExportResult
    from omnigraph.engine.external.result import ExternalTypeList, RefreshResult
    from omnigraph.engine.history.commit_changes import CommitChanges, Compared
    from omnigraph.engine.history.diff import Diff
    from omnigraph.engine.history.feed import ChangeBaseline, ChangePage, Feed
    from omnigraph.engine.interop.backend_graph import BackendGraph
    from omnigraph.engine.load.embedded import Loading
    from omnigraph.engine.load.run import Loader
    from omnigraph.engine.load.sources import Loadable
    from omnigraph.engine.merge.result import MergePreview, MergeResult, Policy
    from omnigraph.engine.mirror.result import MirrorResult
    from omnigraph.engine.picture.picture import Picture
    from omnigraph.engine.previews import WritePreview
    from omnigraph.engine.query.explanation import Explanation
    from omnigraph.engine.query.prepared import PreparedQuery, RunsUnchecked
    from omnigraph.engine.resolve.result import ResolvePreview, ResolveResult
    from omnigraph.engine.results import (
        BranchInfo,
        BranchList,
        BranchLoss,
        LoadResult,
        MutationResult,
        VerifyReport,
    )
    from omnigraph.engine.revert.result import RevertPreview, RevertResult
    from omnigraph.engine.schema.importing import ImportResult
    from omnigraph.engine.schema.result import SchemaResult
    from omnigraph.engine.schema.text import SchemaText
    from omnigraph.engine.upkeep.cleanup_result import CleanupResult
    from omnigraph.engine.upkeep.doctor import Finding
    from omnigraph.engine.upkeep.optimize_result import OptimizeResult
    from omnigraph.engine.upkeep.repair_result import RepairReport
    from omnigraph.engine.views.types import TypeViews
    from omnigraph.engine.views.view import EntityView
    from omnigraph.exec.resolve.rules import ResolveRules
    from omnigraph.exec.sql import SqlParams
    from omnigraph.history.changes import ChangeFilter, Names
    from omnigraph.history.conflicts import Resolution
    from omnigraph.history.plan import PublishPlan
    from omnigraph.ingest.infer.result import InferredSchema
    from omnigraph.manifest.mirrors import Mirror
    from omnigraph.manifest.queue import Share
    from omnigraph.manifest.reader import Capture
    from omnigraph.schema.migration import MigrationPlan
    from omnigraph.write.adopt.versions import OfferedVersion
    from omnigraph.write.guard import ChangeGuard
    from omnigraph.write.merge_guard import MergeGuard

Answer = TypeVar("Answer")
Written = TypeVar("Written", "MutationResult", "LoadResult")
Address = str | os.PathLike[str]
"""A path, or a prefix in a bucket. ``graph_place`` explains values that are something else."""


@checked_methods("graph")
@gated(GATES)
class Graph:
    """One graph: a typed property graph with branches and history, on local disk or in an object store.

    Open one with ``omnigraph.open`` or create one with ``omnigraph.create``. A graph may be shared between threads and
    pickled.

    Every verb takes an ``actor`` (``by``, where ``actor`` is a filter): an id or an ``omnigraph.Actor``. Commits record
    it, and a policy decides by it. ``acting_as`` gives a graph whose calls need not name it.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        embedder: Embedder | None = None,
        permit: Permit = ANYONE,
        stamp: Stamp | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self._store = store
        self._embedder = embedder
        self._permit = permit
        self._manifests = Manifests(store, stamp or read_stamp(store))
        self._context = WriteContext(
            self._manifests, Publishing(self._manifests, _stage_wave), clock, ids or UlidSource(clock)
        )
        self._moments = Moments.of(self._context)
        self._compiler = Compiler()
        self._derived = Derived.kept_in(ArrayCache(cache_directory(store.root.path, self.id)))
        self._reads = Reads(store, self._derived.columns)
        check_rules(permit, self._manifests)
        self._compared: Compared = Lru(FEED_KEPT_BYTES, lambda found: ENTRY_BYTES + sum(rows.nbytes for rows in found))

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self._store, "embedder": self._embedder, "permit": self._permit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc] # unpickling opens the graph again

    def __repr__(self) -> str:
        return f"<Graph {self.uri}>"

    def _repr_html_(self) -> str:
        import html

        return f"<p><b>Graph</b> {html.escape(self.uri)}</p>{self.snapshot()._repr_html_()}"

    def __len__(self) -> int:
        """The number of entities at the head of ``main``."""
        return len(self.snapshot())

    def __bool__(self) -> bool:
        return True  # an empty graph is a graph

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

    @property
    def actor(self) -> Actor | None:
        """The actor that calls of this graph act as, if it was opened or made for one."""
        return self._permit.actor

    def acting_as(self, actor: str | Actor) -> Graph:
        """The same graph for one actor: its calls are allowed, and its commits signed, as that actor.

        Both share all caches. A graph that acts as one actor does not change to another.
        """
        return self._acting(self._permit.acting_as(actor))

    def under(self, authorizer: Authorizer) -> Graph:
        """The same graph behind an authorizer, as if it had been opened with it. Both share all caches.

        A graph that has an authorizer keeps it.
        """
        return self._acting(self._permit.under(authorizer))

    def _acting(self, permit: Permit) -> Graph:
        graph = object.__new__(Graph)
        graph.__dict__.update(self.__dict__, _permit=permit)
        return graph

    def _author(self, actor: Caller) -> str | None:
        """The actor that a commit records."""
        return actor_id(actor or self._permit.actor)

    def _signed(self, options: LoadOptions) -> LoadOptions:
        return replace(options, actor=self._author(options.actor))

    def _at(self, branch: str | None = None, at: str | datetime | None = None) -> Snapshot:
        snapshot = snapshot_at(self._moments, branch, at)
        return snapshot if self._permit is ANYONE else replace(snapshot, permit=self._permit)

    def _part(self, branch: str | None = None, at: str | datetime | None = None) -> Snapshot:
        """The same for an actor: the part that data rules leave to it."""
        snapshot, scope = self._scoped(branch, at)
        return snapshot.inside(scope)

    def snapshot(
        self, branch: str | None = None, *, at: str | datetime | None = None, actor: Caller = None
    ) -> Snapshot:
        """The graph at the head of a branch, or at a moment: a commit or its prefix, a time, ``HEAD~2`` and others.

        The forms of a moment are those of git: ``"main~2"``, ``"main@{yesterday}"``, ``"main@{2026-01-31}"``.
        """
        return self._part(branch, at)

    def moment(self, named: Moment, *, actor: Caller = None) -> Snapshot:
        """The snapshot that a branch, a commit, a time on ``main`` or a form such as ``"main~2"`` names."""
        snapshot = replace(resolve_moment(self._moments, named).whole(), permit=self._permit)
        return snapshot.inside(self._scope(snapshot, at=named))

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
        actor: Caller = None,
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
        actor: Caller = None,
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
        actor: Caller = None,
    ) -> QueryResult | Any:
        """Run a read over the head of a branch, a commit or a time. ``name`` selects one of several queries.

        ``timeout`` (seconds) and ``memory_limit`` (bytes; default ``OMNIGRAPH_QUERY_MEMORY``, otherwise half of the
        machine's memory) raise ``LimitExceeded`` when the query needs more. Setting ``cancel`` from another thread
        raises ``QueryCancelled`` here. ``stats`` measures every operator.

        ``engine="spark"`` returns a lazy DataFrame of the session given, or of one of this machine. ``"auto"`` runs
        very large queries on Spark and returns the ordinary result.
        """
        limits = QueryLimits(timeout, memory_limit, cancel, stats)
        if engine == EMBEDDED:
            return self._query(limits, text, params, name=name, branch=branch, at=at)
        runner = query_runner(engine, spark, limits, None if at is not None else branch or MAIN)
        return self._run_with(runner, text, params, name=name, branch=branch, at=at)

    @logged("query")
    def _query(
        self,
        limits: QueryLimits,
        text: str,
        params: Mapping[str, object] | None,
        *,
        name: str | None,
        branch: str | None,
        at: str | datetime | None,
    ) -> QueryResult:
        now_ms = self._context.clock.now_us() // 1000
        run = Run(params, limits, None if at is not None else branch or MAIN, now_ms)
        if at is None and self._permit.authorizer is None:
            # Most reads: nothing is made for them that a few closures over memory do not need.
            state, scope = find_head(self._manifests, branch or MAIN), None
            ready = self._compiler.known(text, name, state.schema_digest, None)
            found = self._reads.at_once(ready, state, run) if isinstance(ready, QueryIR) else None
            if found is not None:
                return found
            snapshot = Snapshot(self._store, state, self._manifests.catalog(state.schema_digest), self._permit)
        else:
            snapshot, scope = self._scoped(branch, at)
        plan = self._compiler.plan(snapshot, text, name, scope)
        run = replace(run, is_restricted=scope is not None)
        with snapshot.reading():
            return self._reads.run(plan, self._view(snapshot, scope), run, embedder=self._embedder)

    @logged("query")
    def _at_once(
        self, text: str, params: Mapping[str, object] | None, *, name: str | None, branch: str
    ) -> QueryResult | None:
        """A read of ``main`` that memory alone can answer; None if it has to be run with ``query``."""
        found = self._in_memory(branch)
        if found is None:
            return None
        view, scope = found
        plan = self._compiler.known(text, name, view.state.schema_digest, scope)
        if not isinstance(plan, QueryIR):
            return None
        now_ms = self._context.clock.now_us() // 1000
        run = Run(params, QueryLimits(), branch, now_ms, is_restricted=scope is not None)
        return self._reads.at_once(plan, view.state, run, is_brief=True)

    def _is_small(self, text: str, *, name: str | None, branch: str, compiles: bool) -> bool | None:
        """True if a run in this process would let ``_at_once`` answer; None if only compiling the text could tell."""
        manifests, graph_id = self._manifests, self._manifests.stamp.graph_id
        if branch != MAIN or not manifests.is_checked_at_once:
            return False
        newest = manifests.fresh_in_memory(graph_id)
        # After a commit of another process, a small read brings the new head into memory. No reader does that.
        state = newest or manifests.known(graph_id)
        if state is None:
            return False
        if newest is None and compiles:
            # The schema may have changed too.
            state = newest = manifests.fresh(graph_id)
        view, scope = self._as_seen(state)
        plan = self._compiler.known(text, name, state.schema_digest, scope)
        if plan is None and compiles:
            plan = self._compiler.compile(text, name, state.schema_digest, view.catalog, scope)
        if plan is None:
            return None
        is_outdated = newest is None
        return isinstance(plan, QueryIR) and self._reads.is_small(plan, view, is_outdated, compiles=compiles)

    def _in_memory(self, branch: str) -> tuple[GraphView, DataScope | None] | None:
        """The head of ``main`` as the actor may see it, if it is cached and two calls of ``stat`` confirm it."""
        manifests = self._manifests
        state = manifests.fresh_in_memory(manifests.stamp.graph_id) if branch == MAIN else None
        return None if state is None else self._as_seen(state)

    def _as_seen(self, state: ManifestState) -> tuple[GraphView, DataScope | None]:
        """A state of ``main`` as the actor may see it, and the data rules that restrict it."""
        catalog, scope = self._manifests.catalog(state.schema_digest), None
        if self._permit.authorizer is not None:
            self._permit.check(Need(Action.READ, MAIN))
            scope = self._permit.scope(Action.READ, MAIN, catalog)
        return GraphView(self._store, state, catalog, self._derived, is_restricted=scope is not None), scope

    def prepare(
        self,
        text: str,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> PreparedQuery:
        """Parse, check and plan a read once, to run it many times: ``graph.prepare(text).rows({"name": "Ada"})``."""
        from omnigraph.engine.query.prepared import PreparedQuery

        snapshot = self._at(branch, at)
        plan = readable(self._compiler.plan(snapshot, text, name, self._scope(snapshot, branch, at)))
        types = {parameter.name: parameter.spelled_type for parameter in plan.parameters}
        columns = tuple(column.name for column in plan.columns)
        return PreparedQuery(plan.name, types, columns, text, branch, at, self.query, self._ungated)

    @property
    def _ungated(self) -> RunsUnchecked | None:
        """The run of a query behind its gate, if the gate lets everything pass."""
        return self._query if self._permit is ANYONE else None

    def query_with(
        self,
        runner: Callable[[QueryIR, GraphView], Answer],
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> Answer:
        """Compile and bind a read, and hand it with its snapshot to a function that runs it."""
        return self._run_with(runner, text, params, name=name, branch=branch, at=at)

    @logged("query")
    def _run_with(
        self,
        runner: Callable[[QueryIR, GraphView], Answer],
        text: str,
        params: Mapping[str, object] | None,
        *,
        name: str | None,
        branch: str | None,
        at: str | datetime | None,
    ) -> Answer:
        snapshot, scope = self._scoped(branch, at)
        plan = self._compiler.plan(snapshot, text, name, scope)
        now_ms = self._context.clock.now_us() // 1000
        query = bound_query(plan, params, snapshot.catalog, embedder=self._embedder, now_ms=now_ms)
        with snapshot.reading():
            return runner(query, self._view(snapshot, scope))

    def _scope(
        self,
        snapshot: Snapshot,
        branch: str | None = None,
        at: Moment | None = None,
        action: Action = Action.READ,
    ) -> DataScope | None:
        """The part of a snapshot that data rules leave to the actor; None if all of it."""
        if self._permit.authorizer is None:
            return None
        return self._permit.scope(action, branch_of(self._moments, at, branch), snapshot.catalog)

    def _scoped(self, branch: str | None, at: str | datetime | None) -> tuple[Snapshot, DataScope | None]:
        snapshot = self._at(branch, at)
        return snapshot, self._scope(snapshot, branch, at)

    def _guard(self, branch: str) -> ChangeGuard | None:
        """The data rules of a write; None without an authorizer."""
        permit = self._permit
        if permit.authorizer is None:
            return None
        from omnigraph.write.guard import ChangeGuard

        return ChangeGuard(lambda action, catalog: permit.scope(action, branch, catalog), branch, permit.actor)

    def _merge_guard(self, need: Need) -> MergeGuard | None:
        """The data rules of a merge or revert; None without an authorizer."""
        permit = self._permit
        if permit.authorizer is None:
            return None
        from omnigraph.write.merge_guard import MergeGuard

        return MergeGuard(permit.scope, need, permit.actor)

    def _follow(self, commit: GraphCommit | None) -> None:
        """Make the programs of recent reads for a commit of this process."""
        state = None if commit is None else self._manifests.known(commit.manifest.incarnation)
        if state is None:
            return
        try:
            catalog = self._manifests.catalog(state.schema_digest)
            self._reads.follow(GraphView(self._store, state, catalog, self._derived))
        except Exception:
            # The commit is published: nothing that fails here may be reported as its failure.
            logger.warning("programs could not be made for commit %s", state.head, exc_info=True)

    def _committed(self, result: Written) -> Written:
        """The result of a write for its actor, after the programs of recent reads were made for its commit."""
        self._follow(result.commit)
        return self._shown(result)

    def _shown(self, result: Written) -> Written:
        """The result of a write; for an actor with a scope, without the sizes of tables that its commit records."""
        if self._permit.authorizer is None or result.commit is None:
            return result
        return replace(result, commit=self._shown_commit(result.commit, result.branch))

    def _shown_commit(self, commit: GraphCommit, branch: str | None = None) -> GraphCommit:
        if self._permit.authorizer is None:
            return commit
        from omnigraph.history.commits import shown_commit

        catalog = self._manifests.catalog(commit.schema_digest)
        scope = self._permit.scope(Action.READ, branch or commit.branch, catalog)
        return commit if scope is None else shown_commit(commit)

    def _view(self, snapshot: Snapshot, scope: DataScope | None = None) -> GraphView:
        return GraphView(
            snapshot.store, snapshot.state, snapshot.catalog, self._derived, is_restricted=scope is not None
        )

    def sql(
        self,
        text: str,
        params: SqlParams | None = None,
        *,
        branch: str | None = None,
        at: str | datetime | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: threading.Event | None = None,
        actor: Caller = None,
    ) -> QueryResult:
        """Run one SQL ``SELECT`` over the tables of a branch, a commit or a time. Tables are named like the types.

        Where a node and an edge type share a name, the tables are ``node_Name`` and ``edge_Name``. ``params`` are
        values for ``?``, or by name for ``$name``. Only these tables can be read, and nothing can be written.
        ``timeout``, ``memory_limit`` and ``cancel`` are those of ``query``.
        """
        from omnigraph.engine.query.sql import run

        snapshot = self._part(branch, at)
        with snapshot.reading():
            rows = run(snapshot, text, params, timeout, query_memory(memory_limit), cancel)
        return QueryResult("sql", rows, None if at is not None else branch or MAIN, snapshot.commit_id)

    def spark_views(
        self,
        branch: str | None = None,
        *,
        at: str | datetime | None = None,
        prefix: str = "",
        spark: Any = None,
        actor: Caller = None,
    ) -> dict[str, str]:
        """Register the tables of one commit as temporary views for Spark SQL; returns view name -> table.

        Views are named as in ``sql``, after the prefix. ``spark`` is a session; by default one of this machine.
        """
        return plugs.cluster().views(self, branch, at=at, prefix=prefix, spark=spark)

    def spark_sql(
        self,
        text: str,
        branch: str | None = None,
        *,
        at: str | datetime | None = None,
        spark: Any = None,
        actor: Caller = None,
    ) -> Any:
        """A lazy DataFrame of a query in Spark SQL over the tables of one commit, named as in ``sql``.

        Spark plans it twice, so that only the needed columns and rows are read.
        """
        return plugs.cluster().sql_frame(self, text, branch, at=at, spark=spark)

    def register_tables(
        self,
        database: str,
        branch: str | None = None,
        *,
        at: str | datetime | None = None,
        spark: Any = None,
        actor: Caller = None,
    ) -> dict[str, str]:
        """Create tables for all types in a database of Spark's catalog; returns name -> table.

        They read the head of the branch when a query is planned, or the commit of ``at``, and take ``INSERT INTO``.
        """
        return plugs.cluster().tables(self, database, branch, at=at, spark=spark)

    def explain(
        self,
        text: str,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> Explanation:
        """The plan of a query or mutation, with the size and indexes of its tables. Nothing runs."""
        from omnigraph.engine.query.explanation import explained, explained_inside

        snapshot, scope = self._scoped(branch, at)
        if scope is not None:
            return explained_inside(text, name, snapshot.catalog, scope)
        with snapshot.reading():
            return explained(self._compiler.plan(snapshot, text, name), self._view(snapshot))

    @property
    def analyze(self) -> Analysis:
        """Graph algorithms: ``graph.analyze.pagerank("Knows")``, for example."""
        from omnigraph.engine.analysis.run import Analysis

        return Analysis(self.snapshot, self._derived, self.load_with)

    @overload
    def nodes(
        self,
        type_name: str,
        *,
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> EntityView: ...
    @overload
    def nodes(
        self, type_name: None = None, *, branch: str | None = None, at: Any = None, actor: Caller = None
    ) -> TypeViews: ...

    def nodes(
        self,
        type_name: str | None = None,
        *,
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> EntityView | TypeViews:
        """A lazy view of the nodes of one type; without a name, the views of all node types.

        ``graph.nodes("Person").where("age > 30").select("name").df()`` reads what it needs, and nothing before ``df``.
        """
        return self._views("node", type_name, branch, at)

    def _views(
        self, kind: str, type_name: str | None, branch: str | None, at: str | datetime | None
    ) -> EntityView | TypeViews:
        from omnigraph.engine.views.types import views

        return views(self._part(branch, at), kind, type_name)

    @overload
    def edges(
        self,
        type_name: str,
        *,
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> EntityView: ...
    @overload
    def edges(
        self, type_name: None = None, *, branch: str | None = None, at: Any = None, actor: Caller = None
    ) -> TypeViews: ...

    def edges(
        self,
        type_name: str | None = None,
        *,
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> EntityView | TypeViews:
        """A lazy view of the edges of one type; without a name, the views of all edge types."""
        return self._views("edge", type_name, branch, at)

    def counts(
        self, branch: str | None = None, *, at: str | datetime | None = None, actor: Caller = None
    ) -> dict[str, int]:
        """The number of entities by type. A name that two types share is ``node:Name`` and ``edge:Name``."""
        return self._part(branch, at).counts_by_type()

    def to_networkx(
        self, *types: str, branch: str | None = None, at: str | datetime | None = None, actor: Caller = None
    ) -> Any:
        """A ``networkx.MultiDiGraph`` of some types, or of all: nodes by id, edges with their id as key.

        Properties are attributes, nulls are left out, and the attribute ``type`` holds the type. An id that nodes of
        two types share becomes ``Type:id``. ``omnigraph.from_networkx`` converts back.
        """
        from omnigraph.engine.interop import run

        return run.to_networkx(self._part(branch, at), types)

    def to_igraph(
        self, *types: str, branch: str | None = None, at: str | datetime | None = None, actor: Caller = None
    ) -> Any:
        """A directed ``igraph.Graph`` of some types, or of all, with properties as attributes."""
        from omnigraph.engine.interop import run

        return run.to_igraph(self._part(branch, at), types)

    def to_pyg(
        self,
        *types: str,
        features: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        missing: float = float("nan"),
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> Any:
        """A ``torch_geometric.data.HeteroData`` of some types, or of all.

        ``x`` and ``edge_attr`` hold the numeric and vector properties, or the ``features``, in the order of
        ``feature_names``; null becomes ``missing``. ``data["Person"].index`` maps ids to positions, its ``ids`` back.
        """
        from omnigraph.engine.interop import run

        return run.to_pyg(self._part(branch, at), types, features, missing)

    def nx(
        self,
        *types: str,
        directed: bool = True,
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> BackendGraph:
        """The graph for NetworkX's algorithms in our implementation: ``networkx.pagerank(graph.nx("Knows"))``."""
        from omnigraph.engine.interop import run

        return run.to_backend(self._part(branch, at), types, directed=directed)

    def draw(
        self,
        *types: str,
        limit: int = 300,
        caption: str | Mapping[str, str] | None = None,
        height: int = 520,
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> Picture:
        """An interactive picture of some types, or of all; ``draw().save("graph.html")`` writes a page.

        Above the ``limit``, the nodes with most edges are shown. ``caption`` is the property that names the nodes, or
        one for each type. A notebook shows the picture ``height`` pixels high.
        """
        from omnigraph.engine.picture.draw import DrawOptions, draw_types

        return draw_types(self._part(branch, at), types, DrawOptions(limit, caption, height))

    def read_blob(
        self,
        kind: str,
        type_name: str,
        id: str,
        property: str | None = None,
        *,
        branch: str | None = None,
        at: str | datetime | None = None,
        actor: Caller = None,
    ) -> Blob:
        """The value of a Blob property: ``read_blob("Doc", "d1", "image")``. A null value raises ``NotFoundError``.

        The kind (``node`` or ``edge``) stands first where two types share a name: ``("node", "Doc", "d1", "image")``.
        """
        from omnigraph.engine import blobs

        return blobs.read_blob(self._part(branch, at), *blobs.read_selector(kind, type_name, id, property))

    def catalog(self, branch: str = MAIN, *, actor: Caller = None) -> Catalog:
        """The compiled schema of a branch, with the properties in the order of its text."""
        return self._part(branch).ordered_catalog()

    @property
    def schema(self) -> SchemaText:
        """The schema of ``main`` as it was written: a text that displays itself, with the properties by type."""
        return self._part().schema

    def schema_text(self, branch: str = MAIN, *, actor: Caller = None) -> str:
        """The schema of a branch as it was written."""
        return self._part(branch).schema_text()

    def export(
        self,
        branch: str | None = None,
        *,
        at: str | datetime | None = None,
        types: list[str] | None = None,
        dates: str = "number",
        actor: Caller = None,
    ) -> Iterator[bytes]:
        """JSON lines in the form that ``load`` reads; ``dates`` are numbers (``number``) or texts (``iso``)."""
        return self._part(branch, at).export(types, dates=dates)

    @logged("export_files")
    def export_files(
        self,
        target: str | os.PathLike[str],
        format: str = "parquet",
        *,
        types: Sequence[str] | str | None = None,
        branch: str | None = None,
        at: str | datetime | None = None,
        dates: str | None = None,
        null: str | None = None,
        replace: bool = False,
        target_options: Mapping[str, str] | None = None,
        progress: Callable[[int], None] | None = None,
        actor: Caller = None,
    ) -> ExportResult:
        """Write one file or table for each type into a directory or a prefix of a bucket.

        ``format`` is ``parquet``, ``csv`` or ``jsonl``, which ``load`` reads, or a table format: ``iceberg`` or
        ``delta``. A target with that suffix, such as ``people.csv`` or ``people.delta``, is a file or table with one
        type. What exists is kept unless ``replace`` is given. Files appear when they are complete, and the rows of a
        table are replaced atomically. ``dates`` of JSON lines are ``number`` (default) or ``iso``; ``null`` is the text
        of nulls in CSV. Memory does not grow with the graph.
        """
        from omnigraph.engine.export.files import export_files
        from omnigraph.engine.export.formats import ExportSettings

        options = self.storage_options if target_options is None else target_options
        settings = ExportSettings.of(format, dates, null, replace=replace, options=options)
        return export_files(self._part(branch, at), target, types, settings, progress)

    @logged("create_branch")
    def create_branch(
        self, name: str, parent: str = MAIN, *, at: str | datetime | None = None, actor: Caller = None
    ) -> BranchInfo:
        """Create a branch at the head of another one, or at any moment (``at``). No data is copied."""
        from omnigraph.engine.branches import create_branch

        return create_branch(self._context, name, parent, at, self._author(actor))

    def branches(self, *, against: str | None = None, actor: Caller = None) -> BranchList:
        """All branches with their heads, ``main`` first.

        ``against`` is a branch to compare them with: ``ahead`` and ``behind`` count the commits that only one has.
        Branches that cannot be read are in ``damaged`` of the list, with the file and the reason.
        """
        from omnigraph.engine.branches import list_branches

        return list_branches(self._manifests, against)

    def delete_branch_preview(self, name: str, *, actor: Caller = None) -> BranchLoss:
        """The commits that no other branch has, which a deletion would make unreachable."""
        from omnigraph.engine.branches import branch_loss

        return branch_loss(self._manifests, name)

    @logged("delete_branch")
    def delete_branch(self, name: str, *, actor: Caller = None) -> None:
        """Delete a branch, even one whose ref is damaged. Its commits stay readable until cleanup."""
        from omnigraph.manifest import naming

        naming.delete_branch(self._manifests, name)

    @logged("rename_branch")
    def rename_branch(self, name: str, new_name: str, *, actor: Caller = None) -> None:
        """Rename a branch."""
        from omnigraph.manifest import naming

        naming.rename_branch(self._manifests, name, new_name, self._context.ids.new_id())

    def commits(
        self, /, branch: str = MAIN, *, limit: int | None = None, by: Caller = None, **filters: str
    ) -> Iterator[GraphCommit]:
        """Commits of a branch, newest first. All filters, such as ``actor="ann"`` or ``kind="load"``, must hold."""
        from omnigraph.engine.history.commits import list_commits
        from omnigraph.history.commits import shown_commit

        is_restricted = self._permit.authorizer is not None and self._part(branch).visible is not None
        return list_commits(self._manifests, branch, limit, filters, shown_commit if is_restricted else None)

    def commit(self, commit_id: str, *, actor: Caller = None) -> GraphCommit:
        """A commit on any branch, by its id, its first characters, or a form such as ``"main~2"``."""
        return self._shown_commit(self._moments.commit(commit_id))

    @logged("diff")
    def diff(
        self,
        before: Moment,
        after: Moment | None = None,
        *,
        kind: Names = None,
        type: Names = None,
        op: Names = None,
        actor: Caller = None,
    ) -> Diff:
        """The changes from one moment to another (``main``): branches, commits, times on ``main``, or snapshots.

        ``"main~2..main"`` names both in one text. The two need not be related. ``kind`` (``node``, ``edge``), ``type``
        and ``op`` (``insert``, ``update``, ``delete``) take one name or several. The cost follows the size of the
        change, not of the tables.
        """
        from omnigraph.engine.history.diff import compare

        first, second = resolve_range(self._moments, before, after)
        ends = [replace(end.whole(), permit=self._permit) for end in (first, second)]
        return compare(ends[0], ends[1], _read_filter(kind, type, op))

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
        actor: Caller = None,
    ) -> ChangePage:
        """One page of the change feed of a branch: each commit against its first parent, oldest first.

        ``since`` is the cursor of an earlier page, ``"now"``, ``"beginning"``, or ``"after:01..."`` with a commit
        (``"after:HEAD~3"``).
        The same cursor returns the same changes again; store the new one after processing the page.
        ``ChangeFeedGap`` means that history was cleaned up: start again from a ``change_baseline``.
        """
        return self._feed(branch, _read_filter(kind, type, op)).poll(since, limit)

    def change_baseline(
        self,
        branch: str = MAIN,
        *,
        kind: Names = None,
        type: Names = None,
        op: Names = None,
        actor: Caller = None,
    ) -> ChangeBaseline:
        """All entities of a branch, with the cursor from which ``changes`` continues. ``op`` applies to the cursor."""
        return self._feed(branch, _read_filter(kind, type, op)).baseline()

    def feed(
        self,
        branch: str = MAIN,
        *,
        kind: Names = None,
        type: Names = None,
        op: Names = None,
        actor: Caller = None,
    ) -> Feed:
        """The change feed of a branch up to its head, for callers that page through it themselves."""
        return self._feed(branch, _read_filter(kind, type, op))

    def _feed(self, branch: str, chosen: ChangeFilter) -> Feed:
        from omnigraph.engine.history.feed import open_feed

        return open_feed(self._moments, branch, chosen, self._compared, self._permit)

    def commit_changes(
        self,
        commit_id: str,
        *,
        page_token: str | None = None,
        limit: int = FEED_CHANGES_PER_PAGE,
        kind: Names = None,
        type: Names = None,
        op: Names = None,
        actor: Caller = None,
    ) -> CommitChanges:
        """One page of the changes of a commit against its first parent."""
        from omnigraph.engine.history.commit_changes import Comparer, changes_of

        commit = self._moments.commit(commit_id)
        chosen = _read_filter(kind, type, op)
        comparer = Comparer(self._manifests, commit.branch, chosen, self._compared, self._permit)
        return changes_of(comparer, commit, page_token, limit)

    @logged("mutate")
    def mutate(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str = MAIN,
        actor: Caller = None,
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

        options = WriteOptions(self._author(actor), message, idempotency_key, provenance or {}, if_commit)
        context = self._context.profiled() if stats else self._context
        guard = self._guard(branch)
        mutation = Mutation(self._compiler, text, params, name, lambda: self.embedder, self._derived, guard)
        return self._committed(mutate(context, mutation, branch, options))

    def retry(
        self,
        work: Callable[[Graph], Answer],
        *,
        attempts: int = ATTEMPTS,
        on: ErrorTypes = (),
        wait: float = WAIT_SECONDS,
        wait_max: float = WAIT_SECONDS_MAX,
        sleep: Callable[[float], object] | None = None,
        random: Callable[[], float] | None = None,
    ) -> Answer:
        """Call ``work(graph)``, and again while it fails with a retryable error such as ``ReadSetConflict``.

        ``on`` adds errors to retry, such as ``PreconditionFailed`` for work that reads the head itself. The wait
        before attempt n + 1 is random, up to ``wait * 2 ** (n - 1)`` and at most ``wait_max`` seconds. The error of the
        last attempt is raised, with the number of ``attempts``. ``sleep`` and ``random`` replace those of Python.
        """
        from omnigraph.engine.retry import refuse_coroutines, repeat

        refuse_coroutines(work, "retry")
        return repeat(lambda: work(self), Retries(attempts, wait, wait_max, on, random), sleep)

    @logged("mutate_preview")
    def mutate_preview(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str = MAIN,
        actor: Caller = None,
    ) -> WritePreview:
        """The counts per table that ``mutate`` would commit. Statements run, texts are embedded, nothing is written."""
        from omnigraph.engine.load.mutations import Mutation, preview

        guard = self._guard(branch)
        mutation = Mutation(self._compiler, text, params, name, lambda: self.embedder, self._derived, guard)
        return preview(self._context, mutation, branch)

    @takes(LoadOptions, unless="mapping")
    def load(self, data: Loadable, options: LoadOptions) -> LoadResult:
        """Load entities of any number of types as one atomic commit. The input may be larger than memory.

        ``data`` is a file (path, pattern, directory, object-store address or open file), a table in memory, records,
        or any of these by type; with a ``mapping``, sources by name. ``LoadOptions`` describes the options; ``base``
        forks a missing branch first.
        """
        from omnigraph.engine.load.choice import is_for_spark
        from omnigraph.engine.load.embedded import run_load

        options = self._signed(options)
        if is_for_spark(data, options, self.storage_options):
            return plugs.cluster().load(self, data, options)
        return self._committed(run_load(self._loading(options), data, options))

    @takes(LoadOptions, unless="mapping")
    def load_preview(self, data: Loadable, options: LoadOptions) -> WritePreview:
        """The counts per table that ``load`` would commit. The whole input is read, checked and embedded."""
        from omnigraph.engine.load.choice import is_for_spark
        from omnigraph.engine.load.embedded import run_preview

        options = self._signed(options)
        if is_for_spark(data, options, self.storage_options):
            return plugs.cluster().load_preview(self, data, options)
        return run_preview(self._loading(options), data, options)

    def _loading(self, options: LoadOptions) -> Loading:
        """Loads of this process, with the data rules of the actor."""
        from omnigraph.engine.load.embedded import Loading

        return Loading(self._context, self.uri, lambda: self.embedder, self._guard(options.branch))

    @takes(LoadOptions, needs_data=False)
    def load_spark(self, sources: Any, options: LoadOptions) -> LoadResult:
        """Load on Spark as one atomic commit: files of JSON lines, or with ``mapping`` tables and frames by name."""
        return plugs.cluster().load(self, sources, self._signed(options))

    @takes(LoadOptions, needs_data=False)
    def load_spark_preview(self, sources: Any, options: LoadOptions) -> WritePreview:
        """The counts per table that ``load_spark`` would commit."""
        return plugs.cluster().load_preview(self, sources, self._signed(options))

    @takes(DocumentOptions)
    def load_documents(self, data: Any, options: DocumentOptions) -> DocumentsResult:
        """Divide texts into chunks, embed them, and link them to documents and to the entities that they mention.

        ``data`` is a directory of text files, files, an object-store address, a table with ``id`` and ``text``, or
        records. Documents whose content has not changed are skipped, so a run can be repeated and continues one that
        was interrupted. ``DocumentOptions`` describes the options.
        """
        from omnigraph.engine.documents.run import load_documents

        signed = replace(options, actor=self._author(options.actor))
        return load_documents(self._context, data, signed, lambda: self.embedder)

    @takes(DocumentOptions)
    def load_documents_preview(self, data: Any, options: DocumentOptions) -> DocumentsPreview:
        """The counts of ``load_documents``. Documents are read and divided; nothing is embedded or written."""
        from omnigraph.engine.documents.run import preview

        return preview(self._context, data, options)

    def earlier_load(self, options: LoadOptions) -> LoadResult | None:
        """The result of an earlier load with the idempotency key of these options; reads no input."""
        from omnigraph.engine.load import run

        earlier = run.earlier_load(self._context, self._signed(options))
        return None if earlier is None else self._shown(earlier)

    @logged("load")
    def load_with(self, loader: Loader, options: LoadOptions) -> LoadResult:
        """Run a loader as one atomic commit. A branch that it creates (``base``) is deleted again if it fails."""
        from omnigraph.engine.load import run

        return run.load(self._context, loader, self._signed(options), lambda: self.embedder)

    @logged("load_preview")
    def preview_with(self, loader: Loader, options: LoadOptions) -> WritePreview:
        """The counts per table that a loader would commit. A branch it would create is taken to be like ``base``."""
        from omnigraph.engine.load import run

        return run.preview(self._context, loader, self._signed(options), lambda: self.embedder)

    @logged("commit_versions")
    def commit_versions(
        self,
        versions: Mapping[str, OfferedVersion],
        *,
        declare: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
        allow_drop: bool = False,
        branch: str = MAIN,
        actor: Caller = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
    ) -> GraphCommit:
        """Publish table versions that another program staged with Lance, by table key, as one atomic commit.

        Each must be a detached version made from the current one. The difference passes the checks of any write.
        Columns that a version adds become properties. ``declare`` holds declarations of new types by table key, and
        ``drop`` the table keys of types that go, with their entities only if ``allow_drop``.
        """
        from omnigraph.engine.adopt.run import commit_versions
        from omnigraph.write.schema.edits import SchemaEdits

        options = WriteOptions(self._author(actor), message, idempotency_key, provenance or {}, if_commit)
        edits = SchemaEdits(declare or {}, frozenset(drop), allow_drop)
        return commit_versions(self._context, versions, edits, branch, options)

    def external_types(
        self,
        branch: str | None = None,
        *,
        at: str | datetime | None = None,
        check: bool = False,
        actor: Caller = None,
    ) -> ExternalTypeList:
        """The external types of a branch, a commit or a time, with the versions of their tables that it pins.

        ``check`` compares the sealed files with those that are there, without reading them.
        """
        from omnigraph.engine.external.run import external_types

        return external_types(self._at(branch, at), check=check)

    @logged("refresh_external")
    def refresh_external(
        self,
        type_name: str | Sequence[str] | None = None,
        *,
        branch: str = MAIN,
        actor: Caller = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> RefreshResult:
        """Pin the newest versions of the tables of external types, of one or some or all, as one atomic commit.

        The rows are read and checked like those of a load: types, keys, constraints, and the ends of edges. Without a
        newer version there is no commit. ``progress`` is called with the number of rows read.
        """
        from omnigraph.engine.external.run import refresh_external

        options = WriteOptions(self._author(actor), message, idempotency_key, provenance or {}, if_commit)
        return refresh_external(self._context, branch, type_name, options, progress)

    @logged("refresh_external_preview")
    def refresh_external_preview(
        self, type_name: str | Sequence[str] | None = None, *, branch: str = MAIN, actor: Caller = None
    ) -> WritePreview:
        """The counts per table that ``refresh_external`` would commit. The tables are read and checked."""
        from omnigraph.engine.external.run import refresh_preview

        return refresh_preview(self._context, branch, type_name)

    @logged("mirror")
    def mirror(
        self,
        target: str | os.PathLike[str] | None = None,
        branch: str = MAIN,
        *,
        in_place: bool = False,
        storage_options: Mapping[str, str] | None = None,
        actor: Caller = None,
    ) -> MirrorResult:
        """Make or refresh ordinary Lance datasets, one for each type, that show the head of a branch.

        Data is referred to, not copied. Cleanup keeps the files that the newest refresh needs. With ``in_place`` the
        datasets are the tables of the graph: their newest ordinary version becomes the head of the branch.
        """
        from omnigraph.engine.mirror.places import refresh_at

        return refresh_at(self._manifests, target, branch, storage_options, in_place=in_place)

    def mirrors(self, *, actor: Caller = None) -> list[Mirror]:
        """The mirrors of this graph, with the branch and the commit that each shows."""
        from omnigraph.engine.mirror.run import registered

        return registered(self._manifests)

    def remove_mirror(
        self,
        target: str | os.PathLike[str] | None = None,
        *,
        in_place: bool = False,
        storage_options: Mapping[str, str] | None = None,
        actor: Caller = None,
    ) -> None:
        """Delete the datasets of a mirror, or the ordinary versions of one in place; cleanup keeps no files for it."""
        from omnigraph.engine.mirror.places import remove_at

        remove_at(self._manifests, target, storage_options, in_place=in_place)

    def plan_schema(
        self,
        schema: str | os.PathLike[str],
        *,
        branch: str = MAIN,
        allow_data_loss: bool = False,
        actor: Caller = None,
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
        actor: Caller = None,
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

        options = WriteOptions(self._author(actor), message, idempotency_key, provenance or {}, if_commit)
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
        actor: Caller = None,
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

        options = WriteOptions(self._author(actor), message, idempotency_key, provenance or {}, if_commit)
        names = (source, into or MAIN) if isinstance(source, str) else (source.source, into or source.target)
        guard, where = self._merge_guard(Need(Action.BRANCH_MERGE, *names)), run.Engine(engine, spark)
        done = run.merge_or_resume(self._context, source, into, policy, resolutions, where, options, guard)
        return done if done.commit is None else replace(done, commit=self._shown_commit(done.commit, done.target))

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
        actor: Caller = None,
    ) -> MergePreview:
        """The counts and conflicts of ``merge``. Nothing is written."""
        from omnigraph.engine.merge import run

        guard = self._merge_guard(Need(Action.READ, source))
        found = run.preview(self._context, source, into, policy, resolutions, run.Engine(engine, spark), guard)
        return found.drawn_from(partial(self.diff, found.base or found.target_head, found.source_head))

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
        by: Caller = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
    ) -> RevertResult:
        """Undo the changes of some commits as one atomic commit on top of the head; later changes by others stay.

        ``commits`` is a commit (``"HEAD"``) or a range ``"OLDER..NEWER"`` (without the older one). ``actor``, ``run``
        (the key of that name in the provenance), ``since`` and ``until`` select commits by author and time; all must
        hold. ``by`` is the actor of the revert. A revert is decided like a merge: the source is the state before the
        commits, the target is the head, and ``policy`` and ``resolutions`` settle conflicts as there.
        """
        from omnigraph.engine.revert import run as reverts

        options = WriteOptions(self._author(by), message, idempotency_key, provenance or {}, if_commit)
        undone = reverts.Undone(commits, actor, run, since, until)
        guard = self._merge_guard(Need(Action.CHANGE, branch))
        done = reverts.revert(self._context, undone, branch, policy, resolutions, options, guard)
        return done if done.commit is None else replace(done, commit=self._shown_commit(done.commit, done.branch))

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
        by: Caller = None,
    ) -> RevertPreview:
        """The counts and conflicts of ``revert``. Nothing is written."""
        from omnigraph.engine.revert import run as reverts

        undone = reverts.Undone(commits, actor, run, since, until)
        guard = self._merge_guard(Need(Action.READ, branch))
        return reverts.preview(self._context, undone, branch, policy, resolutions, guard)

    @logged("resolve")
    def resolve(
        self,
        type_name: str,
        rules: ResolveRules | Mapping[str, Any] | None = None,
        *,
        pairs: Any = None,
        policy: Policy = None,
        branch: str = MAIN,
        base: str | None = None,
        engine: str = "auto",
        spark: Any = None,
        partitions: int | None = None,
        actor: Caller = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
    ) -> ResolveResult:
        """Entity resolution: fold nodes of a type that are the same, and move their edges, as one atomic commit.

        ``rules`` name the properties that candidates share (``blocks``), how pairs are scored (``compare``), and the
        ``threshold`` of a match: ``{"blocks": ["email"], "compare": {"name": "jaro_winkler"}}``. Instead of rules,
        ``pairs`` are given: a table with the ids ``left`` and ``right``. Connected matches become one node, whose
        values are chosen by the merge policies of the schema and of ``policy``. ``base`` forks a missing branch first.
        ``engine`` compares in this process (``embedded``), on Spark (``spark``), or by size (``auto``). A second run
        finds nothing, and ``revert`` of the commit undoes all of it.
        """
        from omnigraph.engine.resolve import run
        from omnigraph.engine.resolve.choice import Engine

        options = WriteOptions(self._author(actor), message, idempotency_key, provenance or {}, if_commit)
        where = Engine(engine, spark, partitions)
        request = run.Request(type_name, rules, pairs, policy, branch, base, where, lambda: self.embedder)
        return run.resolve(self._context, request, options)

    @logged("resolve_preview")
    def resolve_preview(
        self,
        type_name: str,
        rules: ResolveRules | Mapping[str, Any] | None = None,
        *,
        pairs: Any = None,
        policy: Policy = None,
        branch: str = MAIN,
        base: str | None = None,
        engine: str = "auto",
        spark: Any = None,
        partitions: int | None = None,
        actor: Caller = None,
    ) -> ResolvePreview:
        """The clusters, the scores of pairs, and the changes that ``resolve`` would make. Nothing is written."""
        from omnigraph.engine.resolve import run
        from omnigraph.engine.resolve.choice import Engine

        where = Engine(engine, spark, partitions)
        request = run.Request(type_name, rules, pairs, policy, branch, base, where, lambda: self.embedder)
        return run.preview(self._context, request)

    @logged("verify")
    def verify(
        self, *, deep: bool = True, progress: Callable[[int], None] | None = None, actor: Caller = None
    ) -> VerifyReport:
        """Check that every file of every branch's history exists with its recorded content.

        A deep check also validates the entities of every head: unique ids, and no edge without its nodes. Without
        ``deep`` only file sizes are compared, and no file is read.
        """
        from omnigraph.engine.upkeep.verify import verify

        return verify(self._manifests, deep=deep, progress=progress)

    @logged("doctor")
    def doctor(self, branch: str = MAIN, *, actor: Caller = None) -> list[Finding]:
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
        actor: Caller = None,
        progress: Callable[[int], None] | None = None,
    ) -> OptimizeResult:
        """Compact the files of a branch's tables and complete their indexes. Query results stay the same.

        Readers and writers continue. Tables that they change meanwhile are left for the next run, with the reason.
        ``engine`` rewrites large tables in this process (``embedded``), on Spark (``spark``), or by size (``auto``).
        ``progress`` is called with the number of finished tables.
        """
        from omnigraph.engine.upkeep.optimize import maintain, workers_for
        from omnigraph.write.upkeep.optimize import OptimizeSettings

        settings = OptimizeSettings(compact, index, workers_for(engine, spark, self._store))
        return maintain(
            self._context, branch, types, WriteOptions(self._author(actor)), progress, settings, self._derived
        )

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
        actor: Caller = None,
    ) -> CleanupResult:
        """Collect garbage: delete unreferenced files, and expire old commits if a rule is given.

        The newest ``keep`` commits of every branch stay readable, and so do commits younger than ``older_than``, such
        as ``"7d"``; without both no commit expires. Expired commits and unreferenced files are deleted by a run at
        least ``grace`` later (``"24h"``), so readers and writers that began before can finish. A smaller ``grace`` is
        safe only if no reader or writer runs longer than that. ``engine`` is ``embedded``, ``spark`` or ``auto``.
        """
        from omnigraph.engine.upkeep.cleanup import clean

        return clean(self._context, keep, older_than, grace, engine, spark, progress, dry_run=dry_run)

    @logged("copy")
    def copy(
        self,
        target: str | os.PathLike[str],
        *,
        branches: str | Sequence[str] | None = None,
        history: bool = False,
        target_options: Mapping[str, str] | None = None,
        actor: Caller = None,
        deep: bool = True,
        progress: Callable[[int], None] | None = None,
    ) -> CopyResult:
        """Copy the graph to an empty place, a directory or a prefix of a bucket, while others read and write.

        Without ``history`` the heads of ``branches`` (``main``; ``"*"`` for all) become a fresh graph: the first one
        is its ``main``, and each branch has one commit, whose provenance names the source. With ``history`` the copy
        has every branch, commit and version, and the same graph id. Without ``deep`` the final verification compares
        sizes only. ``target_options`` are the storage options of the target; default: those of this graph.
        """
        from omnigraph.engine.copies import run

        store = run.place(self._store, target, target_options)
        return run.copy(
            self._context, store, branches, self._author(actor), history=history, deep=deep, progress=progress
        )

    @logged("backup")
    def backup(
        self,
        target: str | os.PathLike[str],
        *,
        target_options: Mapping[str, str] | None = None,
        deep: bool = True,
        progress: Callable[[int], None] | None = None,
        actor: Caller = None,
    ) -> CopyResult:
        """Copy the whole graph to an empty place, or bring an earlier backup up to date, while others write.

        Only files that the target lacks are copied. A reader of the target finds each branch as it was before or after
        the run. A run that was killed is continued by the next one. The backup is verified at the end.
        """
        from omnigraph.engine.copies import run

        store = run.place(self._store, target, target_options)
        return run.backup(self._manifests, store, deep=deep, progress=progress)


def _stage_wave(capture: Capture, shares: Sequence[Share]) -> list[PublishPlan]:
    from omnigraph.write.attempt import stage_wave

    return stage_wave(capture, shares)


def _read_filter(kinds: Names, types: Names, ops: Names) -> ChangeFilter:
    from omnigraph.history.changes import read_filter

    return read_filter(kinds, types, ops)


@checked
def open_graph(
    uri: Address,
    *,
    create: Any = None,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
    embedder: Embedder | None = None,
    tuning: Tuning | None = None,
    policy: str | os.PathLike[str] | None = None,
    authorizer: Authorizer | None = None,
    actor: Caller = None,
) -> Graph:
    """Open a graph. Object stores take ``storage_options``, or for S3 the usual ``AWS_*`` variables.

    A graph that does not exist is created from ``create``, a schema or data as ``omnigraph.create`` takes it. If
    several processes do this concurrently, one creates the graph and the others open it.

    The ``embedder`` turns texts of ``nearest`` and of ``@embed`` properties into vectors, for example
    ``omnigraph.embed.from_environment()``. ``tuning`` changes thresholds and sizes of the engine.

    With a ``policy``, the file of a bundle, or an ``authorizer`` of your own, every call must be allowed to its actor.
    ``actor`` is that of all calls, as in ``graph.acting_as``.
    """
    store = Store(graph_place(uri), storage_options, durability, tuning or Tuning())
    permit = permit_of(authorizer, policy, actor)
    if create is None:
        return Graph(store, embedder=embedder, permit=permit)
    from omnigraph.engine.schema.creation import open_or_create

    clock = SystemClock()
    return open_or_create(
        store,
        create,
        clock,
        UlidSource(clock),
        lambda stamp: Graph(store, embedder=embedder, permit=permit, stamp=stamp),
    )


@checked
def repair(
    uri: Address,
    *,
    apply: bool = False,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
) -> RepairReport:
    """Plan the repair of damaged files, and execute it with ``apply``. Works on a graph that cannot be opened.

    Damaged files are moved below ``aside/``, never deleted. No other process may write meanwhile.
    """
    from omnigraph.engine.upkeep.repair import repair as repair_store

    return repair_store(Store(graph_place(uri), storage_options, durability), UlidSource(), apply=apply)


@checked
def restore(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    replace: bool = False,
    storage_options: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
    deep: bool = True,
    progress: Callable[[int], None] | None = None,
) -> CopyResult:
    """Copy a backup to a place without a graph, and verify the result.

    With ``replace`` the graph at the target is deleted first; no other process may use it meanwhile.
    ``target_options`` are the storage options of the target; default: ``storage_options``, those of the backup.
    """
    from omnigraph.engine.copies import run

    store = Store(source, storage_options, durability)
    place = run.place(store, target, target_options)
    return run.restore(store, place, replace=replace, deep=deep, progress=progress)


@checked
def create(
    uri: Address,
    schema: Any,
    *,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
    actor: Caller = None,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    embedder: Embedder | None = None,
    tuning: Tuning | None = None,
    policy: str | os.PathLike[str] | None = None,
    authorizer: Authorizer | None = None,
) -> Graph:
    """Create a graph, and open it. Existing graphs are never overwritten.

    ``schema`` is a schema text, a ``pathlib.Path`` of a ``.pg`` file or an inferred schema; the graph is then empty.
    Or it is data: files, frames by type (``{"Person": people, "Knows": knows}``), a list of them, or a NetworkX graph.
    Then the schema is inferred, as ``infer_schema`` does, and the rows are loaded. If that fails, no graph is left.
    ``actor`` signs the first commits. ``policy`` and ``authorizer`` are those of ``open``; with one of them the graph
    acts as the actor.
    """
    from omnigraph.engine.schema.creation import create_with

    store = Store(graph_place(uri), storage_options, durability, tuning or Tuning())
    clock = clock or SystemClock()
    ids = ids or UlidSource(clock)
    permit = permit_of(authorizer, policy, actor).of_policy()
    return create_with(
        store,
        schema,
        clock,
        ids,
        actor,
        lambda stamp: Graph(store, clock=clock, ids=ids, embedder=embedder, permit=permit, stamp=stamp),
    )


@checked
def infer_schema(data: Any, *, storage_options: Mapping[str, str] | None = None) -> InferredSchema:
    """Guess a schema from data: files, frames by type, a list of them, or a NetworkX graph. Nothing is written.

    The text states every guess in a comment. ``storage_options`` are those of the object store that holds files.
    """
    from omnigraph.ingest.infer.run import infer

    return infer(data, storage_options or {})


@checked
def import_data(
    uri: Address,
    data: Any,
    *,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
    embedder: Embedder | None = None,
    actor: Caller = None,
    progress: Callable[[int], None] | None = None,
    policy: str | os.PathLike[str] | None = None,
    authorizer: Authorizer | None = None,
) -> ImportResult[Graph]:
    """Load data into a graph, and create it from the inferred schema if it does not exist; all or nothing.

    ``data`` is what ``infer_schema`` takes, or its result. An existing graph keeps its schema; if the data does not fit
    it, the differences are raised as ``UsageError``. The result holds the graph, the inferred schema and the counts.
    ``policy`` and ``authorizer`` are those of ``open``.
    """
    from omnigraph.engine.schema.importing import import_into

    store = Store(graph_place(uri), storage_options, durability)
    permit = permit_of(authorizer, policy, actor).of_policy()
    return import_into(store, data, actor, progress, lambda: Graph(store, embedder=embedder, permit=permit))
