"""Casts of a user's Arrow column to the type of a property.

Allowed:

* numbers of another width that fit, and whole floats as integers (pandas stores integers with gaps as floats);
* times of any unit and zone, as UTC milliseconds;
* text as dates, times, durations, decimals and UUIDs, bytes as vectors;
* structs, maps, lists and texts of JSON as Json.

A number never becomes text. As in JSON, non-finite numbers, dates outside the calendar, nulls in lists and invalid
UTF-8 are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import (
    CALENDAR,
    DAYS_RANGE,
    MILLISECONDS_RANGE,
    parse_date,
    parse_datetime,
)
from omnigraph.rows.arrow_types import column_type, item_type
from omnigraph.rows.casting.column_values import beyond
from omnigraph.rows.casting.exact import clock_times, decimals, lengths, uuids
from omnigraph.rows.casting.json_values import Unfit, converter
from omnigraph.rows.casting.nested import json_values
from omnigraph.rows.casting.problems import PER_SECOND, WrongColumn, WrongValue, expect
from omnigraph.schema.types import PropertyType

_MILLISECONDS_PER_DAY = 86_400_000
_FLOAT = pa.float32()


def cast_column(array: pa.Array, type_: PropertyType, *, from_texts: bool = False) -> pa.Array:
    """The column as stored. Raises WrongColumn, or WrongValue when at least one row does not fit.

    ``from_texts`` also parses text as numbers, booleans and JSON arrays, for formats that hold only text.
    """
    array = _readable(plain(array))
    if from_texts and pa.types.is_string(array.type):
        array = _read_texts(array, type_)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), column_type(type_))
    try:
        if type_.is_vector:
            return _vector(array, type_)
        if type_.is_list:
            return _list(array, type_)
        return CASTS[type_.scalar](array, type_)
    except (pa.ArrowInvalid, OverflowError) as problem:
        raise WrongValue(f"does not fit {type_}") from problem
    except pa.ArrowNotImplementedError as problem:
        raise WrongColumn(f"a column of {array.type} cannot be read as {type_}") from problem


def is_uuid(kind: pa.DataType) -> bool:
    """True for Arrow's type of UUIDs."""
    return isinstance(kind, pa.UuidType)


def uuid_texts(array: pa.Array) -> pa.Array:
    """UUIDs as text in the usual form, 8-4-4-4-12."""
    return pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.utf8())


def plain(array: pa.Array) -> pa.Array:
    """The array without encodings: dictionary, run-end, extension types, text views."""
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif pa.types.is_dictionary(array.type):
            # Arrow cannot decode a dictionary of text views, which polars makes for categories.
            words = plain(array.dictionary)
            array = words.take(array.indices) if words.type != array.type.value_type else array.dictionary_decode()
        elif pa.types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        elif pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
            array = array.cast(pa.utf8())
        else:
            return array


def _readable(array: pa.Array) -> pa.Array:
    """Refuse invalid UTF-8: Arrow trusts the producer of a column, and a later read would fail far from here."""
    if pa.types.is_string(array.type):
        try:
            array.validate(full=True)
        except pa.ArrowInvalid as problem:
            raise WrongValue("is not valid UTF-8") from problem
    return array


def _read_texts(array: pa.Array, type_: PropertyType) -> pa.Array:
    """Parse text for types that have no text form of their own."""
    try:
        if type_.is_list or type_.is_vector:
            return _list_array([None if text is None else _flat_list(json.loads(text)) for text in array.to_pylist()])
        if type_.scalar is Scalar.BOOL or type_.scalar.is_integer:
            return _trimmed_cast(array, item_type(type_))
        if type_.scalar.is_float:
            return _trimmed_cast(array, pa.float64())
    except (pa.ArrowInvalid, ValueError, TypeError, OverflowError) as problem:
        is_null_mark = len(array) == 1 and array[0].as_py().strip().lower() in _NULL_MARKS
        raise WrongValue(f"is not {_wanted(type_)}{'; null is an empty field' if is_null_mark else ''}") from problem
    return array


_NULL_MARKS: Final = frozenset({"null", "none", "na", "n/a", "nan", "nil", "\\n", "-"})
"""Texts by which other tools mark a missing value, in lower case."""


def _wanted(type_: PropertyType) -> str:
    """The texts that a type is read from, for messages."""
    if type_.is_vector:
        return f"a JSON array of {type_.dimension} numbers"
    if type_.is_list:
        return "a JSON array"
    if type_.scalar.is_integer:
        low, high = INTEGER_RANGES[type_.scalar]
        return f"an integer from {low} to {high}"
    return "a number" if type_.scalar.is_float else "true or false"


