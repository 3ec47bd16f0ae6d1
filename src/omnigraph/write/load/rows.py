"""A load of any size: in memory up to a limit, through disk beyond it. The input is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext

from omnigraph.history.plan import CommitInfo
from omnigraph.manifest.publisher import Published
from omnigraph.manifest.reader import Capture
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Violations
from omnigraph.write import limits
from omnigraph.write.attempt import CHECK, READ, WriteJob
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.plan import PreparedLoad, SourcedRows, gather, prepare_load
from omnigraph.write.preview import Finish, Previewed, publish
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
) -> tuple[dict[str, int], Published | Previewed]:
    """Load rows as one atomic commit; returns the number of entities by table, and the commit or its preview.

    The reader of the rows reports into ``violations``; this adds violations of values. With an ``embedding``, the rows
    were read with its ``reading`` catalog and get their vectors here.
    """
    stream = checked(rows, violations, progress, embedding)
    with context.profiler.step(READ) as step:
        buffered, is_all = _buffer(stream, context.store.tuning.buffered_rows_max)
        # The rows of a larger load are counted when all of them are read.
        step.rows = sum(typed.batch.num_rows for _, typed in buffered) if is_all else 0
    if not is_all:
        from omnigraph.write.load.bulk import load_bulk

        return load_bulk(context, incarnation, _drained(buffered, stream), mode, violations, info, options, finish)
    with context.profiler.step(CHECK):
        deltas = gather(buffered, mode, violations)

    def prepare(capture: Capture) -> PreparedLoad:
        with context.profiler.step(CHECK) as step:
            load = prepare_load(context.store, capture, deltas, mode)
            step.rows = sum(delta.rows.num_rows for delta in load.deltas.values())
        return load

    finished = finish(context, WriteJob(incarnation, prepare, info, options))
    return {delta.entity.table_key: delta.rows.num_rows for delta in deltas}, finished


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
    finish: Finish = publish,
) -> Iterator[SourcedRows]:
    """Stream the rows with values checked and vectors filled in."""
    count = 0
    with nullcontext() if embedding is None else embedding.filling(violations) as fill:
        for source, typed in rows:
            check_values(typed.entity, typed.batch, typed.places(source), violations)
            count += typed.batch.num_rows
            yield source, typed if fill is None else fill(source, typed)
            if progress is not None:
                progress(count)
