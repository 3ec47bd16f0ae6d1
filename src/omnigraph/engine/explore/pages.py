"""Pages of the entities of one type: filtered, sorted and counted in one scan that reads the sorted column only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.explore.conditions import Condition, column_type, matching
from omnigraph.engine.tabular import BATCH_ROWS
from omnigraph.engine.views.view import EntityView
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import ID

PAGE_ROWS_MAX: Final = 1_000
PAGE_END_MAX: Final = 100_000
"""The last row of a page: all rows before it are kept in memory while sorting."""
_IS_GIVEN: Final = "\0is_given"


@dataclass(frozen=True, slots=True)
class PageOptions:
    """The conditions, the order and the place of a page. Without ``sort``, rows are in the order of their ids."""

    conditions: Sequence[Condition] = ()
    sort: str = ID
    descending: bool = False
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a page, and the number of all entities that the conditions keep."""

    rows: pa.Table
    total: int


def read_page(view: EntityView, options: PageOptions) -> Page:
    """One page of a view. Null is smallest, and equal values are ordered by id."""
    if not 0 <= options.limit <= PAGE_ROWS_MAX:
        raise UsageError(f"a page has at most {PAGE_ROWS_MAX:,} entities, not {options.limit:,}")
    end = options.offset + options.limit
    if options.offset < 0 or end > PAGE_END_MAX:
        raise UsageError(f"a page ends at entity {PAGE_END_MAX:,} at most, not {end:,}", hint="narrow the conditions")
    kept = matching(view, options.conditions)
    ids, total = _ids(kept, options, end)
    return Page(rows_of(view, ids), total)


def rows_of(view: EntityView, ids: Sequence[str]) -> pa.Table:
    """The rows with these ids, in this order; ids without an entity are left out."""
    if not ids:
        return view.schema.empty_table()
    names = view.schema.names
    wanted = view if ID in names else view.select(ID, *names)
    rows = wanted.where(id=list(ids)).arrow()
    places = pc.index_in(pa.array(ids, pa.utf8()), value_set=rows.column(ID).combine_chunks().cast(pa.utf8()))
    return rows.take(places.drop_null()).select(names)


def _ids(view: EntityView, options: PageOptions, end: int) -> tuple[list[str], int]:
    """The ids of a page, and the number of all rows. Never more than the first ``end`` rows are kept."""
    type_ = column_type(view.type_name, view.column_types(), options.sort)
    if not type_.is_plain_scalar:
        raise UsageError(
            f"{options.sort} is {type_}, which has no order",
            hint="sort by another property",
            property=options.sort,
        )
    first: pa.Table | None = None
    total = 0
    for batch in view.select(*dict.fromkeys((options.sort, ID))).batches(BATCH_ROWS):
        total += batch.num_rows
        rows = pa.Table.from_batches([batch])
        first = _first(rows if first is None else pa.concat_tables([first, rows]), options, end)
    return ([] if first is None else first.column(ID).to_pylist()[options.offset :]), total


def _first(rows: pa.Table, options: PageOptions, count: int) -> pa.Table:
    order = "descending" if options.descending else "ascending"
    if options.sort == ID:
        return rows.take(pc.sort_indices(rows, sort_keys=[(ID, order)])[:count])
    # Null is smallest: a flag in front of the value, because how Arrow places nulls differs between its releases.
    flagged = rows.append_column(_IS_GIVEN, pc.is_valid(rows.column(options.sort)))
    keys = [(_IS_GIVEN, order), (options.sort, order), (ID, "ascending")]
    return rows.take(pc.sort_indices(flagged, sort_keys=keys)[:count])
