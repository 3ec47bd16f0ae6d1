"""A large input and its plan: the fragments that were written become versions of their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from omnigraph.core.tables import Counts
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite
from omnigraph.history.state import Fence
from omnigraph.manifest.reader import Capture
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.stage import staging
from omnigraph.storage.tables.row_addresses import sorted_by_fragment
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import WriteOptions
from omnigraph.write.load.bulk_images import TableImages
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.keys import InputKeys, KeyTable
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.plan import WRITE_MODES
from omnigraph.write.staging import plan_writes

SetAside = Callable[[Catalog, CommittedKeys], None]
"""Removes rows that break a constraint in one state of the graph."""


@dataclass
class BulkInput:
    """The whole input: fragments and keys, with rows in the same order.

    ``is_handed_over`` is True once a plan with its files may be published: the files must not be deleted from then on.
    """

    keys: InputKeys
    written: Mapping[str, list[staging.WrittenRows]]
    mode: LoadMode
    since: Fence
    """The newest fence known before the first fragment was written."""
    is_handed_over: bool = False
    set_aside: SetAside | None = None
    """Removes rejected rows from the keys before these are checked."""
    noted: Callable[[Fence], frozenset[str]] = lambda _: frozenset()
    """Files that the journal of a running job protects from the cleanup of a fence."""
    found: Violations = field(default_factory=Violations)
    """Violations of the input by itself. They are raised together with those of the checks against the graph."""
    images: dict[str, TableImages] = field(default_factory=dict)
    """Comparison with the committed rows, by table."""
    completed: list[staging.WrittenRows] = field(default_factory=list)
    """The completed rows of every attempt."""

    def counts(self) -> dict[str, int]:
        return {key: table.rows for key, table in self.keys.tables.items()}

    @property
    def cleared(self) -> int:
        """Values that become null because the input does not name them."""
        return sum(images.cleared for images in self.images.values())


@dataclass(frozen=True)
class PreparedBulk:
    """A validated input. The key database holds the addresses of the committed rows that it replaces."""

    store: Store
    input: BulkInput
    reads: frozenset[str]
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return False

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """One version of every table that changes. The fragments exist already, so only metadata is written."""
        tables = sorted(self.input.keys.tables.items())
        staged = [self._assemble_table(capture, table) for _, table in tables if any(self._counts(capture, table))]
        self.input.is_handed_over = True
        return plan_writes(capture, staged, self.reads, info, options)

    def _assemble_table(self, capture: Capture, table: KeyTable) -> tuple[TableWrite, staging.StagedVersion]:
        key = table.entity.table_key
        pin = capture.state.tables[key]
        base = self.store.open(pin.location, pin.lance_version)
        dropped = dict(self._dropped(table, self.input.written[key]))
        added = [kept for part in self.input.written[key] if (kept := _kept(part, dropped)).fragments]
        if self.input.mode is LoadMode.OVERWRITE:
            version = staging.stage_overwrite(self.store, base, pin.location, added)
        else:
            completed = self.input.images[key].completed if key in self.input.images else []
            added = [*added, *completed]
            version = staging.stage_grouped(self.store, base, pin.location, added, self._replaced(table))
        names = {file.path for part in added for fragment in part.fragments for file in fragment.files}
        shortened = [(name, offsets) for name, offsets in dropped.items() if name in names]
        if shortened:
            version = staging.stage_without(self.store, version, shortened)
        mode = WRITE_MODES[self.input.mode]
        counts = self._counts(capture, table)
        return TableWrite(key, pin.location, mode, version.version, version.rows, *counts), version

    def counts(self, capture: Capture) -> dict[str, Counts]:
        return {key: self._counts(capture, table) for key, table in self.input.keys.tables.items()}

    def _counts(self, capture: Capture, table: KeyTable) -> Counts:
        key = table.entity.table_key
        found = self.input.keys.number(f"SELECT count(*) FROM {table.found_name}")
        unchanged = self.input.images[key].unchanged if key in self.input.images else 0
        is_overwrite = self.input.mode is LoadMode.OVERWRITE
        return table.rows - found, found - unchanged, capture.state.tables[key].rows - found if is_overwrite else 0

    def _replaced(self, table: KeyTable) -> Iterator[tuple[int, list[int]]]:
        """Committed rows that are replaced, by fragment."""
        stay = f"ANTI JOIN {table.unchanged_name} u USING (address)" if self._is_compared(table) else ""
        found = self.input.keys.stream(f"SELECT f.address FROM {table.found_name} f {stay} ORDER BY f.address")
        return sorted_by_fragment(batch.column(0) for batch in found)

    def _is_compared(self, table: KeyTable) -> bool:
        return table.entity.table_key in self.input.images

    def _dropped(self, table: KeyTable, added: Sequence[staging.WrittenRows]) -> Iterator[tuple[str, list[int]]]:
        """Offsets of written rows that are not needed, by data file.

        Row numbers count through all fragments of a table. With fragments of 3 and 4 rows and dropped rows 1, 3, 6:
        offset 1 of the first fragment, offsets 0 and 3 of the second.
        """
        names = [table.superseded_name] if table.superseded else []
        if self._is_compared(table) and self.input.mode is not LoadMode.OVERWRITE:
            names.append(table.dropped_name)
        if not names:
            return
        dropped = " UNION ALL ".join(f'SELECT "row" FROM {name}' for name in names)
        start = 0
        for fragment in (fragment for part in added for fragment in part.fragments):
            end = start + fragment.physical_rows
            rows = self.input.keys.stream(
                f'SELECT "row" - {start} FROM ({dropped}) WHERE "row" >= {start} AND "row" < {end} ORDER BY ALL'
            )
            offsets = pa.chunked_array([batch.column(0) for batch in rows], pa.int64()).to_pylist()
            if offsets:
                yield fragment.files[0].path, offsets
            start = end


def _kept(written: staging.WrittenRows, dropped: Mapping[str, Sequence[int]]) -> staging.WrittenRows:
    """The fragments that keep a row, and their files."""
    kept = tuple(
        fragment
        for fragment in written.fragments
        if len(dropped.get(fragment.files[0].path, ())) < fragment.physical_rows
    )
    if len(kept) == len(written.fragments):
        return written
    gone = {file.path for fragment in written.fragments if fragment not in kept for file in fragment.files}
    files = tuple(record for record in written.files if not any(name in record.path for name in _stems(gone)))
    return replace(written, fragments=kept, files=files, rows=sum(item.physical_rows for item in kept))


def _stems(names: set[str]) -> set[str]:
    """Names of data files without their ending: blobs lie in a directory of that name."""
    return {name.rpartition(".")[0] for name in names}
