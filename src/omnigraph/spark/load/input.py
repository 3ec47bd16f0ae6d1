"""The input of a load after its tasks: fragments in input order, and the origin of every row.

For each type the fragments form a table version that holds the input and nothing else. No manifest references it. The
checks read the input from it like any table, and the address of a row in it identifies the row.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from omnigraph.core.tables import TablePin
from omnigraph.errors import OmnigraphError
from omnigraph.history.state import Fence
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.violations import Place, Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.load.id_ranges import IdRange, joined_ranges
from omnigraph.spark.load.journal import Journal
from omnigraph.spark.load.slices import InputSlice, LineSpan, discard_slice
from omnigraph.storage.stage import staging
from omnigraph.storage.stage.discard import discard_version
from omnigraph.storage.tables.row_addresses import OFFSET_BITS, by_fragment
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.type_tables import refuse_external
from omnigraph.write.violations import violation_error

RowLines = Mapping[tuple[int, str], Mapping[int, int]]
"""By slice and type: the line of each row, both counted within the slice."""


class LineFinder(Protocol):
    """Finds the lines of rows, given by slice and type, that the tasks did not record."""

    def __call__(self, wanted: Mapping[tuple[int, str], Sequence[int]]) -> RowLines: ...


@dataclass
class InputTable:
    """The rows of one type. ``superseded`` rows are excluded: a later row has the same id, or the row was rejected."""

    entity: Entity
    written: list[staging.WrittenRows]
    complete: staging.StagedVersion
    """The version with every written row."""
    version: staging.StagedVersion
    """The version without superseded rows."""
    origins: Mapping[int, tuple[int, int]]
    """By fragment number: the slice that wrote it, and the number of rows of the slice before it."""
    ids: IdRange | None = None
    """The range of the ids, if they ascend within each slice and no two slices overlap. Then none is a duplicate."""
    superseded: dict[str, list[int]] = field(default_factory=dict)
    """Row offsets by data file."""

    @property
    def pin(self) -> TablePin:
        """A pin of the version without superseded rows."""
        return self._pin(self.version)

    @property
    def complete_pin(self) -> TablePin:
        """A pin of the version that includes superseded rows."""
        return self._pin(self.complete)

    def _pin(self, version: staging.StagedVersion) -> TablePin:
        return TablePin(self.entity.table_key, version.location, version.version, 1, version.rows)

    rows_brought: int | None = None
    """Loaded entities as counted by the driver's checks, which create no version without superseded rows."""

    @property
    def rows(self) -> int:
        """Number of loaded entities: every id once."""
        return self.version.rows if self.rows_brought is None else self.rows_brought