def _trimmed_cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Texts as numbers or booleans, without the spaces around them; a text without anything else is null."""
    try:
        return array.cast(target)
    except pa.ArrowInvalid:
        trimmed = pc.utf8_trim_whitespace(array)
        return pc.if_else(pc.equal(trimmed, ""), None, trimmed).cast(target)


def _list_array(values: list[list[object] | None]) -> pa.Array:
    try:
        return pa.array(values)
    except OverflowError:
        # Arrow infers signed integers only, and the largest ones of U64 are none.
        return pa.array(values, pa.list_(pa.uint64()))


def _flat_list(value: object) -> list[object]:
    if not isinstance(value, list) or any(isinstance(item, list | dict) for item in value):
        raise ValueError("not a list of plain values")
    return value


def _strings(array: pa.Array, _type: PropertyType) -> pa.Array:
    expect(pa.types.is_string(array.type), array, "text")
    return array


def _booleans(array: pa.Array, _type: PropertyType) -> pa.Array:
    expect(pa.types.is_boolean(array.type), array, "booleans")
    return array


def _integers(array: pa.Array, type_: PropertyType) -> pa.Array:
    expect(_is_number(array.type), array, "integers")
    return array.cast(item_type(type_))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _floats(array: pa.Array, type_: PropertyType) -> pa.Array:
    target = item_type(type_)
    expect(_is_number(array.type), array, "numbers")
    floats = array.cast(target, safe=False)
    if not pc.all(pc.is_finite(floats), min_count=0).as_py():
        raise WrongValue(f"is not finite as a {target.bit_width}-bit float")
    return floats


def _dates(array: pa.Array, _type: PropertyType) -> pa.Array:
    kind = array.type
    if pa.types.is_date32(kind):
        return _within(array.view(pa.int32()), DAYS_RANGE).view(pa.date32())
    if pa.types.is_integer(kind):
        return _within(array, DAYS_RANGE).cast(pa.int32()).view(pa.date32())
    if pa.types.is_string(kind):
        return _iso_dates(array)
    expect(pa.types.is_timestamp(kind) or pa.types.is_date64(kind), array, "dates")
    return pc.floor_temporal(_milliseconds(array), unit="day").cast(pa.date32())


def _iso_dates(array: pa.Array) -> pa.Array:
    """Dates of texts. Arrow parses the usual form, many times faster, and refuses every other."""
    try:
        days = array.cast(pa.date32()).view(pa.int32())
    except pa.ArrowInvalid:
        days = _parsed(array, parse_date, pa.int32(), "an ISO date")
    return _within(days, DAYS_RANGE).view(pa.date32())


def _times(array: pa.Array, type_: PropertyType) -> pa.Array:
    kind, target = array.type, item_type(type_)
    if pa.types.is_integer(kind):
        return _within(array, MILLISECONDS_RANGE).cast(pa.int64()).view(target)
    if pa.types.is_string(kind):
        return _parsed(array, parse_datetime, pa.int64(), "an ISO time").view(target)
    if pa.types.is_date32(kind):
        days = _within(array.view(pa.int32()), DAYS_RANGE).cast(pa.int64())
        return pc.multiply(days, _MILLISECONDS_PER_DAY).view(target)
    expect(pa.types.is_timestamp(kind) or pa.types.is_date64(kind), array, "times")
    return _milliseconds(array).view(target)


def _milliseconds(array: pa.Array) -> pa.Array:
    """UTC milliseconds without a zone. A time without a zone is UTC; finer units are truncated."""
    numbers = array.view(pa.int64())
    if not pa.types.is_date64(array.type):
        # Rounding a time near the ends of its type wraps around, so the range is checked first.
        low, high = MILLISECONDS_RANGE
        per_second = PER_SECOND[array.type.unit]
        range_ = (low * per_second // 1000, (high + 1) * per_second // 1000 - 1)
        bare = _within(numbers, range_).view(pa.timestamp(array.type.unit))
        return pc.floor_temporal(bare, unit="millisecond").cast(pa.timestamp("ms"))
    return _within(numbers, MILLISECONDS_RANGE).view(pa.timestamp("ms"))


def _within(numbers: pa.Array, range_: tuple[int, int]) -> pa.Array:
    if beyond(numbers, range_):
        raise WrongValue(f"is outside {CALENDAR}")
    return numbers


def _parsed(array: pa.Array, parse: Callable[[str], int | None], target: pa.DataType, what: str) -> pa.Array:
    encoded = array.dictionary_encode()
    numbers = [parse(text) for text in encoded.dictionary.to_pylist()]
    if None in numbers:
        raise WrongValue(f"is not {what}")
    return pa.array(numbers, target).take(encoded.indices)


def _blobs(array: pa.Array, _type: PropertyType) -> pa.Array:
    if pa.types.is_string(array.type):
        convert = converter(PropertyType(Scalar.BLOB))
        try:
            values = [None if text is None else convert(text) for text in array.to_pylist()]
        except Unfit as problem:
            raise WrongValue(str(problem)) from None
        return pa.array(values, pa.large_binary())
    expect(_is_bytes(array.type), array, "bytes")
    if pa.types.is_fixed_size_binary(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(pa.binary())
    return array.cast(pa.large_binary())


def _list(array: pa.Array, type_: PropertyType) -> pa.Array:
    lists = _as_list(array)
    # list_flatten skips the items below null lists, which are not values.
    items = _readable(plain(pc.list_flatten(lists)))
    if items.null_count:
        raise WrongValue("holds null, and the items of a list are not nullable")
    lengths = pc.fill_null(pc.list_value_length(lists), 0).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    is_empty = pa.types.is_null(items.type)
    stored = pa.nulls(0, item_type(type_)) if is_empty else CASTS[type_.scalar](items, type_)
    return pa.ListArray.from_arrays(offsets, stored, type=column_type(type_), mask=lists.is_null())


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    kinds = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
    return any(is_kind(kind) for is_kind in kinds)


def _vector(array: pa.Array, type_: PropertyType) -> pa.Array:
    if _is_bytes(array.type):
        return _packed_vector(array, type_)
    lists = _list(array, PropertyType(Scalar.F32, is_list=True))
    if not pc.all(pc.equal(pc.list_value_length(lists), type_.dimension), min_count=0).as_py():
        raise WrongValue(f"is not an array of {type_.dimension} numbers")
    numbers = pc.list_flatten(lists)
    if numbers.null_count or not pc.all(pc.is_finite(numbers), min_count=0).as_py():
        raise WrongValue("holds something that is not a finite number")
    if not len(numbers):
        # Arrow's cast crashes the process if the items have no buffer, as in IPC messages without items.
        return pa.nulls(len(lists), column_type(type_))
    return lists.cast(column_type(type_))


def _packed_vector(array: pa.Array, type_: PropertyType) -> pa.Array:
    """Vectors as packed little-endian floats, for producers that are slow with lists of numbers, such as Spark."""
    count = type_.dimension or 0
    width = count * _FLOAT.byte_width
    texts = array.cast(pa.large_binary() if pa.types.is_large_binary(array.type) else pa.binary())
    if not pc.all(pc.equal(pc.binary_length(texts), width), min_count=0).as_py():
        raise WrongValue(f"is not {width} bytes: {count} numbers of 32 bits, the least significant byte first")
    fixed = texts.cast(pa.binary(width))
    numbers = pa.Array.from_buffers(_FLOAT, len(fixed) * count, [None, fixed.buffers()[1]], offset=fixed.offset * count)
    vectors = pa.FixedSizeListArray.from_arrays(numbers, type=column_type(type_), mask=fixed.is_null())
    if not pc.all(pc.is_finite(pc.list_flatten(vectors)), min_count=0).as_py():
        raise WrongValue("holds something that is not a finite number")
    return vectors


def _as_list(array: pa.Array) -> pa.Array:
    kind = array.type
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    expect(is_list or types.is_list_view(kind) or types.is_large_list_view(kind), array, "lists")
    return array if types.is_list(kind) else array.cast(pa.list_(kind.value_type))


CASTS: Final[dict[Scalar, Callable[[pa.Array, PropertyType], pa.Array]]] = {
    Scalar.STRING: _strings,
    Scalar.BLOB: _blobs,
    Scalar.BOOL: _booleans,
    Scalar.I32: _integers,
    Scalar.I64: _integers,
    Scalar.U32: _integers,
    Scalar.U64: _integers,
    Scalar.F32: _floats,
    Scalar.F64: _floats,
    Scalar.DATETIME: _times,
    Scalar.DATE: _dates,
    Scalar.DECIMAL: decimals,
    Scalar.TIME: clock_times,
    Scalar.DURATION: lengths,
    Scalar.UUID: uuids,
    Scalar.JSON: json_values,
}
"""The cast of a column of single values, for every scalar but a vector."""
