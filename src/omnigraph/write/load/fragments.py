"""Fragment writer of a large load: a second thread writes one fragment while the next rows are read.

Memory is bounded by the pending rows of incomplete fragments, and one fragment that is being written. The names of all
files are recorded, so a failed load deletes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

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
    """Rows of one type that wait for a full fragment."""

    pieces: list[Piece] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0


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
        self._writing: Future[None] | None = None

    def add(self, source: str, rows: TypedRows) -> None:
        """Add rows; starts to write a full fragment, or the largest one if too many bytes are pending."""
        refuse_external(rows.entity)
        key = rows.table_key
        pending = self._pending.setdefault(key, _Pending())
        if pending.rows + rows.batch.num_rows > ROWS_PER_FILE_MAX:
            self._submit(key)
            pending = self._pending.setdefault(key, _Pending())
        pending.pieces.append((self._notes.source(source), rows))
        pending.rows += rows.batch.num_rows
        pending.bytes += rows.batch.nbytes
        if pending.bytes >= self._store.tuning.fragment_bytes:
            self._submit(key)
        elif sum(item.bytes for item in self._pending.values()) >= self._store.tuning.pending_bytes_max:
            self._submit(max(self._pending, key=lambda key: self._pending[key].bytes))

    def only_note(self) -> None:
        """From now on only note rows: the load will fail, and its remaining rows are checked but not written."""
        self._is_writing = False

    def finish(self) -> None:
        """Start to write all pending rows. The notes are complete then."""
        for key in sorted(self._pending):
            self._submit(key)

    def wait(self) -> None:
        """Wait for the fragment in progress; raises its failure."""
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def close(self) -> None:
        """Stop the second thread after the fragment in progress."""
        self._pending.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def discard(self) -> None:
        """Delete every file that was written."""
        for parts in self.written.values():
            for part in parts:
                discard_rows(self._store, part)
        self.written.clear()

    def _submit(self, key: str) -> None:
        pieces = self._pending.pop(key).pieces
        self.wait()
        if self._is_writing:
            self._writing = self._pool.submit(self._write, key, pieces)
        self._notes.add(pieces[0][1].entity, pieces)

    def _write(self, key: str, pieces: list[Piece]) -> None:
        pin = self._pins[key]
        batches = [rows.batch if rows.omitted is None else with_stand_ins(rows.batch) for _, rows in pieces]
        reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
        written = write_rows(self._store, self._store.open(pin.location, pin.lance_version), pin.location, reader)
        self.written.setdefault(key, []).append(written)
        # Staging syncs these files too; here it overlaps with reading the next rows.
        sync_files(self._store.root, [record.path for record in written.files], self._store.durability)