@dataclass
class LoadInput:
    """The whole input. ``is_handed_over`` is set once a plan that references its files may be published."""

    store: Store
    mode: LoadMode
    slices: Sequence[InputSlice]
    find_lines: LineFinder | None = None
    tables: dict[str, InputTable] = field(default_factory=dict)
    retired: list[staging.StagedVersion] = field(default_factory=list)
    is_settled: bool = False
    is_handed_over: bool = False
    cleared: int = 0
    """Values that become null because the input does not name them, as counted by the driver's checks."""
    disposable: Callable[[], Sequence[InputSlice]] | None = None
    """Returns the slices that no other run of the load may publish; None if there can be no other run."""
    journal: Journal | None = None
    """The journal that protects the files from cleanup, if the load has one."""
    replaced: frozenset[str] = frozenset()
    """Tables to overwrite even if the input has no rows for them."""

    def known_fence(self, since: Fence) -> Fence:
        """The newest fence known before the first file was written; none for a resumed load: its files may be older."""
        return Fence() if self.journal is not None and self.journal.turn else since

    def noted(self, fence: Fence) -> frozenset[str]:
        """Files that the journal protected from the cleanup run of a fence."""
        return frozenset() if self.journal is None else self.journal.protected(fence)

    @property
    def rows_written(self) -> int:
        """Rows written by the tasks, including superseded ones."""
        return sum(table.rows for input_slice in self.slices for table in input_slice.tables.values())

    def counts(self) -> dict[str, int]:
        return {key: table.rows for key, table in self.tables.items()}

    def violations(self) -> Violations:
        """The violations that tasks found, with places in the sources."""
        found = Violations()
        located = Sources(self.slices)
        for number, input_slice in enumerate(self.slices):
            found.absorb(_located(input_slice.violations, partial(located.place, number)))
        return found

    def assemble(self, catalog: Catalog, pins: Mapping[str, TablePin]) -> None:
        """Stage one version per type from the fragments; raises if the tasks found violations."""
        violations = self.violations()
        if violations.total:
            raise violation_error(violations)
        for key in sorted(self.replaced.union(*(input_slice.tables for input_slice in self.slices))):
            kind, _, name = key.partition(":")
            entity = catalog.nodes[name] if kind == "node" else catalog.edges[name]
            refuse_external(entity)
            pin = pins[key]
            written = [rows for input_slice in self.slices for rows in _written(input_slice, key)]
            base = self.store.open(pin.location, pin.lance_version)
            version = staging.stage_overwrite(self.store, base, pin.location, written)
            fragments = self.store.open(version.location, version.version).get_fragments()
            numbers = [fragment.fragment_id for fragment in fragments]
            origins = dict(zip(numbers, self._origins(key), strict=True))
            found = (one.tables[key].ids for one in self.slices if key in one.tables and one.tables[key].rows)
            self.tables[key] = InputTable(entity, written, version, version, origins, joined_ranges(found))

    def _origins(self, key: str) -> Iterator[tuple[int, int]]:
        for number, input_slice in enumerate(self.slices):
            before = 0
            for fragment in (item for rows in _written(input_slice, key) for item in rows.fragments):
                yield number, before
                before += fragment.physical_rows

    def supersede(self, key: str, rows: Iterable[int]) -> None:
        """Exclude rows, given by address, from the input."""
        table = self.tables[key]
        base = self.store.open(table.version.location, table.version.version)
        chosen = list(rows)
        groups = list(by_fragment(chosen))
        table.superseded = self.dropping(key, chosen, table.superseded)
        # Lazy frames may still read the previous version, so it is deleted only at the end of the load.
        self.retired.append(table.version)
        table.version = staging.stage_grouped(self.store, base, table.version.location, [], groups)

    def dropping(self, key: str, rows: Iterable[int], dropped: Mapping[str, list[int]]) -> dict[str, list[int]]:
        """Offsets of dropped rows by data file, with further rows, given by address."""
        complete = self.tables[key].complete
        fragments = self.store.open(complete.location, complete.version).get_fragments()
        names = {fragment.fragment_id: fragment.metadata.files[0].path for fragment in fragments}
        found = dict(dropped)
        for number, offsets in by_fragment(rows):
            found[names[number]] = sorted([*found.get(names[number], []), *offsets])
        return found

    def places(self, key: str, rows: Sequence[int]) -> dict[int, Place]:
        """Places of input rows in their sources, by address."""
        sources = Sources(self.slices)
        return {address: sources.place(number, line) for address, (number, line) in self.lines(key, rows).items()}

    def lines(self, key: str, rows: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Slice and line of input rows, by address."""
        table = self.tables[key]
        unknown: dict[tuple[int, str], list[int]] = {}
        located: dict[int, tuple[int, int]] = {}
        for address in rows:
            number, before = table.origins[address >> OFFSET_BITS]
            row = before + (address & ((1 << OFFSET_BITS) - 1))
            located[address] = (number, row)
            if self.slices[number].tables[key].first_line is None:
                unknown.setdefault((number, key), []).append(row)
        assert not unknown or self.find_lines is not None, "rows of frames have no gaps"
        found = self.find_lines(unknown) if unknown and self.find_lines is not None else {}
        lines = {}
        for address, (number, row) in located.items():
            first = self.slices[number].tables[key].first_line
            lines[address] = (number, found[number, key][row] if first is None else first + row)
        return lines

    def addresses(self, number: int, key: str, rows: Iterable[int]) -> list[int]:
        """Addresses of the rows of a slice in the version of the input."""
        own = sorted((first, at) for at, (owner, first) in self.tables[key].origins.items() if owner == number)
        places = ((row, own[bisect_right(own, (row, sys.maxsize)) - 1]) for row in rows)
        return [(fragment << OFFSET_BITS) | (row - first) for row, (first, fragment) in places]

    def discard(self, *, with_data: bool) -> None:
        """Delete the staged input versions and, ``with_data``, the fragments that no other version may reference."""
        try:
            for version in [*self.retired, *(table.version for table in self.tables.values())]:
                discard_version(self.store, version)
            if with_data:
                for input_slice in self.slices if self.disposable is None else self.disposable():
                    discard_slice(self.store, input_slice)
        except OmnigraphError:
            # Remaining files are garbage for cleanup; the outcome of the load takes precedence.
            return


def _written(input_slice: InputSlice, key: str) -> tuple[staging.WrittenRows, ...]:
    return input_slice.tables[key].written if key in input_slice.tables else ()


class Sources:
    """Maps lines of slices to lines of their sources.

    A slice knows only the number of its own lines. Summing the lines of the spans before it, in source order, gives the
    line in the whole file.
    """

    def __init__(self, slices: Sequence[InputSlice]) -> None:
        self._slices = slices
        self._before: dict[tuple[int, str, int], int] = {}
        by_source: dict[tuple[int, str], list[LineSpan]] = {}
        for span in (span for input_slice in slices for span in input_slice.spans):
            by_source.setdefault((span.entry, span.source), []).append(span)
        for spans in by_source.values():
            before = 0
            for span in sorted(spans, key=lambda span: span.start):
                self._before[span.entry, span.source, span.start] = before
                before += span.lines

    def place(self, number: int, line: int) -> Place:
        """The place of a line of a slice in its source."""
        spans = self._slices[number].spans
        for span in spans:
            if line <= span.lines:
                return Place(span.source, self._before[span.entry, span.source, span.start] + line)
            line -= span.lines
        raise AssertionError(f"slice {number} has no such line")


def _located(violations: Violations, place: Callable[[int], Place]) -> Violations:
    """The violations of a slice, with places in its sources."""
    located = Violations()
    for sample in violations.samples:
        kind = (sample.code, sample.table_key, sample.property)
        at = None if sample.place is None else place(sample.place.line)
        located.add_group(kind, 0, [replace(sample, place=at)])
    for kind, count in violations.counts.items():
        located.add_group(kind, count, [])
    return located
