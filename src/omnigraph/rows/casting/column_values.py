"""Columns of Arrow's JSON parser to stored columns; raises Unusual where the exact path must decide.

The vectorised equivalent of ``json_values``: it accepts a subset of the same values and rejects nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.scalars import Scalar
from omnigraph.core.temporal import (
    DAYS_RANGE,
    DURATION_RANGE,
    MILLISECONDS_PER_DAY,
    MILLISECONDS_RANGE,
    parse_date,
    parse_datetime,
    parse_length,
    parse_time,
)
from omnigraph.core.uuids import CANONICAL
from omnigraph.rows.arrow_types import column_type, item_type
from omnigraph.rows.casting.json_values import F32_OVERFLOW, Unfit, converter
from omnigraph.schema.types import PropertyType

_ISO_TIME_LENGTHS = pa.array([20, 22, 23, 24], pa.int32())
"""``YYYY-MM-DDTHH:MM:SSZ`` without and with one to three decimals."""


class Unusual(Exception):
    """The column holds a value that only the exact path reads or rejects."""


def temporal_in(value: object, type_: PropertyType) -> Literal["number", "text"] | None:
    """The form of a date, time or duration, or of the first one in a list; None if there is none."""
    if PARSING[type_.scalar].number is None:
        return None
    if isinstance(value, list):
        value = next((item for item in value if item is not None), None)
    if isinstance(value, str):
        return "text"
    return "number" if isinstance(value, int) else None


def fast_type(type_: PropertyType, *, as_number: bool) -> pa.DataType:
    """The Arrow type to parse a property with."""
    parsing = PARSING[type_.scalar]
    item = parsing.number if as_number and parsing.number is not None else parsing.type
    return pa.list_(item) if type_.is_list or type_.is_vector else item


def stored(array: pa.Array, type_: PropertyType) -> pa.Array:
    """The column as stored."""
    if type_.is_vector:
        return _vector(array, type_)
    if not type_.is_list:
        return _scalars(array, type_)
    if array.values.null_count:
        raise Unusual
    items = _scalars(array.values, type_)
    if items is array.values:
        return array
    return pa.ListArray.from_arrays(array.offsets, items, type=column_type(type_), mask=array.is_null())


def _scalars(array: pa.Array, type_: PropertyType) -> pa.Array:
    return PARSING[type_.scalar].stored(array, type_)


def _same(array: pa.Array, _type: PropertyType) -> pa.Array:
    return array


def _decimals(array: pa.Array, type_: PropertyType) -> pa.Array:
    """Decimals that are written as texts. Numbers lose digits in Arrow's parser, so the exact path reads them."""
    return _converted(array, type_)


def _uuids(array: pa.Array, type_: PropertyType) -> pa.Array:
    if pc.all(pc.match_substring_regex(array, CANONICAL), min_count=0).as_py():
        return array
    return _converted(array, type_)


def _converted(array: pa.Array, type_: PropertyType) -> pa.Array:
    """Each distinct text read by the exact converter."""
    convert, encoded = converter(type_.item), array.dictionary_encode()
    try:
        values = [convert(text) for text in encoded.dictionary.to_pylist()]
    except Unfit:
        raise Unusual from None
    return pa.array(values, item_type(type_)).take(encoded.indices)


def _json(array: pa.Array, _type: PropertyType) -> pa.Array:
    """Arrow's parser has no type for values of any form: the exact path reads them."""
    if array.null_count < len(array):
        raise Unusual
    return array


def _blobs(array: pa.Array, _type: PropertyType) -> pa.Array:
    convert = converter(PropertyType(Scalar.BLOB))
    try:
        values = [None if text is None else convert(text) for text in array.to_pylist()]
    except Unfit:
        raise Unusual from None
    return pa.array(values, pa.large_binary())


def _floats(array: pa.Array, *, narrow: bool) -> pa.Array:
    if not pc.all(pc.is_finite(array), min_count=0).as_py():
        raise Unusual
    zeros = pc.equal(array, 0.0)
    if pc.any(zeros).as_py() and pc.any(pc.less(pc.divide(1.0, array.filter(zeros)), 0.0)).as_py():
        # JSON -0 is the integer 0 in Python and a negative float zero in Arrow.
        raise Unusual
    if not narrow:
        return array
    if pc.any(pc.greater_equal(pc.abs(array), F32_OVERFLOW)).as_py():
        raise Unusual
    return array.cast(pa.float32(), safe=False)


def _vector(array: pa.Array, type_: PropertyType) -> pa.Array:
    if (
        array.values.null_count
        or not pc.all(pc.equal(pc.list_value_length(array), type_.dimension), min_count=0).as_py()
    ):
        raise Unusual
    numbers = _scalars(array.values, type_)
    if not array.null_count:
        return pa.FixedSizeListArray.from_arrays(numbers, type=column_type(type_))
    lists = pa.ListArray.from_arrays(array.offsets, numbers, type=pa.list_(pa.float32()), mask=array.is_null())
    return lists.cast(column_type(type_))


