"""The reading verbs of ``Graph``: snapshots, queries, explanations, exports."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from omnigraph.engine.engine_choice import BY_SPARK, check_engine
from omnigraph.engine.extensions import SPARK, extension
from omnigraph.engine.history.moments import moment_us
from omnigraph.engine.history_verbs import History
from omnigraph.engine.query.choice import is_query_for_spark
from omnigraph.engine.query.memory import query_memory
from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.query.run import bound_query, run_query
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.telemetry import told
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.exec.budget import Budget
from omnigraph.exec.graph_view import GraphView
from omnigraph.history.commits import first_parents
from omnigraph.manifest.commit_log import newest_first
from omnigraph.manifest.layout import MAIN
from omnigraph.query.ir import QueryIR
from omnigraph.schema.catalog import Catalog

if TYPE_CHECKING:
    from omnigraph.engine.blobs import Blob
    from omnigraph.engine.query.explanation import Explanation
    from omnigraph.exec.sql import SqlParams

Answer = TypeVar("Answer")


class Reading(History):
    """Questions to a graph."""

    def _repr_html_(self) -> str:
        return f"<p><b>Graph</b> {html.escape(self.uri)}</p>{self.snapshot()._repr_html_()}"

    def snapshot(self, branch: str | None = None, *, at: str | datetime | None = None) -> Snapshot:
        """The graph at the head of a branch, at a commit (``at="01..."``), or at a time on a branch."""
        if at is None:
            return self._snapshot(self._head(branch or MAIN))
        moment = moment_us(at)
        if moment is None:
            if branch is not None:
                raise UsageError("a commit is named without a branch", hint="leave out the branch")
            return self._snapshot(self._manifests.at(self.commit(str(at))))
        head = self._head(branch or MAIN)
        for commit in first_parents(newest_first(self._store, head), head.head):
            if commit.created_at_us <= moment:
                return self._snapshot(self._manifests.at(commit))
        raise NotFoundError(f"branch {branch or MAIN} has no commit as old as {at}", at=str(at))

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
        profile: bool = False,
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
        profile: bool = False,
    ) -> QueryResult | Any:
        """Run a read over the head of a branch, a commit or a time; of several queries in the text the named one.

        ``timeout`` (seconds) and ``memory_limit`` (bytes; else ``OMNIGRAPH_QUERY_MEMORY``, else half of the machine's
        memory) raise ``LimitExceeded`` when the query needs more;
        setting ``cancel`` from another thread raises ``QueryCancelled`` here.

        With ``engine="spark"`` the answer is a DataFrame of the session given, or of one of this machine, and its jobs
        belong to whoever reads it. ``"auto"`` runs very large queries on Spark and gives the ordinary result.
        """
        if check_engine(engine) == BY_SPARK and (timeout, memory_limit, cancel, profile) != (None, None, None, False):
            raise UsageError(
                "a query with engine='spark' takes no limits: it runs when its DataFrame is read",
                hint="use engine='auto', or limit the jobs in the session",
            )
        if engine == BY_SPARK:
            runner = partial(extension(SPARK).query_frame, spark=spark)
            return self.query_with(runner, text, params, name=name, branch=branch, at=at)
        budget = Budget(timeout, query_memory(memory_limit), cancel or threading.Event())
        shown = None if at is not None else branch or MAIN

        def run(query: QueryIR, view: GraphView) -> QueryResult:
            if is_query_for_spark(engine, query, view.state):
                rows = extension(SPARK).query_rows(query, view, budget, spark)
                return QueryResult(query.name, rows, shown, view.state.head)
            return run_query(query, view, budget, branch=shown, profile=profile)

        return self.query_with(run, text, params, name=name, branch=branch, at=at)

    @told("query")
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
        """Hand a read with all its values, and the snapshot it is about, to whoever runs it."""
        snapshot = self.snapshot(branch, at=at)
        plan = self._compiler.compile(text, name, snapshot.state.schema_digest, snapshot.catalog)
        now_ms = self._clock.now_us() // 1000
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
        """The rows of one SQL select over the tables of a branch, a commit or a time, which are named like the types.

        Where a node and an edge type have one name, the tables are ``node_Name`` and ``edge_Name``. ``params`` are
        values for ``?``, or by name for ``$name``. Nothing but these tables can be read, and nothing written.
        """
        from omnigraph.engine.query.sql import run

        snapshot = self.snapshot(branch, at=at)
        with snapshot.reading():
            rows = run(snapshot, text, params, timeout, query_memory(memory_limit))
        return QueryResult("sql", rows, None if at is not None else branch or MAIN, snapshot.commit_id)

    def spark_views(
        self, branch: str | None = None, *, at: str | datetime | None = None, prefix: str = "", spark: Any = None
    ) -> dict[str, str]:
        """The tables of one commit as temporary views for Spark SQL: their names, and the table that each shows.

        They are named as in ``sql``, after the prefix. ``spark`` is a session; without it ours is used.
        """
        made: dict[str, str] = extension(SPARK).views(self, branch, at=at, prefix=prefix, spark=spark)
        return made

    def explain(
        self, text: str, *, name: str | None = None, branch: str | None = None, at: str | datetime | None = None
    ) -> Explanation:
        """The plan of a query or mutation, with the size and indexes of its tables; nothing is run."""
        from omnigraph.engine.query.explanation import explained

        snapshot = self.snapshot(branch, at=at)
        plan = self._compiler.compile(text, name, snapshot.state.schema_digest, snapshot.catalog)
        with snapshot.reading():
            return explained(plan, self._view(snapshot))

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
        """The value of a Blob property of one node or edge (``kind``); null is not found."""
        from omnigraph.engine import blobs

        return blobs.read_blob(self.snapshot(branch, at=at), kind, type_name, id, property)

    def catalog(self, branch: str = MAIN) -> Catalog:
        """The types of a branch."""
        return self._manifests.catalog(self._head(branch).schema_digest)

    def schema_text(self, branch: str = MAIN) -> str:
        """The schema of a branch as it was written."""
        return self.snapshot(branch).schema_text()

    def export(
        self, branch: str | None = None, *, at: str | datetime | None = None, types: list[str] | None = None
    ) -> Iterator[bytes]:
        """JSON lines in the form that ``load`` reads."""
        return self.snapshot(branch, at=at).export(types)
