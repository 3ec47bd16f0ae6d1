"""The entities that a merge changes in its target, with their images before and after.

Only data rules need them: a merge itself never reads the rows of an adopted table. The images have the columns of
changes, blobs as descriptors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import (
    BLOB_TYPE,
    TableChanges,
    changes_schema,
    column_blobs,
    flat,
    rows_of,
    table_changes,
)
from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.compare import differs, match
from omnigraph.storage.tables.difference import ADDRESS
from omnigraph.write.merge.images import PLACED_BLOB
from omnigraph.write.merge.sides import GraphSides
from omnigraph.write.merge.table import TableMerge
from omnigraph.write.merge.tables import MergedTable


@dataclass(frozen=True)
class TableEffect:
    """Changed entities of one type: ``before`` are their rows in the target, ``after`` those of the merged graph.

    ``updates`` are the ids of updated entities by the columns that differ.
    """

    entity: Entity
    before: pa.Table
    after: pa.Table
    updates: Mapping[str, frozenset[str]]

    def updated(self, names: Collection[str]) -> frozenset[str]:
        """The ids of updated entities in which one of the columns differs."""
        return frozenset().union(*(self.updates.get(name, frozenset()) for name in names))

    def inserted_with(self, names: Collection[str]) -> frozenset[str]:
        """The ids of inserted entities that have a value in one of the columns."""
        added = _without(self.after, flat(self.before, ID))
        return frozenset(id_ for name in names for id_ in _having(added, name))


def effects(sides: GraphSides, tables: Mapping[str, MergedTable]) -> Iterator[TableEffect]:
    """The changes of every table. The merged schema is that of the target."""
    for _, table in sorted(tables.items()):
        if not table.is_kept:
            found = [_adopted(sides, table)] if table.is_adopted else []
            if table.merge is not None:
                # A resolution may change rows of an adopted table again.
                again = _merged(sides, table, table.merge)
                touched = pa.array(sorted({*table.merge.ids(), *table.merge.gone()}), pa.string())
                found = [*(_left(effect, touched) for effect in found), again]
            yield reduce(_together, found)


def _adopted(sides: GraphSides, table: MergedTable) -> TableEffect:
    """The difference between the version of the target and that of the source."""
    entity = sides.entity(table.pin.key)
    changes = table_changes(sides.store, entity, sides.target.tables.get(table.pin.key), table.pin)
    ids = flat(changes.after, ID)
    updates = {name: frozenset(ids.filter(mask).to_pylist()) for name, mask in changes.differs.items()}
    return TableEffect(entity, *_images(changes), updates)


def _merged(sides: GraphSides, table: MergedTable, merge: TableMerge) -> TableEffect:
    """The rows that a merge replaces in the target."""
    touched = sorted({*merge.ids(), *merge.gone()})
    before = rows_of(sides.store, merge.entity, sides.target.tables.get(table.pin.key), touched)
    found = match(flat(before, ID), flat(merge.rows, ID))
    old, new = before.take(found.before), merge.rows.take(found.after)
    ids = flat(old, ID)
    updates = {
        name: frozenset(ids.filter(_differs(sides, merge.entity, name, old, new)).to_pylist())
        for name in merge.rows.schema.names
        if name != ID
    }
    return TableEffect(merge.entity, before.drop_columns([ADDRESS]), _described(merge), updates)


def _differs(sides: GraphSides, entity: Entity, name: str, old: pa.Table, new: pa.Table) -> pa.BooleanArray:
    """Mask of the rows in which a column of the target and of merged rows differs."""
    before, after = flat(old, name), flat(new, name)
    if after.type != PLACED_BLOB:
        return differs(before, after)
    is_other = differs(pc.struct_field(before, "size"), pc.struct_field(after, "size"))
    is_moved = differs(pc.struct_field(before, "place"), pc.struct_field(after, "place"))
    # Equal sizes at different places: the bytes decide.
    places = pc.indices_nonzero(pc.and_not(is_moved, is_other)).to_pylist()
    key, wrong = entity.table_key, []
    pins = [sides.content(key, of_source=True), sides.target.tables[key], sides.base.tables.get(key)]
    for place in places:
        bytes_before = _bytes(sides, entity, sides.target.tables[key], name, old.column(ADDRESS)[place])
        held = after[place].as_py()
        if bytes_before != _bytes(sides, entity, pins[held["side"]], name, pa.scalar(held["address"], pa.uint64())):
            wrong.append(place)
    return pc.or_(is_other, pc.is_in(pa.array(range(len(before)), pa.int64()), value_set=pa.array(wrong, pa.int64())))


def _bytes(sides: GraphSides, entity: Entity, pin: TablePin | None, name: str, address: pa.Scalar) -> bytes | None:
    assert pin is not None, "rows come from a table"
    (value,) = column_blobs(sides.store, entity, pin, name, pa.array([address.as_py()], pa.uint64())).to_pylist()
    found: bytes | None = value
    return found


def _together(one: TableEffect, other: TableEffect) -> TableEffect:
    """Two effects on different entities of one type."""
    names = {*one.updates, *other.updates}
    return TableEffect(
        one.entity,
        pa.concat_tables([one.before, other.before]),
        pa.concat_tables([one.after, other.after]),
        {name: one.updated([name]) | other.updated([name]) for name in names},
    )


def _left(effect: TableEffect, touched: pa.Array) -> TableEffect:
    """An effect without some entities."""
    gone = frozenset(touched.to_pylist())
    updates = {name: ids - gone for name, ids in effect.updates.items()}
    return TableEffect(effect.entity, _without(effect.before, touched), _without(effect.after, touched), updates)


def _images(changes: TableChanges) -> tuple[pa.Table, pa.Table]:
    before = pa.concat_tables([changes.before, changes.deleted])
    after = pa.concat_tables([changes.after, changes.inserted])
    return before.drop_columns([ADDRESS]), after.drop_columns([ADDRESS])


def _without(rows: pa.Table, ids: pa.Array) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows.column(ID), value_set=ids)))


def _having(rows: pa.Table, name: str) -> list[str]:
    ids: list[str] = rows.column(ID).filter(pc.is_valid(rows.column(name))).to_pylist()
    return ids


def _described(merge: TableMerge) -> pa.Table:
    """Merged rows in the schema of changes: blobs without the side and the address of their bytes."""
    schema = changes_schema(merge.entity)
    schema = schema.remove(schema.get_field_index(ADDRESS))
    arrays = []
    for field in schema:
        column = flat(merge.rows, field.name)
        if field.type == BLOB_TYPE:
            parts = [pc.struct_field(column, item.name) for item in BLOB_TYPE]
            column = pa.StructArray.from_arrays(parts, fields=list(BLOB_TYPE), mask=pc.is_null(column))
        arrays.append(column)
    return pa.Table.from_arrays(arrays, schema=schema)
