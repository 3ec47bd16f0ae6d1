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
from omnigraph.engine.branches import create_branch
from omnigraph.engine.idempotency import earlier_commit
from omnigraph.engine.load import sources
from omnigraph.engine.load_options import LoadOptions
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.results import LoadResult
from omnigraph.errors import InputError
from omnigraph.history.plan import CommitInfo
from omnigraph.history.rebase import schema_conflict
from omnigraph.history.state import Fence
from omnigraph.ingest.mapped import read_mapped
from omnigraph.ingest.reading import Reading
from omnigraph.manifest import branches, naming
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.queue import Published
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.guard import ChangeGuard
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.outcome import Loaded
from omnigraph.write.load.reject.rows import Rejection
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


Loader = Callable[[LoadJob], Loaded]


def embedded(
    data: sources.Loadable,
    options: LoadOptions,
    rejection: Rejection | None = None,
    guard: ChangeGuard | None = None,
) -> Loader:
    """The loader that reads in this process. Invalid rows go into the ``rejection``, if there is one."""

    def read(job: LoadJob) -> Loaded:
        violations = Violations() if rejection is None else rejection.found
        store_options = job.context.store.options if options.source_options is None else options.source_options
        reading = Reading(
            job.reading,
            job.context.ids.new_ids,
            violations,
            options.columns(),
            is_only_type=not isinstance(data, Mapping),
            omissions=job.mode.omissions,
        )
        if options.mapping is None:
            rows = sources.read(data, options.type_name, reading, options.format, store_options)
        else:
            rows = read_mapped(options.mapping, options.named_sources(data), reading, store_options)
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
            rejection,
            guard,
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
    return RowEmbedding(store, {} if mode is LoadMode.APPEND else pins, catalog, embedder, mode.is_partial)


def earlier_load(context: WriteContext, options: LoadOptions) -> LoadResult | None:
    """The result of an earlier load with the same idempotency key, if any. Needs no input and no engine."""
    mode = options.parsed_mode()
    if options.idempotency_key is None or not branches.has_branch(context.manifests, options.branch):
        return None
    ref = branches.find_ref(context.manifests, options.branch)
    earlier = earlier_commit(context, ref.incarnation, options.write_options())
    if earlier is None:
        return None
    return LoadResult(options.branch, mode.value, {}, {}, earlier.actor, earlier, repeated=True)


def load(context: WriteContext, loader: Loader, options: LoadOptions, find_embedder: FindEmbedder) -> LoadResult:
    """Run a loader as one commit. A branch that the load creates (``base``) is deleted again if the load fails."""
    earlier = earlier_load(context, options)
    if earlier is not None:
        return earlier
    write = options.write_options()
    created = options.base is not None and not branches.has_branch(context.manifests, options.branch)
    if created:
        create_branch(context, options.branch, options.base or MAIN, None, write.actor)
    try:
        return _profiled(context, loader, options, find_embedder, created=created)
    except BaseException:
        if created:
            naming.delete_branch(context.manifests, options.branch)
        raise


def preview(context: WriteContext, loader: Loader, options: LoadOptions, find_embedder: FindEmbedder) -> WritePreview:
    """The counts that a load would commit. A branch that it would create is taken to be like its ``base``."""
    is_new = options.base is not None and not branches.has_branch(context.manifests, options.branch)
    known = options.base or MAIN if is_new else options.branch
    branches.find_head(context.manifests, known)
    job = _job(context, replace(options, branch=known), find_embedder, preview_write)
    seen = _loaded(job, loader).finished
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
    loaded = _loaded(_job(context, options, find_embedder, publish), loader)
    counts, published = loaded.counts, loaded.finished
    assert isinstance(published, Published)
    return LoadResult(
        options.branch,
        options.parsed_mode().value,
        {key.removeprefix("node:"): count for key, count in counts.items() if key.startswith("node:")},
        {key.removeprefix("edge:"): count for key, count in counts.items() if key.startswith("edge:")},
        published.commit.actor,
        published.commit,
        options.base,
        created,
        published.repeated,
        cleared=loaded.cleared,
        remarks=loaded.remarks,
    )


def _job(context: WriteContext, options: LoadOptions, find_embedder: FindEmbedder, finish: Finish) -> LoadJob:
    mode, write = options.parsed_mode(), options.write_options()
    ref = branches.find_ref(context.manifests, options.branch)
    state = context.manifests.warm(ref.incarnation)
    catalog = context.manifests.catalog(state.schema_digest)
    embedding = row_embedding(context.store, state.tables, catalog, mode, find_embedder)
    info = write.info(context, CommitKind.LOAD)
    return LoadJob(context, ref.incarnation, catalog, mode, info, write, state.fence, finish, embedding)


def _loaded(job: LoadJob, loader: Loader) -> Loaded:
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
