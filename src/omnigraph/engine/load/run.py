"""What every load has in common, whoever reads the rows: the branch, the commit's own words, and the answer.

A loader is given a job and returns how many entities of each table it brought, and the commit. The embedded one reads
in this process; others are handed in by the rooms above through ``Graph.load_with``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from omnigraph.core.commit import CommitKind
from omnigraph.core.ports import Embedder
from omnigraph.core.tables import TablePin
from omnigraph.engine.load import sources
from omnigraph.engine.load.mutations import earlier_commit
from omnigraph.engine.results import LoadResult
from omnigraph.errors import InputError, UsageError
from omnigraph.history.plan import CommitInfo
from omnigraph.history.state import Fence
from omnigraph.manifest import branches
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.publisher import Published, schema_conflict
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.load.plan import LoadMode
from omnigraph.write.load.rows import load_rows
from omnigraph.write.vectors.load_vectors import RowEmbedding, has_embedded_properties

LOAD: Final = "Load"
"""A load as a whole, in its profile."""


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """What a caller may say about a load, beside its data."""

    mode: str | LoadMode = LoadMode.MERGE
    branch: str = MAIN
    base: str | None = None
    actor: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    profile: bool = False
    dry_run: bool = False

    def parsed_mode(self) -> LoadMode:
        """The mode; raises UsageError if there is none of that name."""
        try:
            return LoadMode(self.mode)
        except ValueError:
            modes = ", ".join(known.value for known in LoadMode)
            raise UsageError(f"{self.mode!r} is not a load mode", hint=f"the modes are {modes}") from None


@dataclass(frozen=True, slots=True)
class LoadJob:
    """One load that is to become one commit on one branch."""

    context: WriteContext
    incarnation: str
    catalog: Catalog
    mode: LoadMode
    info: CommitInfo
    options: WriteOptions
    since: Fence
    """The newest fence of the branch that was known when the load began."""
    embedding: RowEmbedding | None = None
    """How vectors are made from texts, if somebody makes them."""

    @property
    def reading(self) -> Catalog:
        """The types by which the rows are to be read."""
        return self.catalog if self.embedding is None else self.embedding.reading


Loader = Callable[[LoadJob], tuple[dict[str, int], Published]]


def embedded(
    data: sources.Loadable,
    type_name: str | None,
    progress: Callable[[int], None] | None,
    source_options: Mapping[str, str] | None = None,
) -> Loader:
    """The loader that reads in this process. Sources in an object store are read with the graph's options if none are
    given."""

    def load(job: LoadJob) -> tuple[dict[str, int], Published]:
        violations = Violations()
        options = job.context.store.options if source_options is None else source_options
        rows = sources.read(data, job.reading, type_name, job.context.ids.new_ids, violations, options)
        return load_rows(
            job.context, job.incarnation, rows, job.mode, violations, job.info, job.options, progress, job.embedding
        )

    return load


def row_embedding(
    store: Store,
    pins: Mapping[str, TablePin],
    catalog: Catalog,
    mode: LoadMode,
    find_embedder: Callable[[], Embedder | None],
) -> RowEmbedding | None:
    """How the rows of a load get their vectors; None if the types have none to make, or nobody makes them."""
    embedder = find_embedder() if has_embedded_properties(catalog) else None
    if embedder is None:
        return None
    # What is appended is not there yet.
    return RowEmbedding(store, {} if mode is LoadMode.APPEND else pins, catalog, embedder)


def run_load(
    context: WriteContext,
    request: LoadRequest,
    loader: Loader,
    find_embedder: Callable[[], Embedder | None],
    *,
    created: bool,
) -> LoadResult:
    """Load into a branch that exists, unless a load with the same idempotency key was there before."""
    watched = context.profiled() if request.profile else context
    with watched.profiler.step(LOAD) as step:
        result = _run_load(watched, request, loader, find_embedder, created=created)
        step.rows = result.total
    return replace(result, operators=tuple(watched.profiler.entries or ()))


def _run_load(
    context: WriteContext,
    request: LoadRequest,
    loader: Loader,
    find_embedder: Callable[[], Embedder | None],
    *,
    created: bool,
) -> LoadResult:
    mode = request.parsed_mode()
    manifests = context.manifests
    ref = branches.find_ref(manifests, request.branch)
    options = WriteOptions(
        request.actor, request.message, request.idempotency_key, request.provenance, dry_run=request.dry_run
    )
    info = options.info(context, CommitKind.LOAD)
    earlier = earlier_commit(context, ref.incarnation, options)
    if earlier is not None:
        return LoadResult(request.branch, mode.value, {}, {}, earlier.actor, earlier, repeated=True)
    state = manifests.warm(ref.incarnation)
    catalog = manifests.catalog(state.schema_digest)
    embedding = row_embedding(context.store, state.tables, catalog, mode, find_embedder)
    job = LoadJob(context, ref.incarnation, catalog, mode, info, options, state.fence, embedding)
    try:
        counts, published = loader(job)
    except InputError as error:
        # What is in memory may be old, and the input may fit the newest schema. It cannot be read twice here.
        newest = manifests.fresh(ref.incarnation)
        if newest.schema_digest == state.schema_digest:
            raise
        raise schema_conflict(state, newest, error.message) from error
    return LoadResult(
        request.branch,
        mode.value,
        {key.removeprefix("node:"): count for key, count in counts.items() if key.startswith("node:")},
        {key.removeprefix("edge:"): count for key, count in counts.items() if key.startswith("edge:")},
        request.actor,
        published.commit,
        request.base,
        created,
        published.repeated,
    )
