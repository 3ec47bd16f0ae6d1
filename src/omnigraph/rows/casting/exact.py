"""Casts to decimals, times of day, durations and UUIDs: from their own Arrow types, from texts and from numbers."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.decimals import DIGITS_MAX
from omnigraph.core.temporal import DURATION_RANGE
from omnigraph.core.uuids import uuid_of_bytes
from omnigraph.rows.arrow_types import item_type
from omnigraph.rows.casting.column_values import beyond
from omnigraph.rows.casting.json_values import Unfit, converter
from omnigraph.rows.casting.problems import PER_SECOND, WrongValue, expect
from omnigraph.schema.types import PropertyType

_UUID_BYTES: Final = 16

_NO_TIME: Final = "is not a time such as 12:30:15 or milliseconds of a day"
_NO_LENGTH: Final = "is not an ISO duration without years and months, such as P1DT2H, or milliseconds"


def decimals(array: pa.Array, type_: PropertyType) -> pa.Array:
    """Numbers that the type represents exactly. A float is the number that its shortest digits denote."""
    kind, target = array.type, item_type(type_)
    if pa.types.is_decimal(kind):
        return array.cast(target)
    if pa.types.is_integer(kind):
        # Arrow demands room for all integers of the type first.
        return array.cast(pa.decimal128(DIGITS_MAX, 0)).cast(target)
    expect(pa.types.is_string(kind) or pa.types.is_floating(kind), array, "decimals")
    return _each(array, type_, f"does not fit {type_.item}")


def _each(array: pa.Array, type_: PropertyType, problem: str) -> pa.Array:
    """Each distinct value read by the converter of single values."""
    convert, encoded = converter(type_.item), array.dictionary_encode()
    try:
        values = [convert(value) for value in encoded.dictionary.to_pylist()]
    except Unfit:
        raise WrongValue(problem) from None
    return pa.array(values, item_type(type_)).take(encoded.indices)


def uuids(array: pa.Array, type_: PropertyType) -> pa.Array:
    """UUIDs in their stored form."""
    if pa.types.is_fixed_size_binary(array.type) and array.type.byte_width == _UUID_BYTES:
        return pa.array([None if value is None else uuid_of_bytes(value) for value in array.to_pylist()], pa.utf8())
    expect(pa.types.is_string(array.type), array, "UUIDs")
    return _each(array, type_, "is not a UUID")


def clock_times(array: pa.Array, type_: PropertyType) -> pa.Array:
    """Times of day as milliseconds since midnight."""
    kind, target = array.type, item_type(type_)
    if pa.types.is_time(kind):
        per_second = PER_SECOND[kind.unit]
        numbers = array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
        return _in_milliseconds(numbers, per_second).cast(pa.int32()).view(target)
    expect(pa.types.is_string(kind) or pa.types.is_integer(kind), array, "times of day")
    return _each(array, type_, _NO_TIME)


def lengths(array: pa.Array, type_: PropertyType) -> pa.Array:
    """Durations as milliseconds."""
    kind, target = array.type, item_type(type_)
    if pa.types.is_duration(kind):
        numbers = _in_milliseconds(array.view(pa.int64()), PER_SECOND[kind.unit])
        if beyond(numbers, DURATION_RANGE):
            raise WrongValue("is longer than a Duration can be")
        return numbers.view(target)
    expect(pa.types.is_string(kind) or pa.types.is_integer(kind), array, "durations")
    return _each(array, type_, _NO_LENGTH)


def _in_milliseconds(numbers: pa.Array, per_second: int) -> pa.Array:
    """Numbers of a unit as milliseconds; finer units are cut off."""
    if per_second <= PER_SECOND["ms"]:
        return pc.multiply_checked(numbers, 1000 // per_second)
    return pc.divide(numbers, per_second // 1000)
