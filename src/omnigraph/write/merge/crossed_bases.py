"""Criss-cross merges: changes of both sides when their heads have several best common ancestors.

No single ancestor can serve as the base. Compared with an ancestor that already has an edit, the edit looks like no
change; compared with one that lacks it, undoing the edit looks like no change. As in git's recursive strategy, a
*virtual base* is made by merging the ancestors (bases) with each other, value by value, over their own best common
ancestors (origins).

Invariant: the virtual base never invents a value. A value that at most one distinct change produced is *known*; where
the bases changed it differently it is *unknown*, and different values of source and target are then a conflict. One
property, two bases, one origin:

======  =======  =======  ==================  ==========================================
origin  base 1   base 2   virtual base        reason
======  =======  =======  ==================  ==========================================
1       1        1        1                   no base changed it
1       2        1        2                   only base 1 changed it
1       2        2        2                   both made the same change
1       2        3        unknown             different changes, no policy
1       2        3        4 with ``sum``      the policy combines: 2 + 3 - 1
======  =======  =======  ==================  ==========================================
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
from omnigraph.storage.tables.lance_table import IDS_PER_FILTER_MAX
from omnigraph.storage.tables.store import Store

PolicyOf = Callable[[str], MergePolicy | None]
"""The policy of a property."""

MaybePin = TablePin | None


@dataclass(frozen=True, slots=True)
class CrossedPins:
    """One table on both sides, in the bases, and in the origins.

    ``origins`` is empty if cleanup has given one of them up. Every base value then counts as changed.
    """

    source: MaybePin
    target: MaybePin
    bases: tuple[MaybePin, ...]
    origins: tuple[MaybePin, ...]


class _Column(NamedTuple):
    """One property of all compared entities: presence of the entity, and its value."""

    is_present: pa.BooleanArray
    values: pa.Array

    def same(self, other: _Column) -> pa.BooleanArray:
        """Rows in which both have an equal value, or neither has the entity."""
        presence = pc.equal(self.is_present, other.is_present)
        return pc.and_(presence, pc.invert(_differs(self.values, other.values)))

    def put(self, where: pa.BooleanArray, other: _Column) -> _Column:
        """This column with the values of another one at some rows."""
        return _Column(*(pc.if_else(where, new, old) for old, new in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class _Image:
    """Entities of one state, one row per compared id in a common order; null where the state lacks the entity."""

    is_present: pa.BooleanArray
    rows: pa.Table

    def column(self, name: str) -> _Column:
        return _Column(self.is_present, flat(self.rows, name))


def crossed_changes(
    store: Store, entity: Entity, pins: CrossedPins, policy_of: PolicyOf
) -> tuple[TableChanges, TableChanges]:
    """Changes of source and target of one table since the virtual base. Entities that are equal on both do not appear.

    ``_rowaddr`` in ``before`` and ``deleted`` is the address in the target: the virtual base is stored nowhere, and a
    merge deletes the replaced rows of the target.
    """
    between = table_changes(store, entity, pins.target, pins.source)
    ids = pa.array(between.ids(), pa.string())
    target = pa.concat_tables([between.deleted, between.before])

    def at(pin: MaybePin) -> list[_Read]:
        """The compared entities of one state: rows that differ from the target, and the target's own for the rest."""
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
    """Rows and the version they were read from, which locates the bytes of their blobs."""

    pin: MaybePin
    rows: pa.Table


def _one_place_for_each_blob(store: Store, entity: Entity, states: Sequence[Sequence[_Read]]) -> list[pa.Table]:
    """The rows of each state with one place for equal bytes of an entity.

    A rewrite of an entity stores its blobs again, so equal values may have different places.
    """
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
    """Map places of blobs to the first place with the same bytes. Only blobs of equal id and size are read."""
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
    """The virtual base. ``known`` masks, per property, the rows that have a base value."""

    image: _Image
    known: dict[str, pa.BooleanArray]

    def changes(self, entity: Entity, side: _Image, addresses: pa.Array) -> TableChanges:
        """Changes of one side since the virtual base."""
        rows = self.image.rows.append_column(changes_schema(entity).field(ADDRESS), addresses)
        both = pc.and_(self.image.is_present, side.is_present)
        # An unknown base value counts as changed on both sides: equal values agree, different ones conflict.
        masks = {
            name: pc.invert(pc.and_(known, self.image.column(name).same(side.column(name))))
            for name, known in self.known.items()
        }
        changed = pc.and_(both, reduce(pc.or_, masks.values(), _all(len(both), False)))
        return TableChanges(
            entity,
            inserted=side.rows.filter(pc.and_not(side.is_present, self.image.is_present)),
            deleted=rows.filter(pc.and_not(self.image.is_present, side.is_present)),
            before=rows.filter(changed),
            after=side.rows.filter(changed),
            differs={name: mask.filter(changed) for name, mask in masks.items()},
            unsure={name: _unsure(rows, name, known).filter(changed) for name, known in self.known.items()},
        )


