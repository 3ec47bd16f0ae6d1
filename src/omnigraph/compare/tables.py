"""Difference of two versions of a table: inserted, updated and deleted entities, with both images as Arrow.

Merge, diff, change feed and revert use it. Fragments are compared first (``storage.tables.difference``), and only rows
that can differ are read. Rows that were moved or rewritten unchanged do not appear. Properties are matched by stable
id, so a rename is no change; a property that a version lacks is null there. Blobs are represented by descriptors:
``size``, and ``place``, which identifies the bytes in the store.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import BLOB_METADATA, Entity, stored_fields, table_schema
from omnigraph.rows.compare import differs, match
from omnigraph.rows.ends.references import type_columns
from omnigraph.storage.tables.blobs import blob_places, blob_values
from omnigraph.storage.tables.difference import (
    ADDRESS,
    Difference,
    Piece,
    count_rows,
    difference,
    pieces_with,
    read_pieces,
)
from omnigraph.storage.tables.lance_table import IDS_PER_FILTER_MAX, open_table
from omnigraph.storage.tables.store import Store
from omnigraph.storage.tables.table_schema import column_numbers, numbers_within

BLOB_TYPE = pa.struct([pa.field("size", pa.uint64()), pa.field("place", pa.string())])
"""Descriptor of a blob in changes."""

Pins = tuple[TablePin | None, TablePin | None]
Images = tuple[pa.Table, pa.Table]
"""Rows of two versions."""


@dataclass(frozen=True)
class TableChanges:
    """The difference of one table. Each Arrow table has the columns of the type, and ``_rowaddr`` as read.

    ``before`` and ``after`` are the images of updated entities, row by row; ``differs`` masks the changed rows of each
    column. ``unsure`` masks, after a criss-cross merge, rows without a single base value.

    =====  =======  ========  =============
    id     before   after     appears in
    =====  =======  ========  =============
    a      1        1         nowhere
    b      1        2         ``before``, ``after``, ``differs``
    c      1        null      ``before``, ``after``, ``differs``
    d      absent   1         ``inserted``
    e      1        absent    ``deleted``
    =====  =======  ========  =============
    """

    entity: Entity
    inserted: pa.Table
    deleted: pa.Table
    before: pa.Table
    after: pa.Table
    differs: Mapping[str, pa.BooleanArray]
    unsure: Mapping[str, pa.BooleanArray] = dataclasses.field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.inserted.num_rows or self.deleted.num_rows or self.after.num_rows)

    def ids(self) -> list[str]:
        """Ids of all changed entities."""
        tables = (self.inserted, self.deleted, self.after)
        return [id_ for table in tables for id_ in table.column("id").to_pylist()]


def changes_schema(entity: Entity) -> pa.Schema:
    """The Arrow schema of changes of a type."""
    fields = [
        pa.field(field.name, BLOB_TYPE if is_blob(field) else field.type, metadata=field.metadata)
        for field in table_schema(entity)
    ]
    return pa.schema([*fields, pa.field(ADDRESS, pa.uint64())])


def is_blob(field: pa.Field) -> bool:
    return all((field.metadata or {}).get(key.encode()) == value.encode() for key, value in BLOB_METADATA.items())


def table_changes(
    store: Store,
    entity: Entity,
    before: TablePin | None,
    after: TablePin | None,
    ids: Sequence[str] | None = None,
) -> TableChanges:
    """Compare two versions of a table, restricted to some ids if given. None stands for an absent table.

    Holds the rows that can differ in memory.
    """
    pieces = table_pieces(store, entity, before, after)
    old = read_changes(store, entity, before, pieces.before, ids)
    new = read_changes(store, entity, after, pieces.after, ids)
    return compared(store, entity, (before, after), (old, new))


def table_pieces(store: Store, entity: Entity, before: TablePin | None, after: TablePin | None) -> Difference:
    """Rows of two versions that can differ in the columns of a type. Reads no row."""
    return difference(store, before, after, _apart(store, entity, before, after))


def compared(store: Store, entity: Entity, pins: Pins, rows: Images) -> TableChanges:
    """Compare rows of two versions. For each id, the images hold every row that can differ, or none."""
    old, new = rows
    found = match(flat(old, "id"), flat(new, "id"))
    images = (old.take(found.before), new.take(found.after))
    masks = {
        field.name: column_differs(store, entity, field, pins, images)
        for field in table_schema(entity)
        if field.name != "id"
    }
    changed = _any(masks.values(), images[0].num_rows)
    return TableChanges(
        entity,
        inserted=new.take(found.only_after),
        deleted=old.take(found.only_before),
        before=images[0].filter(changed),
        after=images[1].filter(changed),
        differs={name: mask.filter(changed) for name, mask in masks.items()},
    )


def _apart(store: Store, entity: Entity, before: TablePin | None, after: TablePin | None) -> frozenset[int]:
    """Numbers of columns that hold a property in only one of two versions.

    Equal fragments with different columns hold different entities, so these columns must not be skipped.
    """
    if before is None or after is None or before.lance_version == after.lance_version:
        return frozenset()
    if before.is_external and after.is_external:
        # The identity of an external file includes the columns that it is read as.
        return frozenset()
    found: set[int] = set()
    one, other = (store.open(pin.location, pin.lance_version) for pin in (before, after))
    if column_numbers(one) == column_numbers(other):
        return frozenset()
    shown = [(dataset, stored_fields(entity, dataset.schema)) for dataset in (one, other)]
    for name in (*entity.properties, *type_columns(entity)):
        numbers = [numbers_within(dataset, known[name].name) for dataset, known in shown if name in known]
        if len(numbers) < len(shown) or numbers[0] != numbers[1]:
            found.update(*numbers)
    return frozenset(found)


def rows_compared(store: Store, before: TablePin | None, after: TablePin | None) -> int:
    """Upper bound of the rows that a comparison reads, computed without reading any."""
    pieces = difference(store, before, after)
    sides = ((before, pieces.before), (after, pieces.after))
    return sum(count_rows(store, pin, some) for pin, some in sides if pin is not None and some)


def read_changes(
    store: Store, entity: Entity, pin: TablePin | None, pieces: Sequence[Piece], ids: Sequence[str] | None = None
) -> pa.Table:
    """Rows of a version in the schema of changes: all rows of the pieces, or those with one of the ids."""
    schema = changes_schema(entity)
    if pin is None or not pieces or (ids is not None and not ids):
        return schema.empty_table()
    stored = stored_fields(entity, open_table(store, pin).schema)
    read = read_pieces(store, pin, pieces, stored, ids)
    arrays = []
    for field in schema:
        if field.name not in read.schema.names:
            arrays.append(pa.nulls(read.num_rows, field.type))
        elif field.type == BLOB_TYPE:
            addresses = flat(read, ADDRESS)
            arrays.append(
                blob_places(store, pin, stored[field.name].name, addresses, flat(read, field.name), BLOB_TYPE)
            )
        else:
            arrays.append(flat(read, field.name))
    return pa.Table.from_arrays(arrays, schema=schema)


def rows_of(store: Store, entity: Entity, pin: TablePin | None, ids: Sequence[str]) -> pa.Table:
    """Some entities of a version in the schema of changes."""
    if pin is None or len(ids) > IDS_PER_FILTER_MAX:
        return rows_with(store, entity, pin, "id", ids)
    fragments = open_table(store, pin).fragments()
    return read_changes(store, entity, pin, [Piece(fragment.number) for fragment in fragments], ids)


def rows_with(store: Store, entity: Entity, pin: TablePin | None, column: str, values: Sequence[str]) -> pa.Table:
    """The entities of a version whose id, or end of an edge, is one of the values, in the schema of changes."""
    pieces = [] if pin is None else pieces_with(store, pin, column, values)
    return read_changes(store, entity, pin, pieces)


def column_blobs(store: Store, entity: Entity, pin: TablePin, name: str, addresses: pa.Array) -> pa.Array:
    """The bytes of a blob property at some row addresses of a version."""
    stored = stored_fields(entity, open_table(store, pin).schema)
    return blob_values(store, pin, stored[name].name, addresses)


def flat(table: pa.Table, name: str) -> pa.Array:
    """A column as one contiguous array."""
    column = table.column(name)
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _any(masks: Iterable[pa.BooleanArray], rows: int) -> pa.BooleanArray:
    result = pa.array([False] * rows, pa.bool_())
    for mask in masks:
        result = pc.or_(result, mask)
    return result


def column_differs(store: Store, entity: Entity, field: pa.Field, pins: Pins, images: Images) -> pa.BooleanArray:
    """Mask of the rows in which a column of two images differs; each image was read from its pin."""
    before, after = (flat(image, field.name) for image in images)
    return _blobs_differ(store, entity, field.name, pins, images) if is_blob(field) else differs(before, after)


def _blobs_differ(store: Store, entity: Entity, name: str, pins: Pins, images: Images) -> pa.BooleanArray:
    """Compare descriptors first: other sizes differ, equal places are equal. Only the remaining rows read bytes."""
    before, after = (flat(image, name) for image in images)
    is_other = differs(pc.struct_field(before, "size"), pc.struct_field(after, "size"))
    is_moved = differs(pc.struct_field(before, "place"), pc.struct_field(after, "place"))
    open_rows = pc.indices_nonzero(pc.and_not(is_moved, is_other))
    if not len(open_rows):
        return is_other
    values = [
        column_blobs(store, entity, pin, name, flat(image, ADDRESS).take(open_rows))
        for pin, image in zip(pins, images, strict=True)
        if pin is not None
    ]
    wrong = open_rows.filter(differs(*values))
    return pc.or_(is_other, pc.is_in(pa.array(range(len(before)), pa.uint64()), value_set=wrong))


def deleted_ids(store: Store, before: TablePin | None, after: TablePin | None) -> set[str]:
    """Ids that only the first version has. Reads no other column."""
    pieces = difference(store, before, after)
    if before is None or not pieces.before:
        return set()
    column = {"id": pa.field("id", pa.string())}
    gone: set[str] = set(read_pieces(store, before, pieces.before, column).column("id").to_pylist())
    if after is not None and pieces.after:
        gone.difference_update(read_pieces(store, after, pieces.after, column).column("id").to_pylist())
    return gone
