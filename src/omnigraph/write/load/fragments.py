"""Fragment writer of a large load: a second thread writes a fragment while its rows are read.

Rows reach the open fragment in chunks, so memory is bounded by a few chunks and by the pending rows of the other types:
one fragment is open at a time, and a type waits for its turn until it has rows for a fragment of its own. The names of
all files are recorded, so a failed load deletes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Full, Queue
from typing import Final, Protocol

import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.omissions import with_stand_ins
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.storage.objects.durability import sync_files
from omnigraph.storage.stage.discard import discard_rows
from omnigraph.storage.stage.staging import ROWS_PER_FILE_MAX, WrittenRows, write_rows
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.keys import Piece
from omnigraph.write.type_tables import refuse_external

CHUNKS_WAITING_MAX: Final = 1
"""Chunks that wait for the writing thread: one while it writes another keeps it busy."""

PATIENCE_SECONDS: Final = 0.1
"""Interval at which a full queue is checked for a writing thread that has failed."""


class RowNotes(Protocol):
    """Receiver of rows beside their fragments: keys into a database, or only the places of rows."""

    def source(self, name: str) -> int:
        """The number of a source. Sources arrive one after the other."""
        ...

    def add(self, entity: Entity, pieces: Sequence[Piece]) -> None:
        """Record rows, in the order in which they are written."""
        ...


@dataclass
class _Pending:
    """Rows of one type that wait for their fragment."""

    pieces: list[Piece] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0


@dataclass
class _Open:
    """The fragment that is being written. None in the queue ends it."""

    key: str
    chunks: Queue[list[Piece] | None]
    written: Future[None]
    rows: int = 0
    bytes: int = 0

    def send(self, chunk: list[Piece] | None) -> None:
        """Hand over rows, or the end; raises the failure of the writing thread instead of waiting for it."""
        while True:
            try:
                return self.chunks.put(chunk, timeout=PATIENCE_SECONDS)
            except Full:
                if self.written.done():
                    return self.written.result()


class FragmentWriter:
    """Writes the rows of any number of types. ``written`` is complete after ``wait``."""

    def __init__(self, store: Store, pins: Mapping[str, TablePin], notes: RowNotes) -> None:
        self.written: dict[str, list[WrittenRows]] = {}
        self._store = store
        self._pins = pins
        self._notes = notes
        self._pending: dict[str, _Pending] = {}
        self._is_writing = True
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="omnigraph-load")
        self._open: _Open | None = None
        self._ending: Future[None] | None = None

    def add(self, source: str, rows: TypedRows) -> None:
        """Add rows; hands a full chunk to the open fragment, or opens one for the type with the most pending rows."""
        refuse_external(rows.entity)
        key = rows.table_key
        if self._rows(key) + rows.batch.num_rows > ROWS_PER_FILE_MAX:
            self._hand_over(key)
            self._end()
        pending = self._pending.setdefault(key, _Pending())
        pending.pieces.append((self._notes.source(source), rows))
        pending.rows += rows.batch.num_rows
        pending.bytes += rows.batch.nbytes
        tuning = self._store.tuning
        is_others = self._open is not None and self._open.key != key
        if pending.bytes >= (tuning.fragment_bytes if is_others else min(tuning.chunk_bytes, tuning.fragment_bytes)):
            self._hand_over(key)
        elif sum(item.bytes for item in self._pending.values()) >= tuning.pending_bytes_max:
            self._hand_over(max(self._pending, key=lambda key: self._pending[key].bytes))

    def only_note(self) -> None:
        """From now on only note rows: the load will fail, and its remaining rows are checked but not written."""
        self._end()
        self._is_writing = False

    def finish(self) -> None:
        """Hand over all pending rows. The notes are complete then."""
        # The rows of the open fragment first: another type would end it and leave them a small one.
        first = self._open.key if self._open else None
        for key in sorted(self._pending, key=lambda key: (key != first, key)):
            self._hand_over(key)
        self._end()

    def wait(self) -> None:
        """Wait for the fragment in progress; raises its failure."""
        if self._ending is not None:
            ending, self._ending = self._ending, None
            ending.result()

    def close(self) -> None:
        """Stop the second thread after the fragment in progress."""
        self._pending.clear()
        try:
            self._end()
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def discard(self) -> None:
        """Delete every file that was written."""
        for parts in self.written.values():
            for part in parts:
                discard_rows(self._store, part)
        self.written.clear()

    def _rows(self, key: str) -> int:
        """Rows that the current fragment of a type has or will have."""
        pending = self._pending.get(key)
        is_open = self._open is not None and self._open.key == key
        return (pending.rows if pending else 0) + (self._open.rows if self._open and is_open else 0)

    def _hand_over(self, key: str) -> None:
        """Pass the pending rows of a type to its fragment, and end the fragment that is full."""
        pending = self._pending.pop(key, None)
        if pending is None:
            return
        if self._is_writing:
            if self._open is None or self._open.key != key:
                self._end()
                self._start(key)
            assert self._open is not None
            self._open.send(pending.pieces)
            self._open.rows += pending.rows
            self._open.bytes += pending.bytes
        self._notes.add(pending.pieces[0][1].entity, pending.pieces)
        if self._open is not None and self._open.bytes >= self._store.tuning.fragment_bytes:
            self._end()

    def _start(self, key: str) -> None:
        self.wait()
        chunks: Queue[list[Piece] | None] = Queue(CHUNKS_WAITING_MAX)
        self._open = _Open(key, chunks, self._pool.submit(self._write, key, chunks))

    def _end(self) -> None:
        """End the open fragment; the thread completes and syncs it while the next rows are read."""
        if self._open is not None:
            self._ending = self._open.written
            # Only then forgotten: an interrupt in between must not leave the thread without its end.
            self._open.send(None)
            self._open = None

    def _write(self, key: str, chunks: Queue[list[Piece] | None]) -> None:
        pin = self._pins[key]
        first = chunks.get()
        assert first is not None
        reader = pa.RecordBatchReader.from_batches(first[0][1].batch.schema, _batches(first, chunks))
        written = write_rows(self._store, self._store.open(pin.location, pin.lance_version), pin.location, reader)
        self.written.setdefault(key, []).append(written)
        # Staging syncs these files too; here it overlaps with reading the next rows.
        sync_files(self._store.root, [record.path for record in written.files], self._store.durability)


def _batches(chunk: list[Piece] | None, chunks: Queue[list[Piece] | None]) -> Iterator[pa.RecordBatch]:
    while chunk is not None:
        for _, rows in chunk:
            yield rows.batch if rows.omitted is None else with_stand_ins(rows.batch)
        # Without a reference to the last rows while waiting for the next, their memory is free.
        del rows, chunk
        chunk = chunks.get()