def _dates(array: pa.Array, _type: PropertyType) -> pa.Array:
    if array.type != pa.utf8():
        return _within(array, DAYS_RANGE).view(pa.date32())
    if pc.all(pc.equal(pc.binary_length(array), 10), min_count=0).as_py():
        try:
            days = array.cast(pa.date32())
        except pa.ArrowInvalid:
            raise Unusual from None
        return _within(days.view(pa.int32()), DAYS_RANGE).view(pa.date32())
    return _each_distinct(array, parse_date, pa.int32()).view(pa.date32())


def _times(array: pa.Array, declared: PropertyType) -> pa.Array:
    type_ = item_type(declared)
    if array.type != pa.utf8():
        return _within(array, MILLISECONDS_RANGE).view(type_)
    is_plain = pc.and_(pc.is_in(pc.binary_length(array), _ISO_TIME_LENGTHS), pc.ends_with(array, "Z"))
    if pc.all(pc.or_(is_plain, pc.is_null(array)), min_count=0).as_py():
        try:
            times = array.cast(type_)
        except pa.ArrowInvalid:
            raise Unusual from None
        return _within(times.view(pa.int64()), MILLISECONDS_RANGE).view(type_)
    return _each_distinct(array, parse_datetime, pa.int64()).view(type_)


def _clock_times(array: pa.Array, declared: PropertyType) -> pa.Array:
    numbers = array if array.type != pa.utf8() else _each_distinct(array, parse_time, pa.int32())
    return _within(numbers, (0, MILLISECONDS_PER_DAY - 1)).view(item_type(declared))


def _lengths(array: pa.Array, declared: PropertyType) -> pa.Array:
    numbers = array if array.type != pa.utf8() else _each_distinct(array, parse_length, pa.int64())
    return _within(numbers, DURATION_RANGE).view(item_type(declared))


def _within(numbers: pa.Array, range_: tuple[int, int]) -> pa.Array:
    if beyond(numbers, range_):
        raise Unusual
    return numbers


def beyond(numbers: pa.Array, range_: tuple[int, int]) -> bool:
    """Tell if any number lies outside the inclusive range."""
    ends = pc.min_max(numbers).as_py()
    return ends["min"] is not None and (ends["min"] < range_[0] or ends["max"] > range_[1])


def _each_distinct(array: pa.Array, parse: Callable[[str], int | None], type_: pa.DataType) -> pa.Array:
    """Texts in other forms: each distinct text is parsed once by the exact parser."""
    encoded = array.dictionary_encode()
    numbers = [parse(text) for text in encoded.dictionary.to_pylist()]
    if None in numbers:
        raise Unusual
    return pa.array(numbers, type_).take(encoded.indices)


@dataclass(frozen=True, slots=True)
class Parsing:
    """The type Arrow parses a scalar as, the type for those written as numbers, and the way from there to storage."""

    type: pa.DataType
    stored: Callable[[pa.Array, PropertyType], pa.Array] = _same
    number: pa.DataType | None = None


PARSING: Final[dict[Scalar, Parsing]] = {
    Scalar.STRING: Parsing(pa.utf8()),
    Scalar.BLOB: Parsing(pa.utf8(), _blobs),
    Scalar.BOOL: Parsing(pa.bool_()),
    Scalar.I32: Parsing(pa.int32()),
    Scalar.I64: Parsing(pa.int64()),
    Scalar.U32: Parsing(pa.uint32()),
    Scalar.U64: Parsing(pa.uint64()),
    # Not narrowed by Arrow: the exact path rounds twice (text to double to float), and both must agree.
    Scalar.F32: Parsing(pa.float64(), lambda array, _: _floats(array, narrow=True)),
    Scalar.F64: Parsing(pa.float64(), lambda array, _: _floats(array, narrow=False)),
    Scalar.DATETIME: Parsing(pa.utf8(), _times, number=pa.int64()),
    Scalar.DATE: Parsing(pa.utf8(), _dates, number=pa.int32()),
    Scalar.VECTOR: Parsing(pa.float64(), lambda array, _: _floats(array, narrow=True)),
    Scalar.DECIMAL: Parsing(pa.utf8(), _decimals),
    Scalar.TIME: Parsing(pa.utf8(), _clock_times, number=pa.int32()),
    Scalar.DURATION: Parsing(pa.utf8(), _lengths, number=pa.int64()),
    Scalar.UUID: Parsing(pa.utf8(), _uuids),
    Scalar.JSON: Parsing(pa.utf8(), _json),
}
"""Parsing of a column of single values; for a vector, of its numbers."""
