"""``Graph``: the door of the embedded API.

What only writers and checkers need is imported when one is called: a process that asks one question starts faster.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from omnigraph.core.commit import GraphCommit
from omnigraph.core.ports import Clock, Embedder, IdSource, SystemClock, UlidSource
from omnigraph.engine.commit_filters import passes
from omnigraph.engine.extensions import EMBED, SPARK, extension
from omnigraph.engine.queries import Compiler, run_query
from omnigraph.engine.query_memory import query_memory
from omnigraph.engine.query_result import QueryResult
from omnigraph.engine.results import BranchInfo, LoadResult, MutationResult, VerifyReport
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.travel import moment_us
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.exec.budget import Budget
from omnigraph.exec.graph_view import Derived, GraphView
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import find_commit, newest_first
from omnigraph.manifest.layout import MAIN, read_stamp
from omnigraph.manifest.publisher import Publisher
from omnigraph.manifest.reader import Manifests
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.array_cache import ArrayCache, cache_directory
from omnigraph.storage.durability import Durability
from omnigraph.storage.store import Store
from omnigraph.write.context import WriteContext, WriteOptions

if TYPE_CHECKING:
    from omnigraph.engine.blobs import Blob
    from omnigraph.engine.explanation import Explanation
    from omnigraph.engine.loading import Loader, LoadRequest
    from omnigraph.engine.optimize_result import OptimizeResult
    from omnigraph.engine.sources import Loadable
    from omnigraph.write.load import LoadMode


class Graph:
    """One graph: a typed property graph with branches and history, on local disk or in an object store.

    Open one with ``omnigraph.open`` or make one with ``omnigraph.create``. A graph may be shared between threads and
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
        self._store = store
        self._embedder = embedder
        self._clock = clock or SystemClock()
        self._ids = ids or UlidSource(self._clock)
        self._start()

    def _start(self) -> None:
        self._manifests = Manifests(self._store, read_stamp(self._store))
        self._context = WriteContext(self._manifests, Publisher(self._manifests), self._clock, self._ids)
        self._compiler = Compiler()
        cache = ArrayCache(cache_directory(self._store.root.path, self.id))
        self._derived = Derived.kept_in(cache)

    def __getstate__(self) -> dict[str, Any]:
        return {"_store": self._store, "_embedder": self._embedder}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_store"], embedder=state["_embedder"])  # type: ignore[misc] # unpickling is opening again

    def __repr__(self) -> str:
        return f"<Graph {self.uri}>"

    @property
    def uri(self) -> str:
        """Where the graph is."""
        return str(self._store.root)

    @property
    def id(self) -> str:
        """The graph's own id, the same wherever it is copied."""
        return self._manifests.stamp.graph_id

    @property
    def embedder(self) -> Embedder | None:
        """Who makes vectors of the texts that are loaded: the one handed in, else the one the environment names."""
        configured: Embedder | None = self._embedder or extension(EMBED).configured()
        return configured

    # --- reading ---------------------------------------------------------------------------------------

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
        for commit in newest_first(self._store, head):
            if commit.created_at_us <= moment:
                return self._snapshot(self._manifests.at(commit))
        raise NotFoundError(f"branch {branch or MAIN} has no commit as old as {at}", at=str(at))

    def query(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: str | datetime | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: threading.Event | None = None,
        profile: bool = False,
    ) -> QueryResult:
        """Run a read over the head of a branch, a commit or a time; of several queries in the text the named one.

        ``timeout`` (seconds) and ``memory_limit`` (bytes; else ``OMNIGRAPH_QUERY_MEMORY``, else half of the machine's
        memory) raise ``LimitExceeded`` when the query needs more;
        setting ``cancel`` from another thread raises ``QueryCancelled`` here.
        """
        snapshot = self.snapshot(branch, at=at)
        plan = self._compiler.compile(text, name, snapshot.state.schema_digest, snapshot.catalog)
        return run_query(
            snapshot,
            plan,
            params,
            self._derived,
            Budget(timeout, query_memory(memory_limit), cancel or threading.Event()),
            embedder=self._embedder,
            now_ms=self._clock.now_us() // 1000,
            branch=None if at is not None else branch or MAIN,
            profile=profile,
        )

    def explain(
        self, text: str, *, name: str | None = None, branch: str | None = None, at: str | datetime | None = None
    ) -> Explanation:
        """The plan of a query or mutation, with the size and indexes of its tables; nothing is run."""
        from omnigraph.engine.explanation import explained

        snapshot = self.snapshot(branch, at=at)
        plan = self._compiler.compile(text, name, snapshot.state.schema_digest, snapshot.catalog)
        return explained(plan, GraphView(snapshot.store, snapshot.state, snapshot.catalog, self._derived))

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

    def _snapshot(self, state: ManifestState) -> Snapshot:
        return Snapshot(self._store, state, self._manifests.catalog(state.schema_digest))

    def _head(self, branch: str) -> ManifestState:
        return branches.find_head(self._manifests, branch)

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

    # --- writing ---------------------------------------------------------------------------------------

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
    ) -> MutationResult:
        """Run the statements of a mutation query as one commit.

        With ``if_commit`` it is made only if that commit is the head of the branch. A repeated ``idempotency_key``
        returns the first commit instead of writing again.
        """
        from omnigraph.engine import writes

        options = WriteOptions(actor, message, idempotency_key, provenance or {}, if_commit)
        return writes.mutate(self._context, self._compiler, text, params, name, branch, options)

    def load(
        self,
        data: Loadable,
        mode: str | LoadMode = "merge",
        *,
        type_name: str | None = None,
        branch: str = MAIN,
        base: str | None = None,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        provenance: Mapping[str, str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> LoadResult:
        """Load entities of any number of types as one commit.

        ``data`` is a JSON-lines file (path or open file), a list of paths, an iterable of records, or an Arrow table,
        reader, pandas or polars frame of one type (``type_name``). With ``base`` a missing branch is forked from that
        one first. ``progress`` is told how many rows were read so far. There is no limit to the size of the input.
        """
        from omnigraph.engine import loading

        request = loading.LoadRequest(mode, branch, base, actor, message, idempotency_key, provenance or {})
        return self.load_with(loading.embedded(data, type_name, progress), request)

    def load_spark(self, sources: Any = None, mode: str | LoadMode = "merge", **options: Any) -> LoadResult:
        """Load with Spark, as one commit: ``omnigraph.spark.load`` says what ``sources`` and ``options`` may be."""
        loaded: LoadResult = extension(SPARK).load(self, sources, mode, **options)
        return loaded

    def load_with(self, loader: Loader, request: LoadRequest) -> LoadResult:
        """Run a loader. A branch that is made for it (``base``) goes away again if it fails."""
        from omnigraph.engine import loading

        request.parsed_mode()
        created = self._ensure_branch(request.branch, request.base, request.actor)
        try:
            return loading.run_load(self._context, request, loader, lambda: self.embedder, created=created)
        except BaseException:
            if created:
                self.delete_branch(request.branch)
            raise

    def _ensure_branch(self, branch: str, base: str | None, actor: str | None) -> bool:
        if base is None:
            return False
        try:
            branches.find_ref(self._manifests, branch)
        except NotFoundError:
            self.create_branch(branch, base, actor=actor)
            return True
        return False

    # --- branches --------------------------------------------------------------------------------------

    def create_branch(
        self, name: str, parent: str = MAIN, *, at: str | None = None, actor: str | None = None
    ) -> BranchInfo:
        """Make a branch from the head of another, or from any commit (``at``). No data is copied."""
        state = self._manifests.at(self.commit(at)) if at is not None else self._head(parent)
        checked = branches.check_name(name)
        ref = branches.Ref(checked, self._ids.new_id(), state.head, actor, self._clock.now_us())
        branches.create_branch(self._manifests, ref, state)
        return _branch_info(ref, state)

    def branches(self) -> list[BranchInfo]:
        """Every branch with its head, ``main`` first."""
        return [_branch_info(ref, state) for ref, state in branches.heads(self._manifests)]

    def delete_branch(self, name: str) -> None:
        """Forget a branch. Its commits stay readable until cleanup."""
        branches.delete_branch(self._manifests, name)

    def rename_branch(self, name: str, new_name: str) -> None:
        """Give a branch another name."""
        branches.rename_branch(self._manifests, name, new_name)

    # --- history ---------------------------------------------------------------------------------------

    def commits(self, branch: str = MAIN, *, limit: int | None = None, **filters: str) -> Iterator[GraphCommit]:
        """Commits of a branch, newest first; filters such as ``actor="ann"`` or ``kind="load"`` must all hold."""
        found = 0
        for commit in newest_first(self._store, self._head(branch)):
            if limit is not None and found >= limit:
                return
            if passes(commit, filters):
                found += 1
                yield commit

    def commit(self, commit_id: str) -> GraphCommit:
        """A commit by its id, on whatever branch it is."""
        for _, state in branches.heads(self._manifests):
            found = find_commit(self._store, state, commit_id)
            if found is not None:
                return found
        raise NotFoundError(
            f"there is no commit {commit_id!r}", hint="omnigraph commit list shows them", commit=commit_id
        )

    def verify(self, *, deep: bool = True, progress: Callable[[int], None] | None = None) -> VerifyReport:
        """Check that every file of every branch's history is there and as it was written."""
        from omnigraph.engine.verify import verify

        heads = [state for _, state in branches.heads(self._manifests)]
        return verify(self._manifests, heads, deep=deep, progress=progress)

    def optimize(
        self,
        branch: str = MAIN,
        *,
        types: Sequence[str] | None = None,
        compact: bool = True,
        index: bool = True,
        actor: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> OptimizeResult:
        """Compact the files of a branch's tables and bring their indexes up to date; answers stay the same.

        Others may read and write meanwhile. What they change while it is worked on is left for the next time, with
        the reason. ``progress`` is told how many tables are done.
        """
        from omnigraph.engine.maintenance import maintain

        options = WriteOptions(actor)
        return maintain(self._context, branch, types, options, progress, compact=compact, index=index)


def open_graph(
    uri: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, str] | None = None,
    durability: Durability | str = Durability.FSYNC,
    embedder: Embedder | None = None,
) -> Graph:
    """Open a graph. S3 takes ``storage_options`` or the usual ``AWS_*`` variables.

    The ``embedder`` turns texts of ``nearest``, and those that are loaded for ``@embed`` properties, into vectors, for
    example ``omnigraph.embed.from_environment()``.
    """
    return Graph(Store(uri, storage_options, durability), embedder=embedder)


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
) -> Graph:
    """Make a new graph with a schema text and open it."""
    from omnigraph.engine.creation import create_from_text

    store = Store(uri, storage_options, durability)
    clock = clock or SystemClock()
    ids = ids or UlidSource(clock)
    create_from_text(store, schema, clock, ids, actor)
    return Graph(store, clock=clock, ids=ids, embedder=embedder)


def _branch_info(ref: branches.Ref, state: ManifestState) -> BranchInfo:
    return BranchInfo(ref.name, state.head, ref.created_at_us, ref.parent_commit, ref.actor)