def _unsure(rows: pa.Table, name: str, known: pa.BooleanArray) -> pa.BooleanArray:
    """Rows whose base value cannot be taken. That is every row of a blob: its bytes may lie in any of the bases."""
    is_blob = rows.schema.field(name).type == BLOB_TYPE
    return _all(len(known), True) if is_blob else pc.invert(known)


def _merged(bases: Sequence[_Image], origins: Sequence[_Image], entity: Entity, policy_of: PolicyOf) -> _Base:
    """The virtual base of several bases."""
    schema = changes_schema(entity).remove(changes_schema(entity).get_field_index(ADDRESS))
    columns: dict[str, _Column] = {}
    known: dict[str, pa.BooleanArray] = {}
    for name in schema.names:
        columns[name], known[name] = _merged_column(bases, origins, name, policy_of(name))
    # Absent only if every property is known to be absent. An entity that one base deleted and another changed is in
    # doubt: treating it as absent would turn an update of a side into an insert and hide the conflict.
    gone = reduce(pc.and_, (pc.and_not(known[name], column.is_present) for name, column in columns.items()))
    ids = pc.coalesce(*(flat(base.rows, "id") for base in bases))
    arrays = [ids if name == "id" else column.values for name, column in columns.items()]
    return _Base(
        _Image(pc.invert(gone), pa.Table.from_arrays(arrays, schema=schema)),
        {name: pc.and_(known[name], column.is_present) for name, column in columns.items() if name != "id"},
    )


def _merged_column(
    bases: Sequence[_Image], origins: Sequence[_Image], name: str, policy: MergePolicy | None
) -> tuple[_Column, pa.BooleanArray]:
    """One property of the virtual base, and a mask of the rows where it is known.

    The loop folds the bases from left to right. One row with origin 1 and bases 2, 1 and 3:

    ======  ==========  =============  ============  ================
    base    ``is_new``  ``is_known``   ``merged``    ``has_changed``
    ======  ==========  =============  ============  ================
    start               true           2             false
    2       true        true           2             true
    1       false       true           2             true
    3       true        false          2             true
    ======  ==========  =============  ============  ================
    """
    merged = bases[0].column(name)
    size = len(merged.values)
    is_known, has_changed = _all(size, True), _all(size, False)
    for base in bases:
        column = base.column(name)
        is_as_before = (column.same(origin.column(name)) for origin in origins)
        # Changed if it differs from any origin. Without origins the fold starts with False, so every value is new.
        is_new = pc.invert(reduce(pc.and_, is_as_before, _all(size, bool(origins))))
        is_other = pc.and_(pc.and_(is_new, has_changed), pc.invert(column.same(merged)))
        is_known = pc.and_not(is_known, is_other)
        merged = merged.put(pc.and_not(is_new, has_changed), column)
        has_changed = pc.or_(has_changed, is_new)
    # A policy combines two values over one base value.
    if len(bases) == 2 and len(origins) == 1 and policy in COMBINERS:
        assert policy is not None
        values, fits = combine(policy, *(flat(image.rows, name) for image in (*origins, *bases)))
        both = pc.and_(bases[0].is_present, bases[1].is_present)
        is_made = pc.and_(pc.and_not(both, is_known), fits)
        merged = merged.put(is_made, _Column(both, values))
        is_known = pc.or_(is_known, is_made)
    return merged, is_known


def _all(size: int, value: bool) -> pa.BooleanArray:
    return pa.array([value] * size, pa.bool_())


def _differs(before: pa.Array, after: pa.Array) -> pa.BooleanArray:
    """Rows in which two columns differ. Blobs are compared by size and place, which is one for equal bytes."""
    if before.type != BLOB_TYPE:
        return differs(before, after)
    sizes, places = ([pc.struct_field(side, part) for side in (before, after)] for part in ("size", "place"))
    return pc.or_(differs(*sizes), differs(*places))
