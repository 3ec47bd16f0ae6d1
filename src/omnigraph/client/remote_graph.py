"""``RemoteGraph``: the verbs of ``Graph`` over HTTP, with its results and its errors."""

from __future__ import annotations

import html
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from omnigraph.client import forms
from omnigraph.client.addresses import segment
from omnigraph.client.errors import unsupported
from omnigraph.client.maintenance import read_cleanup, read_optimize, read_verify, run_maintenance
from omnigraph.client.moments import RemoteMoments
from omnigraph.client.remote_baseline import RemoteBaseline
from omnigraph.client.remote_blob import RemoteBlob, find_blob
from omnigraph.client.remote_diff import RemoteDiff, find_diff
from omnigraph.client.remote_snapshot import RemoteSnapshot
from omnigraph.client.streams import ACCEPT_ARROW, COMMIT_HEADER, arrow_table, wire_params
from omnigraph.client.texts import catalog_of, plan_between, plan_to, query_name, read_explanation
from omnigraph.client.transport import Query, Request, Transport
from omnigraph.client.uploads import REQUEST_BYTES_MAX, refuse_local_options, send
from omnigraph.client.writes import WriteHeaders
from omnigraph.core.actors import Caller
from omnigraph.core.calls.arguments import checked_methods
from omnigraph.core.calls.retries import ATTEMPTS, WAIT_SECONDS, WAIT_SECONDS_MAX, ErrorTypes, Retries
from omnigraph.core.commit import GraphCommit
from omnigraph.core.ids import is_ulid
from omnigraph.core.limits import FEED_CHANGES_PER_PAGE
from omnigraph.core.lru import Lru
from omnigraph.engine.blobs import read_selector
from omnigraph.engine.durations import Duration, duration_us
from omnigraph.engine.history.commit_changes import CommitChanges
from omnigraph.engine.history.commit_filters import passes
from omnigraph.engine.history.feed import AFTER, BEGINNING, NOW, ChangePage
from omnigraph.engine.load_options import LoadOptions, takes
from omnigraph.engine.merge.result import MergePreview, MergeResult, Policy
from omnigraph.engine.query.explanation import Explanation
from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.results import BranchInfo, BranchList, BranchLoss, LoadResult, MutationResult, VerifyReport
from omnigraph.engine.retry import refuse_coroutines, repeat
from omnigraph.engine.revert.result import RevertPreview, RevertResult
from omnigraph.engine.schema.result import SchemaResult
from omnigraph.engine.schema.run import schema_source
from omnigraph.engine.schema.text import SchemaText
from omnigraph.engine.upkeep.cleanup_result import CleanupResult
from omnigraph.engine.upkeep.optimize_result import OptimizeResult
from omnigraph.errors import LimitExceeded
from omnigraph.exec.shape.result_rows import table_rows
from omnigraph.history.changes import Names, read_filter
from omnigraph.history.conflicts import Resolution, read_resolutions
from omnigraph.history.cursors import is_within_commit
from omnigraph.history.moments import RANGE
from omnigraph.lang.declarations.order import declared_order
from omnigraph.manifest.layout import MAIN
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog, type_named
from omnigraph.schema.migration import MigrationPlan
from omnigraph.wire.merges import merge_preview_from_json, resolution_json

if TYPE_CHECKING:
    from omnigraph.exec.sql import SqlParams

Answer = TypeVar("Answer")

_LOCAL = "a server has no operation for it"


