"""Entities that both sides changed, merged property by property.

Each property is one column. Its rows are classified by three masks (source differs from base, target differs from base,
sides differ from each other), and each class gets one outcome from ``history.merge``. With policy ``sum``:

=====  =======  =======  ==========  =========================
base   source   target   outcome     merged
=====  =======  =======  ==========  =========================
1      1        5        TARGET      5
1      3        1        SOURCE      3
1      4        4        TARGET      4, both made one change
1      3        5        COMBINED    7 = 3 + 5 - 1
null   3        5        COMBINED    8 = 3 + 5 - 0
=====  =======  =======  ==========  =========================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import column_differs, flat, is_blob
from omnigraph.errors import UsageError
from omnigraph.history.conflicts import ConflictKind, MergeConflict, Resolution, Take
from omnigraph.history.merge import decide_property
from omnigraph.rows.arrow_types import Entity, result_type, table_schema
from omnigraph.rows.casting.json_values import Unfit, converter
from omnigraph.rows.compare import differs
from omnigraph.rows.ends.references import type_columns
from omnigraph.rows.merge import combine, misfits
from omnigraph.rows.write.results import result_rows
from omnigraph.schema.merge_policies import POLICIES, PropertyOutcome
from omnigraph.write.merge.images import (
    BASE,
    SOURCE,
    TARGET,
    Changed,
    Sides,
    located,
    merged_schema,
    placed_column,
    shown_nodes,
    tagged_ends,
    with_references,
    without_references,
)
from omnigraph.write.property_policies import policy_of

_NO_BASE = ", and the base value is ambiguous after a criss-cross merge"


@dataclass(frozen=True)
class MergedProperties:
    """Rows that differ from the target, the addresses of the rows they replace, and unresolved conflicts."""

    rows: pa.Table
    replaced: pa.Table
    conflicts: list[MergeConflict]


def merge_properties(sides: Sides, source: Changed, target: Changed) -> MergedProperties:
    """Merge the same entities of both sides; row N of each is one entity."""
    conflicts: list[MergeConflict] = []
    columns: list[pa.Array] = []
    source, target = (with_references(sides.entity, side) for side in (source, target))
    tags = type_columns(sides.entity)
    changed = pa.array([False] * source.rows.num_rows, pa.bool_())
    for item in table_schema(sides.entity):
        if item.name == "id" or item.name in tags:
            columns.append(flat(source.rows, item.name))
            continue
        column, is_changed = _Column(sides, item, source, target, conflicts).merged()
        columns.append(column)
        changed = pc.or_(changed, is_changed)
    rows = pa.Table.from_arrays(columns, schema=merged_schema(sides.entity)).filter(changed)
    rows = without_references(sides.entity, rows)
    return MergedProperties(rows, located(target.rows.filter(changed)), conflicts)


class _Column:
    """One property of entities that both sides changed."""

    def __init__(
        self, sides: Sides, field: pa.Field, source: Changed, target: Changed, conflicts: list[MergeConflict]
    ) -> None:
        self.sides = sides
        self.field = field
        self.source = source
        self.target = target
        self.conflicts = conflicts
        self.rows = source.rows.num_rows
        self.policy = policy_of(sides.entity, sides.rules.policies, field.name)
        self.wanted = merged_schema(sides.entity).field(field.name)
        self.source_values = placed_column(source.rows, self.wanted, side=SOURCE)
        self.target_values = placed_column(target.rows, self.wanted, side=TARGET)

    def merged(self) -> tuple[pa.Array, pa.BooleanArray]:
        """The merged column, and a mask of the rows that differ from the target."""
        column = self.target_values
        changed = pa.array([False] * self.rows, pa.bool_())
        for outcome, mask in self._outcomes().items():
            positions = pc.indices_nonzero(mask)
            if outcome is PropertyOutcome.TARGET or not len(positions):
                continue
            at, values = self._really_other(*self._values(outcome, positions))
            column = _put(column, at, values)
            changed = pc.or_(changed, _mask(at, self.rows))
        return column, changed

    def _really_other(self, positions: pa.Array, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Drop rows whose merged value equals the target. Blobs that reach this point are known to differ."""
        if pa.types.is_struct(values.type):
            return positions, values
        is_other = differs(self.target_values.take(positions), values)
        return positions.filter(is_other), values.filter(is_other)

    def _outcomes(self) -> dict[PropertyOutcome, pa.BooleanArray]:
        """The rows of each outcome, as masks."""
        everywhere = pa.array([True] * self.rows, pa.bool_())
        source_differs, target_differs = (
            everywhere if side.differs is None else side.differs[self.field.name] for side in (self.source, self.target)
        )
        pins, images = self.sides.pins[:2], (self.source.rows, self.target.rows)
        sides_differ = column_differs(self.sides.store, self.sides.entity, self.field, pins, images)
        found: dict[PropertyOutcome, pa.BooleanArray] = {}
        for source, target, sides in product((False, True), repeat=3):
            outcome = decide_property(self.policy, source_differs=source, target_differs=target, sides_differ=sides)
            mask = pc.and_(pc.and_(_is(source_differs, source), _is(target_differs, target)), _is(sides_differ, sides))
            found[outcome] = pc.or_(found[outcome], mask) if outcome in found else mask
        return found

    def _values(self, outcome: PropertyOutcome, positions: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Positions and values of one outcome that may differ from the target."""
        match outcome:
            case PropertyOutcome.SOURCE:
                return positions, self.source_values.take(positions)
            case PropertyOutcome.NEWEST:
                ids = flat(self.source.rows, "id").take(positions).to_pylist()
                newer = positions.filter(pa.array(self.sides.source_is_newer(ids, self.field.name), pa.bool_()))
                return newer, self.source_values.take(newer)
            case PropertyOutcome.COMBINED:
                return self._combined(positions)
            case _:
                return self._settled(positions, "")

    def _combined(self, positions: pa.Array) -> tuple[pa.Array, pa.Array]:
        assert self.policy is not None
        unsure = self._unsure().take(positions) if POLICIES[self.policy].needs_base else _nowhere(len(positions))
        doubtful, settled_doubts = self._settled(positions.filter(unsure), _NO_BASE)
        positions = positions.filter(pc.invert(unsure))
        base = self._base().take(positions)
        values, fits = combine(
            self.policy, base, self.source_values.take(positions), self.target_values.take(positions)
        )
        without = positions.filter(pc.invert(fits))
        sides = (side.take(without) for side in (self._base(), self.source_values, self.target_values))
        at, settled = self._settled(without, misfits(self.policy, *sides))
        places = [positions.filter(fits).cast(pa.uint64()), at, doubtful]
        return pa.concat_arrays(places), pa.concat_arrays([values.filter(fits), settled, settled_doubts])

    def _unsure(self) -> pa.BooleanArray:
        """Rows without a base value after a criss-cross merge."""
        return self.source.unsure.get(self.field.name, _nowhere(self.rows))

    def _base(self) -> pa.Array:
        """Values of the base, null for entities that it lacks."""
        if self.source.base is None:
            return pa.nulls(self.rows, self.source_values.type)
        return placed_column(self.source.base, self.wanted, side=BASE)

    def _settled(self, positions: pa.Array, reason: str | list[str]) -> tuple[pa.Array, pa.Array]:
        """Report conflicts; returns positions and values of those that a resolution settles with another value."""
        reasons = [reason] * len(positions) if isinstance(reason, str) else reason
        name, entity = self.field.name, self.sides.entity
        is_insert = self.source.base is None
        kind = ConflictKind.DIVERGENT_INSERT if is_insert else ConflictKind.DIVERGENT_UPDATE
        verb = "inserted with" if is_insert else "changed to"
        unsure = self._unsure()
        base = self._base()
        if self.source.unsure:
            base = pc.if_else(unsure, pa.nulls(self.rows, base.type), base)
        images = pa.Table.from_arrays(
            [
                flat(self.source.rows, "id").take(positions),
                *(self._shown(side.take(positions)) for side in (base, self.source_values, self.target_values)),
            ],
            ["id", "base", "source", "target"],
        )
        chosen: list[int] = []
        values: list[pa.Array] = []
        for position, row, why in zip(positions.to_pylist(), result_rows(images), reasons, strict=True):
            message = f"{name} of '{row['id']}' was {verb} different values{why}"
            conflict = MergeConflict(
                entity.table_key, row["id"], kind, name, row["base"], row["source"], row["target"], message
            )
            resolution = self.sides.rules.resolutions.of(conflict)
            if resolution is not None and resolution.take is Take.TARGET:
                continue
            value = None if resolution is None else self._value(resolution, base, position, unsure[position].as_py())
            if value is None:
                is_made = resolution is not None and resolution.take is Take.EXPRESSION
                misfit = ", and the expression has no value of the type" if is_made else ""
                self.conflicts.append(replace(conflict, message=message + misfit))
            else:
                chosen.append(position)
                values.append(value)
        empty = self.source_values.slice(0, 0)
        return pa.array(chosen, pa.uint64()), pa.concat_arrays([empty, *values])

    def _shown(self, column: pa.Array) -> pa.Array:
        """Values as a conflict shows them: those of JSON as such, and the node at an end."""
        end = next((end for end in tagged_ends(self.sides.entity) if end.column == self.field.name), None)
        if end is not None:
            return shown_nodes(end, column)
        prop = self.sides.entity.properties.get(self.field.name)
        return column.cast(result_type(prop.type)) if prop is not None and prop.type.is_json else _sized(column)

    def _value(self, resolution: Resolution, base: pa.Array, position: int, is_unsure: bool) -> pa.Array | None:
        """The value of a resolution; None if it has none, so that the conflict remains."""
        match resolution.take:
            case Take.SOURCE:
                return self.source_values.slice(position, 1)
            case Take.BASE:
                return None if is_unsure else base.slice(position, 1)
            case Take.EXPRESSION:
                formula = self.sides.rules.formulas[self.sides.entity.table_key, self.field.name, resolution.value]
                given = {"base": base, "source": self.source_values, "target": self.target_values}
                if is_unsure and formula.reads_base:
                    return None
                return formula.value({name: column.slice(position, 1) for name, column in given.items()})
            case _:
                return resolved_value(self.sides.entity, self.field.name, resolution.value)


def resolved_value(entity: Entity, name: str, value: Any) -> pa.Array:
    """The value of a resolution in the type of the column."""
    field = table_schema(entity).field(name)
    if is_blob(field) or name not in entity.properties:
        raise UsageError(f"a resolution cannot set a value of {entity.name}.{name}", hint="take one of the sides")
    try:
        stored = None if value is None else converter(entity.properties[name].type)(value)
    except Unfit as error:
        raise UsageError(f"the value of a resolution does not fit {entity.name}.{name}: {error}") from error
    return pa.array([stored], field.type)


def _nowhere(rows: int) -> pa.BooleanArray:
    return pa.array([False] * rows, pa.bool_())


def _is(mask: pa.BooleanArray, wanted: bool) -> pa.BooleanArray:
    return mask if wanted else pc.invert(mask)


def _mask(positions: pa.Array, rows: int) -> pa.BooleanArray:
    return pc.is_in(pa.array(range(rows), pa.uint64()), value_set=positions.cast(pa.uint64()))


def _put(column: pa.Array, positions: pa.Array, values: pa.Array) -> pa.Array:
    """The column with other values at some positions.

    Column [a, b, c, d, e], positions [1, 3], values [x, y]: ``take`` of [0, 5, 2, 6, 4] from [a, b, c, d, e, x, y].
    """
    places = list(range(len(column)))
    for number, position in enumerate(positions.to_pylist()):
        places[position] = len(column) + number
    return pa.concat_arrays([column, values]).take(pa.array(places, pa.int64()))


def _sized(column: pa.Array) -> pa.Array:
    """Values of conflicts as shown: the size of a blob, else the value."""
    return pc.struct_field(column, "size") if pa.types.is_struct(column.type) else column
