"""Vectorised constraints on single values: required, ``@range``, ``@check``, enum.

Constraints over several rows (uniqueness, endpoints, cardinality) are checked by ``validate``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.decimals import as_decimal
from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations, shown
from omnigraph.schema.catalog import NodeType
from omnigraph.schema.ir import CheckConstraint, RangeConstraint
from omnigraph.schema.patterns import compile_pattern

Places = Callable[[int], Place | None]
Explain = Callable[[object], str]


def check_values(
    entity: Entity, batch: pa.RecordBatch, places: Places, violations: Violations, later: Collection[str] = ()
) -> None:
    """Report every invalid value. ``places`` locates the row at an index.

    Required properties in ``later`` may be null: their values are filled in afterwards.
    """
    report = _Report(entity, batch, places, violations)
    for field in table_schema(entity):
        column = batch.column(field.name)
        if not field.nullable and column.null_count and field.name not in later:
            report.add(ViolationCode.REQUIRED, field.name, pc.is_null(column), report.explain_missing(field.name))
    if isinstance(entity, NodeType):
        for bounds in entity.ranges:
            _check_range(bounds, report)
        for check in entity.checks:
            _check_pattern(check, report)
    for name, prop in sorted(entity.properties.items()):
        if prop.type.enum_values is not None:
            _check_enum(name, prop.type.enum_values, report)


class _Report:
    """Converts masks of invalid rows to violations; builds only those that are kept."""

    def __init__(self, entity: Entity, batch: pa.RecordBatch, places: Places, violations: Violations) -> None:
        self.entity = entity
        self._batch = batch
        self._places = places
        self._violations = violations

    def column(self, name: str) -> pa.Array:
        return self._batch.column(name)

    def explain_missing(self, name: str) -> Explain:
        return lambda _: f"missing required property {self.entity.name}.{name}"

    def add(self, code: ViolationCode, name: str, is_wrong: pa.Array, explain: Explain) -> None:
        wrong = pc.indices_nonzero(is_wrong)
        if len(wrong):
            kind = (code, self.entity.table_key, name)
            self._violations.add_group(kind, len(wrong), self._each(code, name, wrong, explain))

    def _each(self, code: ViolationCode, name: str, wrong: pa.Array, explain: Explain) -> Iterator[Violation]:
        for index in wrong:
            row = index.as_py()
            message = explain(_value(self.column(name), row))
            entity_id = self.column(ID)[row].as_py()
            yield Violation(code, message, self.entity.table_key, entity_id, name, self._places(row))


def _value(column: pa.Array, row: int) -> object:
    # Dates are not repeated in messages: Python has no value for those beyond its calendar.
    return column[row].as_py() if not pa.types.is_temporal(column.type) else None


def _check_range(bounds: RangeConstraint, report: _Report) -> None:
    column = report.column(bounds.property)
    where = f"@range violation on {report.entity.name}.{bounds.property}"
    if pa.types.is_floating(column.type):
        # Bounds are compared as 64-bit floats, whatever the width of the column.
        column = column.cast(pa.float64())
        report.add(
            ViolationCode.RANGE, bounds.property, pc.is_nan(column), lambda _: f"{where}: value NaN is not a number"
        )
    if bounds.low is not None:
        low = bounds.low
        is_below = _compare(column, low, is_low=True)
        report.add(ViolationCode.RANGE, bounds.property, is_below, lambda value: f"{where}: value {value} < min {low}")
    if bounds.high is not None:
        high = bounds.high
        is_above = _compare(column, high, is_low=False)
        report.add(ViolationCode.RANGE, bounds.property, is_above, lambda value: f"{where}: value {value} > max {high}")


def _compare(column: pa.Array, bound: int | float, *, is_low: bool) -> pa.Array:
    """A mask of values beyond a bound. Integers are compared as integers: doubles are not exact above 2**53."""
    beyond = pc.less if is_low else pc.greater
    if pa.types.is_decimal(column.type):
        # Bounds are the numbers that are written: 0.1 is a tenth.
        limit = as_decimal(bound)
        found = [
            None if value is None else (value < limit if is_low else value > limit) for value in column.to_pylist()
        ]
        return pa.array(found, pa.bool_())
    if pa.types.is_floating(column.type):
        return beyond(column, pa.scalar(float(bound), pa.float64()))
    if isinstance(bound, float) and not math.isfinite(bound):
        is_beyond = bound > 0 if is_low else bound < 0
        return pc.and_(pc.is_valid(column), is_beyond)
    whole = math.ceil(bound) if is_low else math.floor(bound)
    try:
        return beyond(column, pa.scalar(whole, column.type))
    except (pa.ArrowInvalid, OverflowError):
        # The bound is outside the range of the column's type: either every value is beyond it or none.
        is_beyond = whole > 0 if is_low else whole < 0
        return pc.and_(pc.is_valid(column), is_beyond)


def _check_pattern(check: CheckConstraint, report: _Report) -> None:
    is_found = compile_pattern(check.pattern)
    column = report.column(check.property)
    encoded = column.dictionary_encode()
    fails = [not is_found(text) for text in encoded.dictionary.to_pylist()]
    if not any(fails):
        return
    where = f"@check violation on {report.entity.name}.{check.property}"
    report.add(
        ViolationCode.CHECK,
        check.property,
        pa.array(fails, pa.bool_()).take(encoded.indices),
        lambda value: f"{where}: value {shown(value)} does not match pattern {check.pattern}",
    )


def _check_enum(name: str, allowed: tuple[str, ...], report: _Report) -> None:
    column = report.column(name)
    is_wrong = pc.and_(pc.is_valid(column), pc.invert(pc.is_in(column, pa.array(allowed, pa.utf8()))))
    expected = ", ".join(allowed)
    report.add(
        ViolationCode.ENUM,
        name,
        is_wrong,
        lambda value: f"invalid enum value {shown(value)} for {report.entity.name}.{name} (expected: {expected})",
    )