@checked_methods("graph")
class RemoteGraph:
    """A graph behind a server, with the verbs of ``omnigraph.Graph``. Open one with ``omnigraph.open("https://...")``.

    Threads may share it. The actor of every call is that of the token. A verb that no server has raises
    ``RemoteUnsupported``.
    """

    def __init__(self, transport: Transport, *, request_bytes_max: int = REQUEST_BYTES_MAX) -> None:
        self._transport = transport
        self._request_bytes_max = request_bytes_max
        self._commits: Lru[str, GraphCommit] = Lru(1_000)
        self._moments = RemoteMoments(self._commit, self.commits, lambda: [item.name for item in self.branches()])

    def __getstate__(self) -> dict[str, Any]:
        return {"transport": self._transport, "request_bytes_max": self._request_bytes_max}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc] # unpickling opens the graph again

    def __enter__(self) -> RemoteGraph:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteGraph {self.uri}>"

    def _repr_html_(self) -> str:
        # Without a request: a display must not wait for a server, nor fail with it.
        return f"<p><b>RemoteGraph</b> {html.escape(self.uri)}</p>"

    def __len__(self) -> int:
        """The number of entities at the head of ``main``."""
        return len(self.snapshot())

    def __bool__(self) -> bool:
        return True  # an empty graph is a graph

    def __getattr__(self, name: str) -> NoReturn:
        # Names of protocols must stay missing: copying and pickling ask for them.
        from omnigraph.engine.graph import Graph

        if name.startswith("_") or not hasattr(Graph, name):
            raise AttributeError(f"a remote graph has no attribute {name!r}")
        raise unsupported(name, _LOCAL, "open the graph by its own address, where its files can be read")

    def close(self) -> None:
        """Close the connections. The graph may not be used afterwards."""
        self._transport.close()

    @property
    def uri(self) -> str:
        """The address of the graph."""
        return self._transport.address.uri

    def snapshot(
        self, branch: str | None = None, *, at: str | datetime | None = None, actor: Caller = None
    ) -> RemoteSnapshot:
        """The numbers of entities at the head of a branch, or at a moment."""
        _refuse_actor("snapshot", actor)
        form = self._transport.form(Request("GET", "/catalog", self._target(branch, at)))
        types = [*form["nodes"], *form["edges"]]
        counts = {f"{item['kind']}:{item['name']}": item["count"] for item in types}

        def lines(types: list[str] | None, dates: str) -> Iterator[bytes]:
            return self.export(branch, at=at, types=types, dates=dates)

        return RemoteSnapshot(self._transport, form.get("branch"), form["graph_commit_id"], counts, lines)

    def counts(
        self, branch: str | None = None, *, at: str | datetime | None = None, actor: Caller = None
    ) -> dict[str, int]:
        """The number of entities by type. A name that two types share is ``node:Name`` and ``edge:Name``."""
        return self.snapshot(branch, at=at, actor=actor).counts_by_type()

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
    ) -> QueryResult:
        """Run a read over the head of a branch, a commit or a time. ``name`` selects one of several queries.

        The server has limits of its own; ``timeout`` (seconds) can only shorten its time. Setting ``cancel`` from
        another thread raises ``QueryCancelled`` here when the next part of the answer arrives.
        """
        _refuse_actor("query", actor)
        for option, value, default in (
            ("engine", engine, "embedded"),
            ("spark", spark, None),
            ("memory_limit", memory_limit, None),
            ("stats", stats, False),
        ):
            if value != default:
                raise unsupported(f"query({option}=...)", "the operator of the server decides it")
        body = {"query": text, "name": name, "params": wire_params(params), **self._target(branch, at)}
        return self._rows("/query", body, text, name, at, timeout, cancel)

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
        """Run one SQL ``SELECT`` over the tables of a branch, a commit or a time. Tables are named like the types."""
        _refuse_actor("sql", actor)
        if memory_limit is not None:
            raise unsupported("sql(memory_limit=...)", "the operator of the server decides it")
        given = wire_params({"params": params})
        body = {"sql": text, **(given or {}), **self._target(branch, at)}
        return self._rows("/sql", body, None, "sql", at, timeout, cancel)

    def _rows(
        self,
        path: str,
        body: Mapping[str, Any],
        text: str | None,
        name: str | None,
        at: object,
        timeout: float | None,
        cancel: threading.Event | None,
    ) -> QueryResult:
        if timeout is not None and not timeout > 0:
            raise LimitExceeded(
                f"the query took longer than {timeout} s",
                hint="narrow it, or raise the limit with timeout=",
                resource="seconds",
                limit=timeout,
            )
        request = Request(
            "POST", path, json=_present(body), headers=ACCEPT_ARROW, text=text, timeout=timeout, cancel=cancel
        )
        response, content = self._transport.fetch(request)
        shown = None if at is not None else body.get("branch") or MAIN
        if response.headers.get("content-type", "").startswith(ACCEPT_ARROW["accept"]):
            commit_id = response.headers[COMMIT_HEADER]
            return QueryResult(query_name(text, name), table_rows(arrow_table(content)), shown, commit_id)
        # A server of Omnigraph 0.10 knows no Arrow.
        form = response.json()
        rows = forms.rows_table(form.get("columns") or [], form["rows"])
        return QueryResult(form["query_name"], table_rows(rows), shown, form.get("graph_commit_id") or "")

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
        _refuse_actor("explain", actor)
        body = {"query": text, "name": name, **self._target(branch, at)}
        form = self._transport.form(Request("POST", "/explain", json=_present(body), text=text))
        return read_explanation(form, text, name, self.catalog(branch or MAIN))

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
    ) -> RemoteBlob:
        """The value of a Blob property: ``read_blob("Doc", "d1", "image")``. A null value raises ``NotFoundError``."""
        _refuse_actor("read_blob", actor)
        given, named, entity_id, property_name = read_selector(kind, type_name, id, property)
        if given is None:
            catalog = self.catalog(branch or MAIN)
            known: list[Entity] = [*catalog.nodes.values(), *catalog.edges.values()]
            entity = type_named(known, named, "type")
            given, _, named = entity.table_key.partition(":")
        query = {"entity": given, "type": named, "id": entity_id, "property": property_name}
        return find_blob(self._transport, {**query, **self._target(branch, at)})

    def catalog(self, branch: str = MAIN, *, actor: Caller = None) -> Catalog:
        """The compiled schema of a branch, with the properties in the order of its text.

        It is compiled from the text, so the stable ids of types and properties are not those of the graph.
        """
        return catalog_of(self.schema_text(branch, actor=actor))

    @property
    def schema(self) -> SchemaText:
        """The schema of ``main`` as it was written: a text that displays itself, with the properties by type."""
        text = self.schema_text()
        return SchemaText.of(text, catalog_of(text), declared_order(text))

    def schema_text(self, branch: str = MAIN, *, actor: Caller = None) -> str:
        """The schema of a branch as it was written."""
        _refuse_actor("schema_text", actor)
        query = {} if branch == MAIN else {"branch": branch}
        text: str = self._transport.form(Request("GET", "/schema", query))["schema_source"]
        return text

    def export(
        self,
        branch: str | None = None,
        *,
        at: str | datetime | None = None,
        types: list[str] | None = None,
        dates: str = "number",
        actor: Caller = None,
    ) -> Iterator[bytes]:
        """JSON lines in the form that ``load`` reads. A stream that is cut off raises ``ServerUnavailable``."""
        _refuse_actor("export", actor)
        if at is not None or dates != "number":
            option = "dates" if at is None else "at"
            raise unsupported(f"export({option}=...)", "a server exports the heads of branches, with dates as numbers")
        body = _present({"branch": branch, "type_names": types})
        return self._export(Request("POST", "/export", json=body))

    def _export(self, request: Request) -> Iterator[bytes]:
        with self._transport.stream(request) as response:
            yield from response.iter_bytes()

    def create_branch(
        self, name: str, parent: str = MAIN, *, at: str | datetime | None = None, actor: Caller = None
    ) -> BranchInfo:
        """Create a branch at the head of another one. No data is copied."""
        _refuse_actor("create_branch", actor)
        if at is not None:
            raise unsupported("create_branch(at=...)", "a server starts branches at the heads of others")
        body = {"name": name, "from": parent}
        change = f"branch {name!r} was created"
        return forms.read_branch(self._transport.form(Request("POST", "/branches", json=body, change=change)))

    def branches(self, *, against: str | None = None, actor: Caller = None) -> BranchList:
        """All branches with their heads, ``main`` first; ``against`` compares them with a branch."""
        _refuse_actor("branches", actor)
        form = self._transport.form(Request("GET", "/branches", {} if against is None else {"against": against}))
        found = [forms.read_branch(item) for item in form.get("details") or map(self._bare_branch, form["branches"])]
        return BranchList(sorted(found, key=lambda item: (item.name != MAIN, item.name)))

    def _bare_branch(self, name: str) -> dict[str, Any]:
        """The head of a branch, from a server that lists names only."""
        head = next(self.commits(name))
        return {"name": name, "head": head.id, "created_at": head.created_at_us}

    def delete_branch_preview(self, name: str, *, actor: Caller = None) -> BranchLoss:
        """The commits that no other branch has, which a deletion would make unreachable."""
        _refuse_actor("delete_branch_preview", actor)
        others = [item.name for item in self.branches() if item.name != name]
        kept = {commit.id for other in others for commit in self.commits(other)}
        own = [commit.id for commit in self.commits(name)]
        return BranchLoss(name, own[0], tuple(commit_id for commit_id in own if commit_id not in kept))

    def delete_branch(self, name: str, *, actor: Caller = None) -> None:
        """Delete a branch. Its commits stay readable until cleanup."""
        _refuse_actor("delete_branch", actor)
        path = f"/branches/{segment(name, 'branch')}"
        self._transport.form(Request("DELETE", path, change=f"branch {name!r} was deleted"))

    def commits(
        self, /, branch: str = MAIN, *, limit: int | None = None, by: Caller = None, **filters: str
    ) -> Iterator[GraphCommit]:
        """Commits of a branch, newest first. All filters, such as ``actor="ann"`` or ``kind="load"``, must hold."""
        _refuse_actor("commits", by)
        form = self._transport.form(Request("GET", "/commits", {"branch": branch}))
        found = (forms.read_commit(item) for item in form["commits"])
        chosen = [commit for commit in found if passes(commit, filters)]
        return iter(chosen if limit is None else chosen[: max(limit, 0)])

    def commit(self, commit_id: str, *, actor: Caller = None) -> GraphCommit:
        """A commit on any branch, by its id, its first characters, or a form such as ``"main~2"``."""
        _refuse_actor("commit", actor)
        return self._moments.find(commit_id)

    def _commit(self, commit_id: str) -> GraphCommit:
        found = self._commits.get(commit_id)
        if found is None:
            found = forms.read_commit(self._transport.form(Request("GET", f"/commits/{segment(commit_id, 'commit')}")))
            self._commits.put(commit_id, found)
        return found

    def diff(
        self,
        before: str | date,
        after: str | date | None = None,
        *,
        kind: Names = None,
        type: Names = None,
        op: Names = None,
        actor: Caller = None,
    ) -> RemoteDiff:
        """The changes from one moment to another (``main``): branches, commits, times on ``main``.

        ``"main~2..main"`` names both in one text. Changes are read page by page.
        """
        _refuse_actor("diff", actor)
        if after is None and isinstance(before, str) and RANGE in before:
            before, _, after = before.partition(RANGE)
        ends = [self._moments.commit_id(end or MAIN) for end in (before, after or MAIN)]
        return find_diff(self._transport, ends[0], ends[1], _filters(kind, type, op))

    def changes(
        self,
        since: str = NOW,
        *,
        limit: int = FEED_CHANGES_PER_PAGE,
        branch: str = MAIN,
        kind: Names = None,
        type: Names = None,
        op: Names = None,
        actor: Caller = None,
    ) -> ChangePage:
        """One page of the change feed of a branch: each commit against its first parent, oldest first.

        ``since`` is the cursor of an earlier page, ``"now"``, ``"beginning"``, or ``"after:01..."`` with a commit.
        """
        _refuse_actor("changes", actor)
        if since.startswith(AFTER) and not is_ulid(since.removeprefix(AFTER)):
            since = AFTER + self._moments.commit_id(since.removeprefix(AFTER), branch)
        is_start = since in (NOW, BEGINNING) or since.startswith(AFTER)
        place = "start" if is_start else "page_token" if is_within_commit(since) else "cursor"
        query = {"branch": branch, place: since, "limit": limit, **_filters(kind, type, op)}
        form = self._transport.form(Request("GET", "/changes", query))
        token = form.get("next_page_token")
        blocks = tuple(map(forms.read_block, form["blocks"]))
        if token is not None:
            return ChangePage(branch, blocks, token, caught_up=False, is_partial=True)
        return ChangePage(branch, blocks, form["cursor"], form["caught_up"])

    def change_baseline(
        self, branch: str = MAIN, *, kind: Names = None, type: Names = None, op: Names = None, actor: Caller = None
    ) -> RemoteBaseline:
        """All entities of a branch, with the cursor from which ``changes`` continues. ``op`` applies to the cursor."""
        _refuse_actor("change_baseline", actor)
        body = {"branch": branch, **_filters(kind, type, op)}
        return RemoteBaseline(self._transport, Request("POST", "/changes/baseline", json=body), branch)

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
        _refuse_actor("commit_changes", actor)
        found = self._moments.commit_id(commit_id)
        query = {"page_token": page_token, "limit": limit, **_filters(kind, type, op)}
        form = self._transport.form(Request("GET", f"/commits/{segment(found, 'commit')}/changes", query))
        return CommitChanges(forms.read_block(form), form.get("next_page_token"))

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
        """Run the statements of a mutation query as one atomic commit, once even if the answer is lost.

        ``if_commit`` is a precondition: the head of the branch must be that commit. A repeated ``idempotency_key``
        returns the first commit and writes nothing.
        """
        _refuse_actor("mutate", actor)
        if stats:
            raise unsupported("mutate(stats=...)", "a server does not measure steps")
        write = WriteHeaders.of(message, idempotency_key, provenance, if_commit)
        body = _present({"query": text, "name": name, "params": wire_params(params), "branch": branch})
        path = "/mutate" if if_commit is None else "/mutate/if-graph-commit"
        return forms.read_mutation(self._transport.form(write.request(path, body, "the mutation was made", text)))

    @takes(LoadOptions, unless="mapping")
    def load(self, data: Any, options: LoadOptions) -> LoadResult:
        """Load entities of any number of types as one atomic commit, once even if the answer is lost.

        ``data`` is what ``Graph.load`` takes. It is read here and sent as JSON lines; large input is a job of the
        server, which is awaited. ``base`` forks a missing branch first.
        """
        refuse_local_options(options)
        write = WriteHeaders.of(options.message, options.idempotency_key, options.provenance, None)
        query = {"branch": options.branch, "from": options.base, "mode": options.parsed_mode().value}
        request = Request("POST", "", query, headers=write.headers, change="the load was made", key=write.key)
        names = {item.name for item in self.branches()} if options.base is not None else {options.branch}
        known = options.branch if options.branch in names else options.base or MAIN
        catalog = self.catalog(known)
        return forms.read_load(send(self._transport, request, data, options, catalog, self._request_bytes_max))

    def plan_schema(
        self,
        schema: str | os.PathLike[str],
        *,
        branch: str = MAIN,
        allow_data_loss: bool = False,
        actor: Caller = None,
    ) -> MigrationPlan:
        """The steps that ``apply_schema`` would take, from the schema of the branch. No entity is read."""
        source = schema_source(schema)
        return plan_to(self.schema_text(branch, actor=actor), source, allow_data_loss=allow_data_loss)

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
        """Change the schema of ``main`` as one atomic commit; no commit if the text means the same schema.

        The plan of the result has no steps if another writer changed the schema at the same time.
        """
        _refuse_actor("apply_schema", actor)
        if branch != MAIN or if_commit is not None:
            option = "branch" if if_commit is None else "if_commit"
            raise unsupported(f"apply_schema({option}=...)", "a server changes the schema of main, at its head")
        text = schema_source(schema).text
        write = WriteHeaders.of(message, idempotency_key, provenance, None)
        body = {"schema_source": text, "allow_data_loss": allow_data_loss}
        before = self.schema_text()
        form = self._transport.form(write.request("/schema/apply", body, "the schema was changed", text))
        plan = plan_between(before, text, allow_data_loss=allow_data_loss, shown=form["steps"])
        commit = forms.optional_commit(form)
        return SchemaResult(self.uri, branch, plan, commit, form["graph_manifest_version"])

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
        """Merge a branch into another one (``main``) as one atomic commit; or exactly what a preview showed."""
        _refuse_actor("merge", actor)
        _refuse_engine("merge", engine, spark)
        write = WriteHeaders.of(message, idempotency_key, provenance, None)
        if isinstance(source, str):
            body = {**_merging(source, into, policy, resolutions), "expected_target": if_commit}
        else:
            given = [*source.resolutions, *read_resolutions(resolutions).given]
            chosen = source.policy if policy is None else policy
            body = _merging(source.source, into or source.target, chosen, given)
            body |= {"expected_source": source.source_head, "expected_target": if_commit or source.target_head}
        return forms.read_merge(self._transport.form(write.request("/merge", _present(body), "the merge was made")))

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
        _refuse_actor("merge_preview", actor)
        _refuse_engine("merge_preview", engine, spark)
        body = _present(_merging(source, into, policy, resolutions))
        return merge_preview_from_json(self._transport.form(Request("POST", "/merge/preview", json=body)))

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
        """Undo the changes of some commits as one atomic commit on top of the head; later changes by others stay."""
        _refuse_actor("revert", by)
        write = WriteHeaders.of(message, idempotency_key, provenance, None)
        body = _reverting(commits, actor, run, since, until, branch, policy, resolutions)
        body = _present({**body, "expected_head": if_commit})
        return forms.read_revert(self._transport.form(write.request("/revert", body, "the revert was made")))

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
        _refuse_actor("revert_preview", by)
        body = _present(_reverting(commits, actor, run, since, until, branch, policy, resolutions))
        return forms.read_revert_preview(self._transport.form(Request("POST", "/revert/preview", json=body)))

    def queries(self) -> list[dict[str, Any]]:
        """The stored queries of the graph: name, description, parameters, and whether each is a mutation."""
        found: list[dict[str, Any]] = self._transport.form(Request("GET", "/queries"))["queries"]
        return found

    def invoke(
        self,
        name: str,
        params: Mapping[str, object] | None = None,
        *,
        branch: str | None = None,
        at: str | datetime | None = None,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> QueryResult:
        """Run a stored read by its name; a stored mutation raises ``InputError``."""
        body = {"params": wire_params(params), "expect_mutation": False, **self._target(branch, at)}
        return self._rows(f"/queries/{segment(name, 'stored query')}", body, None, name, at, timeout, cancel)

    def invoke_mutation(
        self,
        name: str,
        params: Mapping[str, object] | None = None,
        *,
        branch: str = MAIN,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        if_commit: str | None = None,
    ) -> MutationResult:
        """Run a stored mutation by its name, as one atomic commit, once even if the answer is lost."""
        write = WriteHeaders.of(message, idempotency_key, provenance, if_commit)
        body = _present({"params": wire_params(params), "expect_mutation": True, "branch": branch})
        path = f"/queries/{segment(name, 'stored query')}" + ("" if if_commit is None else "/if-graph-commit")
        return forms.read_mutation(self._transport.form(write.request(path, body, "the mutation was made")))

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
        """Compact the files of a branch's tables and complete their indexes, as a job of the server.

        The policy must allow ``admin``.
        """
        _refuse_actor("optimize", actor)
        _refuse_engine("optimize", engine, spark)
        chosen = None if types is None else list(types)
        options = {"branch": branch, "types": chosen, "compact": compact, "index": index}
        return read_optimize(run_maintenance(self._transport, "optimize", options, progress))

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
        """Delete unreferenced files, and expire old commits if a rule is given, as a job of the server.

        The policy must allow ``admin``.
        """
        _refuse_actor("cleanup", actor)
        _refuse_engine("cleanup", "auto" if engine == "embedded" else engine, spark)
        older, kept = (None if given is None else f"{duration_us(given) // 10**6}s" for given in (older_than, grace))
        options = {"keep": keep, "older_than": older, "grace": kept, "dry_run": dry_run}
        return read_cleanup(run_maintenance(self._transport, "cleanup", options, progress))

    def verify(
        self, *, deep: bool = True, progress: Callable[[int], None] | None = None, actor: Caller = None
    ) -> VerifyReport:
        """Check that every file of every branch's history exists with its recorded content, as a job of the server.

        The policy must allow ``admin``.
        """
        _refuse_actor("verify", actor)
        return read_verify(run_maintenance(self._transport, "verify", {"deep": deep}, progress))

    def retry(
        self,
        work: Callable[[RemoteGraph], Answer],
        *,
        attempts: int = ATTEMPTS,
        on: ErrorTypes = (),
        wait: float = WAIT_SECONDS,
        wait_max: float = WAIT_SECONDS_MAX,
        sleep: Callable[[float], object] | None = None,
        random: Callable[[], float] | None = None,
    ) -> Answer:
        """Call ``work(graph)``, and again while it fails with a retryable error, as ``Graph.retry`` does."""
        refuse_coroutines(work, "retry")
        return repeat(lambda: work(self), Retries(attempts, wait, wait_max, on, random), sleep)

    def _target(self, branch: str | None, at: str | datetime | None) -> dict[str, str]:
        """The branch or commit of a read. A branch gives a moment its context, as in the engine."""
        if at is not None:
            return {"snapshot": self._moments.commit_id(at, branch)}
        return {} if branch is None else {"branch": branch}


def _refuse_actor(verb: str, actor: object) -> None:
    if actor is not None:
        raise unsupported(
            f"{verb}(actor=...)", "the actor of a call is that of the token", "open the graph with another token"
        )


def _refuse_engine(verb: str, engine: str, spark: object) -> None:
    if engine != "auto" or spark is not None:
        raise unsupported(f"{verb}(engine=...)", "the operator of the server decides it")


def _present(form: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in form.items() if value is not None}


def _filters(kind: Names, type: Names, op: Names) -> Query:
    chosen = read_filter(kind, type, op)
    ops = None if chosen.ops is None else [item.value for item in chosen.ops]
    found = {"kind": chosen.kinds, "type": chosen.types, "op": ops}
    return {name: sorted(values) for name, values in found.items() if values is not None}


def _merging(
    source: str, into: str | None, policy: Policy, resolutions: Sequence[Mapping[str, Any] | Resolution]
) -> dict[str, Any]:
    given = [resolution_json(item) for item in read_resolutions(resolutions).given]
    return {"source": source, "target": into or MAIN, "policy": policy, "resolutions": given}


def _reverting(
    commits: str | None,
    actor: str | None,
    run: str | None,
    since: str | datetime | None,
    until: str | datetime | None,
    branch: str,
    policy: Policy,
    resolutions: Sequence[Mapping[str, Any] | Resolution],
) -> dict[str, Any]:
    given = [resolution_json(item) for item in read_resolutions(resolutions).given]
    times = {name: at.isoformat() if isinstance(at, date) else at for name, at in (("since", since), ("until", until))}
    return {
        "commits": commits,
        "actor": actor,
        "run": run,
        **times,
        "branch": branch,
        "policy": policy,
        "resolutions": given,
    }
