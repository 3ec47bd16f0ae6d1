"""The changes of one type as rows ordered by id: operation, before-image and after-image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import BLOB_TYPE, TableChanges, column_blobs, flat
from omnigraph.core.tables import TablePin
from omnigraph.history.changes import Change, ChangeFilter, Image, Node, Op
from omnigraph.rows.arrow_types import ID, Entity, as_results
from omnigraph.rows.ends.references import shown_types
from omnigraph.rows.write.exact import exact_rows
from omnigraph.rows.write.results import as_written, result_rows
from omnigraph.schema.catalog import EdgeEnd, EdgeType
from omnigraph.storage.tables.difference import ADDRESS
from omnigraph.storage.tables.store import Store

SIZE_TYPE = pa.struct([pa.field("size", pa.uint64())])
"""A blob in an image: its size stands for its bytes."""

Pins = tuple[TablePin | None, TablePin | None]
Encode = Callable[[pa.Table], list[dict[str, Any]]]


@dataclass(frozen=True)
class ChangeRows:
    """Changes of one type. The images have the columns of its table; the one that a change does not have is null."""

    entity: Entity
    location: str
    pins: Pins
    ops: pa.Array
    before: pa.Table
    after: pa.Table
    changed: pa.ListArray

    def __len__(self) -> int:
        return len(self.ops)

    @property
    def kind(self) -> str:
        return kind_of(self.entity)

    @property
    def type_id(self) -> str:
        return self.location.rsplit("/", 1)[-1]

    @property
    def ids(self) -> pa.Array:
        return pc.coalesce(flat(self.after, ID), flat(self.before, ID))

    @property
    def nbytes(self) -> int:
        held: int = self.before.nbytes + self.after.nbytes
        return held

    def count(self, op: Op) -> int:
        counted: int = pc.sum(pc.equal(self.ops, op.value), min_count=0).as_py()
        return counted

    def slice(self, start: int, length: int | None = None) -> ChangeRows:
        parts = (self.ops, self.before, self.after, self.changed)
        ops, before, after, changed = (part.slice(start, length) for part in parts)
        return replace(self, ops=ops, before=before, after=after, changed=changed)

    def wanted(self, chosen: ChangeFilter) -> ChangeRows:
        """The changes that pass a filter."""
        if chosen.ops is None:
            return self
        mask = pc.is_in(self.ops, value_set=pa.array([op.value for op in chosen.ops], pa.string()))
        parts = (self.ops, self.before, self.after, self.changed)
        ops, before, after, changed = (part.filter(mask) for part in parts)
        return replace(self, ops=ops, before=before, after=after, changed=changed)

    def ordered(self, columns: Sequence[str]) -> ChangeRows:
        """The changes with the columns of their images in an order. Columns that it does not name come last."""
        names = [*(name for name in columns if name in self.after.schema.names)]
        names += [name for name in self.after.schema.names if name not in names]
        return replace(self, before=self.before.select(names), after=self.after.select(names))

    def to_arrow(self) -> pa.Table:
        """``op``, ``id``, the names of what an update changed, and both images with the types of their properties."""
        images = [self._image(table) for table in (self.before, self.after)]
        return pa.table(
            {"op": self.ops, "id": self.ids, "changed": self.changed, "before": images[0], "after": images[1]}
        )

    def _image(self, table: pa.Table) -> pa.StructArray:
        shown = self._shown(table)
        if not shown.schema.names:
            # All properties are outside of the scope of the actor. A struct without fields has no length of its own.
            return pa.array(
                [{} if valid else None for valid in pc.is_valid(flat(table, ID)).to_pylist()], pa.struct([])
            )
        arrays = [flat(shown, name) for name in shown.schema.names]
        return pa.StructArray.from_arrays(arrays, fields=list(shown.schema), mask=pc.is_null(flat(table, ID)))

    def shown(self) -> Iterator[Change]:
        """The changes for people: dates as text, blobs by their size."""
        yield from self._changes(self._shown(self.before), self._shown(self.after), result_rows)

    def exact(self, store: Store) -> Iterator[Change]:
        """The changes for replay: values as exports write them, blobs with their bytes."""
        before, after = (as_results(self.entity, image) for image in self.images(store))
        yield from self._changes(before, after, exact_rows)

    def images(self, store: Store) -> tuple[pa.Table, pa.Table]:
        """Both images without the id, blobs with their bytes."""
        sides = zip(self.pins, (self.before, self.after), strict=True)
        before, after = (_named_types(self.entity, self._with_bytes(store, pin, table)) for pin, table in sides)
        return before, after

    def _shown(self, table: pa.Table) -> pa.Table:
        """An image without the id, which stands beside it, with the sizes of blobs and with floats as written."""
        names = [name for name in table.schema.names if name not in (ID, ADDRESS)]
        arrays = [_sized(flat(table, name)) for name in names]
        return _named_types(self.entity, as_results(self.entity, pa.Table.from_arrays(arrays, names)))

    def _with_bytes(self, store: Store, pin: TablePin | None, table: pa.Table) -> pa.Table:
        """An image without the id, and with the bytes of blobs."""
        names = [name for name in table.schema.names if name not in (ID, ADDRESS)]
        arrays = []
        for name in names:
            column = flat(table, name)
            arrays.append(column if column.type != BLOB_TYPE else self._bytes(store, pin, table, name))
        return pa.Table.from_arrays(arrays, names)

    def _bytes(self, store: Store, pin: TablePin | None, table: pa.Table, name: str) -> pa.Array:
        rows = pc.indices_nonzero(pc.is_valid(flat(table, name)))
        if pin is None or not len(rows):
            return pa.nulls(table.num_rows, pa.large_binary())
        values = column_blobs(store, self.entity, pin, name, flat(table, ADDRESS).take(rows))
        return values.take(pc.index_in(pa.array(range(table.num_rows), rows.type), value_set=rows))

    def _changes(self, before: pa.Table, after: pa.Table, encode: Encode) -> Iterator[Change]:
        position = {name: index for index, name in enumerate(after.schema.names)}
        facts = zip(self.ids.to_pylist(), self.ops.to_pylist(), self.changed.to_pylist(), strict=True)
        # A table without columns, where all properties are outside of the scope of the actor, encodes to no rows.
        nothing: list[dict[str, Any]] = [{} for _ in range(len(self))]
        old_images, new_images = (encode(side) if side.schema.names else nothing for side in (before, after))
        for (id_, word, changed), old, new in zip(facts, old_images, new_images, strict=True):
            op = Op(word)
            yield Change(
                self.kind,
                self.type_id,
                self.entity.name,
                id_,
                op,
                None if op is Op.INSERT else _image_of(self.entity, old),
                None if op is Op.DELETE else _image_of(self.entity, new),
                tuple(sorted(changed, key=position.__getitem__)),
            )

    def sizes(self) -> list[int]:
        """About how many bytes each change has as text: its share of the table, and its blobs in full."""
        if not len(self):
            return []
        even = self.nbytes // len(self) + 1
        sizes = pa.array([even] * len(self), pa.int64())
        for table in (self.before, self.after):
            for name in table.schema.names:
                if table.schema.field(name).type == BLOB_TYPE:
                    blobs = pc.fill_null(pc.struct_field(flat(table, name), "size"), 0).cast(pa.int64())
                    sizes = pc.add(sizes, blobs)
        listed: list[int] = sizes.to_pylist()
        return listed


def kind_of(entity: Entity) -> str:
    return "edge" if isinstance(entity, EdgeType) else "node"


def change_rows(changes: TableChanges, location: str, pins: Pins) -> ChangeRows:
    """The three parts of a comparison as one list, by id."""
    inserted, updated, deleted = changes.inserted, changes.after, changes.deleted
    parts = ((Op.INSERT, inserted), (Op.UPDATE, updated), (Op.DELETE, deleted))
    ops = pa.concat_arrays([pa.array([op.value] * part.num_rows, pa.string()) for op, part in parts])
    before = pa.concat_tables([_absent(inserted), changes.before, deleted])
    after = pa.concat_tables([inserted, updated, _absent(deleted)])
    changed = _changed(changes.entity, changes.differs, inserted.num_rows, updated.num_rows, deleted.num_rows)
    ids = pa.concat_arrays([flat(part, ID) for _, part in parts])
    order = pc.sort_indices(ids)
    return ChangeRows(
        changes.entity, location, pins, ops.take(order), before.take(order), after.take(order), changed.take(order)
    )


def _joined_ends(entity: Entity, differs: Mapping[str, pa.BooleanArray]) -> dict[str, pa.BooleanArray]:
    """Masks without those of tags: an end with another type is another node."""
    joined = dict(differs)
    for end in entity.ends if isinstance(entity, EdgeType) else ():
        tags = joined.pop(end.type_column or "", None)
        if tags is not None:
            joined[end.column] = pc.or_(joined[end.column], tags)
    return joined


def _changed(
    entity: Entity, differs: Mapping[str, pa.BooleanArray], inserted: int, updated: int, deleted: int
) -> pa.ListArray:
    """The names of the columns that differ, for the updated entities between inserted and deleted ones."""
    names: list[list[str]] = [[] for _ in range(updated)]
    for name, mask in _joined_ends(entity, differs).items():
        for row in pc.indices_nonzero(mask).to_pylist():
            names[row].append(name)
    return pa.array([*([] for _ in range(inserted)), *names, *([] for _ in range(deleted))], pa.list_(pa.string()))


def _absent(like: pa.Table) -> pa.Table:
    return pa.Table.from_arrays([pa.nulls(like.num_rows, field.type) for field in like.schema], schema=like.schema)


def _named_types(entity: Entity, image: pa.Table) -> pa.Table:
    """An image with the names of node types in place of tags. The image that a change does not have stays null."""
    for end in entity.ends if isinstance(entity, EdgeType) else ():
        if end.type_column is None or end.type_column not in image.schema.names:
            continue
        place = image.schema.names.index(end.type_column)
        if not end.is_typed:
            image = image.remove_column(place)
            continue
        names = shown_types(end, flat(image, end.type_column))
        held = pc.if_else(pc.is_valid(flat(image, end.column)), names, None)
        image = image.set_column(place, end.type_column, held)
    return image


def _sized(column: pa.Array) -> pa.Array:
    if column.type != BLOB_TYPE:
        return as_written(column)
    return pa.StructArray.from_arrays(
        [pc.struct_field(column, "size")], fields=list(SIZE_TYPE), mask=pc.is_null(column)
    )


def _image_of(entity: Entity, row: dict[str, Any]) -> Image:
    if not isinstance(entity, EdgeType):
        return Image(row)
    source, target = (_node(end, row) for end in entity.ends)
    return Image(row, source, target)


def _node(end: EdgeEnd, row: dict[str, Any]) -> Node:
    """A node at an end: its id, or its type and id where the end has several types."""
    id_, name = row.pop(end.column), row.pop(end.type_column or "", None)
    return {"type": name, "id": id_} if end.is_typed else id_
