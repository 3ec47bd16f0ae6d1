"""Few large files from many small tasks: the driver rewrites the fragments of small slices together.

Spark decides the number of tasks, and a frame of some thousand rows may have hundreds. Each of them writes a fragment,
and every later scan would open all of them. Consecutive slices of frames are therefore joined before the checks read
them; the joined slice has the rows of all in the same order. Work on the driver is bounded: slices of many rows or
bytes stay as they are, and so do all slices if there are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import table_schema
from omnigraph.rows.omissions import joined_cells
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.cluster import limits
from omnigraph.spark.load.id_ranges import joined_ranges
from omnigraph.spark.load.omitted_runs import OmittedRuns
from omnigraph.spark.load.slices import InputSlice, SliceTable, discard_slice
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.stage import staging
from omnigraph.storage.stage.discard import discard_version
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True, slots=True)
class FoldedSlices:
    """Slices in the order of the input. ``origins`` has the position that the first part of each had before."""

    slices: list[InputSlice]
    origins: list[int]


def fold_slices(
    store: Store, pins: Mapping[str, TablePin], catalog: Catalog, slices: Sequence[InputSlice]
) -> FoldedSlices:
    """Join consecutive small slices of frames. The fragments that are replaced are deleted; after a failure, all."""
    found = FoldedSlices([], [])
    try:
        for group in _groups(slices):
            chosen = [slices[place] for place in group]
            found.slices.append(chosen[0] if len(chosen) == 1 else _joined(store, pins, catalog, chosen))
            found.origins.append(group[0])
    except BaseException:
        for one in (*slices, *found.slices):
            discard_slice(store, one)
        raise
    return found


def _groups(slices: Sequence[InputSlice]) -> Iterator[list[int]]:
    """Positions of slices that are written together; a group of one stays as it is."""
    if sum(map(_is_small, slices)) <= limits.SMALL_SLICES_MAX:
        yield from ([place] for place in range(len(slices)))
        return
    group: list[int] = []
    rows = size = 0
    for place, one in enumerate(slices):
        if not one.tables and not _is_faulty(one):
            # The slice of an empty task has no line, so its place among others does not matter.
            yield [place]
            continue
        fits = _is_small(one) and (not group or slices[group[0]].tables.keys() == one.tables.keys())
        if group and (not fits or rows >= limits.FOLDED_ROWS or size >= limits.FOLDED_BYTES):
            yield group
            group, rows, size = [], 0, 0
        if not _is_small(one):
            yield [place]
            continue
        group.append(place)
        rows, size = rows + one.rows, size + _bytes(one)
    if group:
        yield group


def _is_small(one: InputSlice) -> bool:
    """True for the slice of a frame with few rows and bytes, none of them rejected."""
    is_frame = len(one.tables) == 1 and not _is_faulty(one)
    return is_frame and one.rows < limits.SMALL_SLICE_ROWS and _bytes(one) < limits.SMALL_SLICE_BYTES


def _is_faulty(one: InputSlice) -> bool:
    return bool(one.violations.total or one.rejected)


def _bytes(one: InputSlice) -> int:
    written = (rows for table in one.tables.values() for rows in table.written)
    return sum(file.file_size_bytes or 0 for rows in written for item in rows.fragments for file in item.files)


def _joined(store: Store, pins: Mapping[str, TablePin], catalog: Catalog, slices: Sequence[InputSlice]) -> InputSlice:
    (key,) = slices[0].tables
    kind, _, name = key.partition(":")
    entity = catalog.nodes[name] if kind == "node" else catalog.edges[name]
    tables = [one.tables[key] for one in slices]
    pin = pins[key]
    base = store.open(pin.location, pin.lance_version)
    version = staging.stage_overwrite(store, base, pin.location, [part for table in tables for part in table.written])
    try:
        with translated(f"rows of {key} cannot be read", table=key):
            staged = store.open(version.location, version.version)
            rows: pa.Table = staged.scanner(blob_handling="all_binary", scan_in_order=True).to_table()
        written = staging.write_rows(store, base, pin.location, rows)
    finally:
        discard_version(store, version)
    for one in slices:
        discard_slice(store, one)
    columns = len(table_schema(entity))
    cells = joined_cells(
        [(table.rows, None if table.omitted is None else table.omitted.cells(columns)) for table in tables], columns
    )
    joined = SliceTable(
        sum(table.rows for table in tables),
        1,
        (written,),
        None if cells is None else OmittedRuns.of(cells),
        joined_ranges(table.ids for table in tables),
    )
    return InputSlice(reduce(lambda spans, one: (*spans, *one.spans), slices, ()), slices[0].violations, {key: joined})
