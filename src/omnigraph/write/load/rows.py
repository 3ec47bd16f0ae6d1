"""A load of any size: in memory up to a limit, through disk beyond it. The input is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from operator import attrgetter

from omnigraph.history.plan import CommitInfo
from omnigraph.manifest.reader import Capture
from omnigraph.rows.ends.checks import check_named_types
from omnigraph.rows.rejected.reasons import without_rows
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Violations
from omnigraph.write import limits
from omnigraph.write.attempt import CHECK, READ, WriteJob
from omnigraph.write.committed_graph import CommittedGraph
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.end_types import is_unresolved, resolve_types
from omnigraph.write.guard import ChangeGuard
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.outcome import Loaded
from omnigraph.write.load.plan import PreparedLoad, SourcedRows, gather, prepare_load
from omnigraph.write.load.reject.rows import Rejection
from omnigraph.write.preview import Finish, publish
from omnigraph.write.vectors.load_vectors import RowEmbedding

Progress = Callable[[int], None]
"""Called with the number of rows read so far."""


def load_rows(
    context: WriteContext,
    incarnation: str,
    rows: Iterable[SourcedRows],
    mode: LoadMode,
    violations: Violations,
    info: CommitInfo,
    options: WriteOptions,
    progress: Progress | None = None,
    embedding: RowEmbedding | None = None,
    finish: Finish = publish,
    rejection: Rejection | None = None,
    guard: ChangeGuard | None = None,
) -> Loaded:
    """Load rows as one atomic commit, or preview it.

    The reader of the rows reports into ``violations``; this adds violations of values. With an ``embedding``, the rows
    were read with its ``reading`` catalog and get their vectors here. With a ``rejection``, which collects those
    violations, invalid rows are left out; such a load goes through disk, where rows can be removed again. A ``guard``
    has the data rules of the actor, which a load through disk cannot apply.
    """
    stream = checked(rows, violations, progress, embedding, is_partial=mode.is_partial)
    with context.profiler.step(READ) as step:
        buffered, is_all = ([], False) if rejection else _buffer(stream, context.store.tuning.buffered_rows_max)
        # The rows of a larger load are counted when all of them are read.
        step.rows = sum(typed.batch.num_rows for _, typed in buffered) if is_all else 0
    if not is_all:
        if guard is not None:
            guard.refuse_unchecked(context.manifests.catalog(context.manifests.warm(incarnation).schema_digest))
        from omnigraph.write.load.bulk import load_bulk

        rest = _drained(buffered, stream)
        return load_bulk(context, incarnation, rest, mode, violations, info, options, finish, rejection)
    # Nodes without a type are looked up in every attempt, because the graph decides about their type.
    is_open = any(is_unresolved(typed) for _, typed in buffered)
    with context.profiler.step(CHECK):
        deltas = [] if is_open else gather(buffered, mode, violations)

    last: PreparedLoad | None = None

    def prepare(capture: Capture) -> PreparedLoad:
        nonlocal last, deltas
        with context.profiler.step(CHECK) as step:
            found = violations
            if is_open:
                found = Violations()
                found.absorb(violations)
                committed = CommittedGraph(context.store, capture.state, set())
                deltas = gather(
                    resolve_types(buffered, committed, found, is_overwrite=mode is LoadMode.OVERWRITE), mode, found
                )
            last = prepare_load(context.store, capture, deltas, mode, found, guard)
            step.rows = sum(delta.rows.num_rows for delta in deltas)
        return last

    finished = finish(context, WriteJob(incarnation, prepare, info, options, local=attrgetter("local")))
    counts = {delta.entity.table_key: delta.rows.num_rows for delta in deltas}
    return Loaded(counts, finished) if last is None else Loaded(counts, finished, last.cleared, last.remarks)


def _buffer(stream: Iterator[SourcedRows], rows_max: int) -> tuple[list[SourcedRows], bool]:
    """Buffer rows up to the limits of memory; True if these are all."""
    buffered: list[SourcedRows] = []
    rows_held = bytes_held = 0
    for source, typed in stream:
        buffered.append((source, typed))
        rows_held += typed.batch.num_rows
        bytes_held += typed.batch.nbytes
        if rows_held > rows_max or bytes_held > limits.BUFFERED_BYTES_MAX:
            return buffered, False
    return buffered, True


def _drained(buffered: list[SourcedRows], rest: Iterator[SourcedRows]) -> Iterator[SourcedRows]:
    """The buffered rows, then the rest. Each buffered batch is released once it is yielded."""
    buffered.reverse()
    while buffered:
        yield buffered.pop()
    yield from rest


def checked(
    rows: Iterable[SourcedRows],
    violations: Violations,
    progress: Progress | None = None,
    embedding: RowEmbedding | None = None,
    *,
    is_partial: bool = False,
    needs_types: bool = False,
) -> Iterator[SourcedRows]:
    """Stream the rows with values checked and vectors filled in. Required values of partial rows are checked later.

    ``needs_types``: nodes without their type are violations, because they cannot be looked up.
    """
    count = 0
    with nullcontext() if embedding is None else embedding.filling(violations) as fill:
        for source, typed in rows:
            # The reader has reported what a hole stands for; omitted values are checked when rows are complete.
            later = typed.batch.schema.names if typed.has_holes or is_partial else ()
            check_values(typed.entity, typed.batch, typed.places(source), violations, later)
            if needs_types:
                check_named_types(typed, source, violations)
            count += typed.batch.num_rows
            # Rejected rows are left out first: no text is embedded for them.
            good = without_rows(typed, source, violations)
            yield source, good if fill is None else fill(source, good)
            if progress is not None:
                progress(count)
