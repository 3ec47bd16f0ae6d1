"""Loads: from the caller's options to the commit.

A loader takes a job and returns the number of entities per table, and the commit. The embedded loader reads in this
process; Spark hands in its own through ``Graph.load_with``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from omnigraph.core.commit import CommitKind
from omnigraph.core.ports import FindEmbedder
from omnigraph.core.tables import TablePin
from omnigraph.engine.branches import create_branch, has_branch
from omnigraph.engine.idempotency import earlier_commit
from omnigraph.engine.load import sources
from omnigraph.engine.load_options import LoadOptions
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.results import LoadResult
from omnigraph.errors import InputError
from omnigraph.history.plan import CommitInfo
from omnigraph.history.state import Fence
from omnigraph.manifest import branches, naming
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.publisher import Published, schema_conflict
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.rows import load_rows
from omnigraph.write.preview import Finish, Previewed, publish
from omnigraph.write.preview import preview as preview_write
from omnigraph.write.vectors.load_vectors import RowEmbedding, has_embedded_properties

LOAD: Final = "Load"
"""A load as a whole, in its profile."""


@dataclass(frozen=True, slots=True)
class LoadJob:
    """One load: the branch, the commit that it becomes, and how its rows are read."""

    context: WriteContext
    incarnation: str
    catalog: Catalog
    mode: LoadMode
    info: CommitInfo
    options: WriteOptions
    since: Fence
    """The newest fence of the branch that was known when the load began."""
    finish: Finish
    """Publishes or previews the change that the loader makes."""
    embedding: RowEmbedding | None = None
    """Embeds the texts of the rows, if an embedder is configured."""

    @property
    def reading(self) -> Catalog:
        """The catalog that the rows are read with."""
        return self.catalog if self.embedding is None else self.embedding.reading


Loader = Callable[[LoadJob], tuple[dict[str, int], Published | Previewed]]


def embedded(data: sources.Loadable, options: LoadOptions) -> Loader:
    """The loader that reads in this process."""
    options.refuse_spark_only()

    def read(job: LoadJob) -> tuple[dict[str, int], Published | Previewed]:
        violations = Violations()
        store_options = job.context.store.options if options.source_options is None else options.source_options
        rows = sources.read(data, job.reading, options.type_name, job.context.ids.new_ids, violations, store_options)
        return load_rows(
            job.context,
            job.incarnation,
            rows,
            job.mode,
            violations,
            job.info,
            job.options,
            options.progress,
            job.embedding,
            job.finish,
        )

    return read


def row_embedding(
    store: Store,
    pins: Mapping[str, TablePin],
    catalog: Catalog,
    mode: LoadMode,
    find_embedder: FindEmbedder,
) -> RowEmbedding | None:
    """The vectors to make for the rows of a load; None if the types have none to make, or no embedder is configured."""
    embedder = find_embedder() if has_embedded_properties(catalog) else None
    if embedder is None:
        return None
    # An append has no committed rows to take vectors from.
    return RowEmbedding(store, {} if mode is LoadMode.APPEND else pins, catalog, embedder)


def load(context: WriteContext, loader: Loader, options: LoadOptions, find_embedder: FindEmbedder) -> LoadResult:
    """Run a loader as one commit. A branch that the load creates (``base``) is deleted again if the load fails."""
    options.parsed_mode()
    created = options.base is not None and not has_branch(context.manifests, options.branch)
    if created:
        create_branch(context, options.branch, options.base or MAIN, None, options.actor)
    try:
        return _profiled(context, loader, options, find_embedder, created=created)
    except BaseException:
        if created:
            naming.delete_branch(context.manifests, options.branch)
        raise


def preview(context: WriteContext, loader: Loader, options: LoadOptions, find_embedder: FindEmbedder) -> WritePreview:
    """The counts that a load would commit. A branch that it would create is taken to be like its ``base``."""
    is_new = options.base is not None and not has_branch(context.manifests, options.branch)
    known = options.base or MAIN if is_new else options.branch
    branches.find_head(context.manifests, known)
    job = _job(context, replace(options, branch=known), find_embedder, preview_write)
    seen = _loaded(job, loader)[1]
    assert isinstance(seen, Previewed)
    return WritePreview.of(options.branch, seen)


def _profiled(
    context: WriteContext, loader: Loader, options: LoadOptions, find_embedder: FindEmbedder, *, created: bool
) -> LoadResult:
    watched = context.profiled() if options.stats else context
    with watched.profiler.step(LOAD) as step:
        result = _run_load(watched, loader, options, find_embedder, created=created)
        step.rows = result.total
    return replace(result, operators=tuple(watched.profiler.entries or ()))


def _run_load(
    context: WriteContext, loader: Loader, options: LoadOptions, find_embedder: FindEmbedder, *, created: bool
) -> LoadResult:
    mode = options.parsed_mode()
    ref = branches.find_ref(context.manifests, options.branch)
    earlier = earlier_commit(context, ref.incarnation, options.write_options())
    if earlier is not None:
        return LoadResult(options.branch, mode.value, {}, {}, earlier.actor, earlier, repeated=True)
    counts, published = _loaded(_job(context, options, find_embedder, publish), loader)
    assert isinstance(published, Published)
    return LoadResult(
        options.branch,
        mode.value,
        {key.removeprefix("node:"): count for key, count in counts.items() if key.startswith("node:")},
        {key.removeprefix("edge:"): count for key, count in counts.items() if key.startswith("edge:")},
        options.actor,
        published.commit,
        options.base,
        created,
        published.repeated,
    )


def _job(context: WriteContext, options: LoadOptions, find_embedder: FindEmbedder, finish: Finish) -> LoadJob:
    mode, write = options.parsed_mode(), options.write_options()
    ref = branches.find_ref(context.manifests, options.branch)
    state = context.manifests.warm(ref.incarnation)
    catalog = context.manifests.catalog(state.schema_digest)
    embedding = row_embedding(context.store, state.tables, catalog, mode, find_embedder)
    info = write.info(context, CommitKind.LOAD)
    return LoadJob(context, ref.incarnation, catalog, mode, info, write, state.fence, finish, embedding)


def _loaded(job: LoadJob, loader: Loader) -> tuple[dict[str, int], Published | Previewed]:
    manifests = job.context.manifests
    state = manifests.warm(job.incarnation)
    try:
        return loader(job)
    except InputError as error:
        # The state in memory may be stale, and the input may fit the newest schema, but it cannot be read twice.
        newest = manifests.fresh(job.incarnation)
        if newest.schema_digest == state.schema_digest:
            raise
        raise schema_conflict(state, newest, error.message) from error
