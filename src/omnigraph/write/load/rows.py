"""A load of any size: in memory while it is small, through disk once it is not. The input is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext

from omnigraph.history.plan import CommitInfo
from omnigraph.manifest.publisher import Published
from omnigraph.manifest.reader import Capture
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Violations
from omnigraph.write import limits
from omnigraph.write.attempt import CHECK, READ, Change
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.plan import PreparedLoad, SourcedRows, gather, prepare_load
from omnigraph.write.preview import Finish, Previewed, publish
from omnigraph.write.vectors.load_vectors import RowEmbedding

Progress = Callable[[int], None]
"""Is told how many rows were read so far."""


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
    """Load rows as one commit: how many entities of each table it brings, and the commit.

    ``violations`` is where the reader of the rows reports; what is wrong with values is added to it. With an
    ``embedding`` the rows were read as it says, and get their vectors here.
    """
    stream = checked(rows, violations, progress, embedding)
    with context.profiler.step(READ) as step:
        buffered, is_all = _buffer(stream)
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

    finished = finish(context, Change(incarnation, prepare, info, options))
    return {delta.entity.table_key: delta.rows.num_rows for delta in deltas}, finished


def _buffer(stream: Iterator[SourcedRows]) -> tuple[list[SourcedRows], bool]:
    """Rows in memory, as many as may be there, and whether these are all."""
    buffered: list[SourcedRows] = []
    rows_held = bytes_held = 0
    for source, typed in stream:
        buffered.append((source, typed))
        rows_held += typed.batch.num_rows
        bytes_held += typed.batch.nbytes
        if rows_held > limits.BUFFERED_ROWS_MAX or bytes_held > limits.BUFFERED_BYTES_MAX:
            return buffered, False
    return buffered, True


def _drained(buffered: list[SourcedRows], rest: Iterator[SourcedRows]) -> Iterator[SourcedRows]:
    """What was buffered, then the rest; nothing is held here once it was given."""
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
    """The rows as they come, with their values checked and the vectors of their texts."""
    count = 0
    with nullcontext() if embedding is None else embedding.filling(violations) as fill:
        for source, typed in rows:
            check_values(typed.entity, typed.batch, typed.places(source), violations)
            count += typed.batch.num_rows
            yield source, typed if fill is None else fill(source, typed)
            if progress is not None:
                progress(count)
