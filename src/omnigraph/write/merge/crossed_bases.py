"""What two sides did since they parted, where their histories crossed and there are several best common ancestors.

No single one of them is the base: an edit that one of them has already looks like none when it is compared with that
one, and taking it back looks like nothing happened when it is compared with the other one. So the ancestors are merged
with each other, value by value: what only some of them changed since their own common ancestors counts. Where they
disagree there is no base value, and two different values of the sides are a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import BLOB_TYPE, TableChanges, changes_schema, column_blobs, flat, table_changes
from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.compare import differs
from omnigraph.rows.merge import COMBINERS, combine
from omnigraph.schema.ir import MergePolicy
from omnigraph.storage.tables.difference import ADDRESS
from omnigraph.storage.tables.scan import IDS_PER_FILTER_MAX
from omnigraph.storage.tables.store import Store

PolicyOf = Callable[[str], MergePolicy | None]
"""The policy of a property."""

MaybePin = TablePin | None


@dataclass(frozen=True, slots=True)
class CrossedPins:
    """One table: on both sides, in their best common ancestors, and in the best common ancestors of those.

    Without ``origins``, because cleanup has given one up, nobody knows which of the ancestors changed a value.
    """

    source: MaybePin
    target: MaybePin
    bases: tuple[MaybePin, ...]
    origins: tuple[MaybePin, ...]


class _Column(NamedTuple):
    """One property: whether the entity is there, and its value."""

    is_there: pa.BooleanArray
    values: pa.Array

    def same(self, other: _Column) -> pa.BooleanArray:
        """Where both have one value, or none of them has the entity."""
        presence = pc.equal(self.is_there, other.is_there)
        return pc.and_(presence, pc.invert(_differs(self.values, other.values)))

    def put(self, where: pa.BooleanArray, other: _Column) -> _Column:
        """With another one's values at some places."""
        return _Column(*(pc.if_else(where, new, old) for old, new in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class _Image:
    """Entities as one state has them, in the order of the ids in question; null where it has none."""

    is_there: pa.BooleanArray
    rows: pa.Table

    def column(self, name: str) -> _Column:
        return _Column(self.is_there, flat(self.rows, name))


def crossed_changes(
    store: Store, entity: Entity, pins: CrossedPins, policy_of: PolicyOf
) -> tuple[TableChanges, TableChanges]:
    """What the source and the target did to one table. Entities that both have alike do not appear.

    Rows of the base stand where the target has them: ``_rowaddr`` in ``before`` and ``deleted`` is that of the target.
    """
    between = table_changes(store, entity, pins.target, pins.source)
    ids = pa.array(between.ids(), pa.string())
    target = pa.concat_tables([between.deleted, between.before])

    def at(pin: MaybePin) -> list[_Read]:
        few = ids.to_pylist() if len(ids) <= IDS_PER_FILTER_MAX else None
        changes = table_changes(store, entity, pin, pins.target, few)
        is_other = pc.is_in(flat(target, "id"), value_set=pa.array(changes.ids(), pa.string()))
        own = pa.concat_tables([changes.deleted, changes.before])
        return [_Read(pin, own), _Read(pins.target, target.filter(pc.invert(is_other)))]

    sides = [[_Read(pins.source, pa.concat_tables([between.inserted, between.after]))], [_Read(pins.target, target)]]
    states = [*sides, *map(at, pins.bases), *map(at, pins.origins)]
    tables = _one_place_for_each_blob(store, entity, states)
    source_image, target_image, *others = (_image(ids, rows) for rows in tables)
    base = _merged(others[: len(pins.bases)], others[len(pins.bases) :], entity, policy_of)
    addresses = flat(target_image.rows, ADDRESS)
    return base.changes(entity, source_image, addresses), base.changes(entity, target_image, addresses)


class _Read(NamedTuple):
    """Rows, and the version that they were read from."""

    pin: MaybePin
    rows: pa.Table


def _one_place_for_each_blob(store: Store, entity: Entity, states: Sequence[Sequence[_Read]]) -> list[pa.Table]:
    """The rows of each state, with equal places for equal bytes of an entity: every write of it stores them again."""
    tables = [pa.concat_tables([read.rows for read in state]) for state in states]
    for number, field in enumerate(changes_schema(entity)):
        if field.type == BLOB_TYPE:
            same = _same_bytes(store, entity, field.name, [read for state in states for read in state])
            for index, table in enumerate(tables):
                blobs = [
                    blob and {**blob, "place": same.get(blob["place"], blob["place"])}
                    for blob in table[number].to_pylist()
                ]
                tables[index] = table.set_column(number, field, pa.array(blobs, BLOB_TYPE))
    return tables


def _same_bytes(store: Store, entity: Entity, name: str, reads: Iterable[_Read]) -> dict[str, str]:
    """For every place of a blob of which an entity has others of its size: the first one with the same bytes."""
    found: dict[tuple[str, int], dict[str, tuple[TablePin, int]]] = {}
    for pin, rows in reads:
        for id_, blob, address in zip(*(rows[part].to_pylist() for part in ("id", name, ADDRESS)), strict=True):
            if blob is not None and pin is not None:
                found.setdefault((id_, blob["size"]), {}).setdefault(blob["place"], (pin, address))
    same: dict[str, str] = {}
    for places in found.values():
        first: dict[bytes, str] = {}
        for place, (pin, address) in places.items() if len(places) > 1 else ():
            [value] = column_blobs(store, entity, pin, name, pa.array([address], pa.uint64())).to_pylist()
            same[place] = first.setdefault(value, place)
    return same


def _image(ids: pa.Array, rows: pa.Table) -> _Image:
    places = pc.index_in(ids, value_set=flat(rows, "id"))
    return _Image(pc.is_valid(places), rows.take(places))


@dataclass(frozen=True, slots=True)
class _Base:
    """The merged ancestors. ``known`` says per property where they have a value together."""

    image: _Image
    known: dict[str, pa.BooleanArray]

    def changes(self, entity: Entity, side: _Image, addresses: pa.Array) -> TableChanges:
        """What a side did."""
        rows = self.image.rows.append_column(changes_schema(entity).field(ADDRESS), addresses)
        both = pc.and_(self.image.is_there, side.is_there)
        masks = {
            name: pc.invert(pc.and_(known, self.image.column(name).same(side.column(name))))
            for name, known in self.known.items()
        }
        changed = pc.and_(both, reduce(pc.or_, masks.values(), _all(len(both), False)))
        return TableChanges(
            entity,
            inserted=side.rows.filter(pc.and_not(side.is_there, self.image.is_there)),
            deleted=rows.filter(pc.and_not(self.image.is_there, side.is_there)),
            before=rows.filter(changed),
            after=side.rows.filter(changed),
            differs={name: mask.filter(changed) for name, mask in masks.items()},
            unsure={name: _unsure(rows, name, known).filter(changed) for name, known in self.known.items()},
        )


def _unsure(rows: pa.Table, name: str, known: pa.BooleanArray) -> pa.BooleanArray:
    """Where nobody can go back to the base. The bytes of blobs are not looked for in several ancestors."""
    is_blob = rows.schema.field(name).type == BLOB_TYPE
    return _all(len(known), True) if is_blob else pc.invert(known)


def _merged(bases: Sequence[_Image], origins: Sequence[_Image], entity: Entity, policy_of: PolicyOf) -> _Base:
    """Ancestors merged with each other."""
    schema = changes_schema(entity).remove(changes_schema(entity).get_field_index(ADDRESS))
    columns: dict[str, _Column] = {}
    known: dict[str, pa.BooleanArray] = {}
    for name in schema.names:
        columns[name], known[name] = _merged_column(bases, origins, name, policy_of(name))
    # Absent only if every value says so: one that an ancestor deleted and another one changed is in doubt, not gone.
    gone = reduce(pc.and_, (pc.and_not(known[name], column.is_there) for name, column in columns.items()))
    ids = pc.coalesce(*(flat(base.rows, "id") for base in bases))
    arrays = [ids if name == "id" else column.values for name, column in columns.items()]
    return _Base(
        _Image(pc.invert(gone), pa.Table.from_arrays(arrays, schema=schema)),
        {name: pc.and_(known[name], column.is_there) for name, column in columns.items() if name != "id"},
    )


def _merged_column(
    bases: Sequence[_Image], origins: Sequence[_Image], name: str, policy: MergePolicy | None
) -> tuple[_Column, pa.BooleanArray]:
    """One property of the merged ancestors, and where it is known."""
    merged = bases[0].column(name)
    size = len(merged.values)
    is_known, has_changed = _all(size, True), _all(size, False)
    for base in bases:
        column = base.column(name)
        is_as_before = (column.same(origin.column(name)) for origin in origins)
        is_new = pc.invert(reduce(pc.and_, is_as_before, _all(size, bool(origins))))
        is_other = pc.and_(pc.and_(is_new, has_changed), pc.invert(column.same(merged)))
        is_known = pc.and_not(is_known, is_other)
        merged = merged.put(pc.and_not(is_new, has_changed), column)
        has_changed = pc.or_(has_changed, is_new)
    if len(bases) == 2 and len(origins) == 1 and policy in COMBINERS:
        assert policy is not None
        values, fits = combine(policy, *(flat(image.rows, name) for image in (*origins, *bases)))
        both = pc.and_(bases[0].is_there, bases[1].is_there)
        is_made = pc.and_(pc.and_not(both, is_known), fits)
        merged = merged.put(is_made, _Column(both, values))
        is_known = pc.or_(is_known, is_made)
    return merged, is_known


def _all(size: int, value: bool) -> pa.BooleanArray:
    return pa.array([value] * size, pa.bool_())


def _differs(before: pa.Array, after: pa.Array) -> pa.BooleanArray:
    """Where two columns differ; blobs by where they lie, which is one place for equal bytes."""
    if before.type != BLOB_TYPE:
        return differs(before, after)
    sizes, places = ([pc.struct_field(side, part) for side in (before, after)] for part in ("size", "place"))
    return pc.or_(differs(*sizes), differs(*places))
