"""Kernels of ``cast``: one per pair of scalar families; null where the other type has no such value.

Texts of numbers are those of the query language with an optional exponent; texts of dates and times are ISO 8601.
A float becomes the text that identifies it with the fewest digits, without an exponent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.numbers import round_float
from omnigraph.core.scalars import INTEGER_RANGES, Family, Scalar
from omnigraph.core.temporal import parse_date, parse_datetime
from omnigraph.exec.functions.rowwise import each_different, flat, packed
from omnigraph.rows.arrow_types import ARROW_TYPES
from omnigraph.rows.keys import key_texts
from omnigraph.schema.types import PropertyType

_INTEGER: Final = re.compile(r"[+-]?0*[0-9]{1,20}", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?", re.ASCII)
_TRUTHS: Final = {"true": True, "false": False}
_NOT_FINITE: Final = {math.inf: "Infinity", -math.inf: "-Infinity"}

Cast = Callable[[Any, Scalar, Scalar], Any]
"""A kernel: the value, its scalar and the wanted one."""


def cast(value: Any, given: Scalar, wanted: Scalar) -> Any:
    """The value in another type."""
    return CASTS[given.info.family, wanted.info.family](value, given, wanted)


def _read(value: Any, _given: Scalar, wanted: Scalar) -> Any:
    """A text as a value of another type."""
    return each_different(lambda text: READERS[wanted.info.family](text, wanted), value, ARROW_TYPES[wanted])


def _integer(text: str, wanted: Scalar) -> int | None:
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    low, high = INTEGER_RANGES[wanted]
    return number if low <= number <= high else None


def _float(text: str, wanted: Scalar) -> float | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    number = round_float(float(text), wanted)
    return number if math.isfinite(number) else None


def _moment(text: str, wanted: Scalar) -> int | None:
    return parse_date(text) if wanted is Scalar.DATE else parse_datetime(text)


READERS: Final[dict[Family, Callable[[str, Scalar], Any]]] = {
    Family.BOOLEAN: lambda text, _: _TRUTHS.get(text),
    Family.INTEGER: _integer,
    Family.FLOAT: _float,
    Family.TEMPORAL: _moment,
}
"""The value that a text denotes, or None."""


def _written(value: Any, _given: Scalar, wanted: Scalar) -> Any:
    """An integer or a truth value as a text."""
    return pc.cast(value, ARROW_TYPES[wanted])


def _float_text(value: Any, given: Scalar, wanted: Scalar) -> Any:
    numbers = flat(value)
    texts = key_texts(numbers, PropertyType(given))
    if texts.null_count > numbers.null_count:
        named = [_NOT_FINITE.get(number, "NaN") for number in numbers.to_pylist()]
        texts = pc.if_else(pc.is_valid(numbers), pc.coalesce(texts, pa.array(named)), pa.scalar(None, pa.utf8()))
    return packed(texts.cast(ARROW_TYPES[wanted]), (value,))


def _moment_text(value: Any, _given: Scalar, wanted: Scalar) -> Any:
    """ISO 8601. Arrow writes a space between date and time."""
    return pc.replace_substring(pc.cast(value, ARROW_TYPES[wanted]), pattern=" ", replacement="T")


def _whole(value: Any, _given: Scalar, wanted: Scalar) -> Any:
    """An integer of another width; null outside of its range."""
    array, (low, high) = flat(value), INTEGER_RANGES[wanted]
    limits = np.iinfo(array.type.to_pandas_dtype())
    fits = pa.scalar(True)
    if limits.min < low:
        fits = pc.greater_equal(array, pa.scalar(low, array.type))
    if limits.max > high:
        fits = pc.and_(fits, pc.less_equal(array, pa.scalar(high, array.type)))
    kept = pc.if_else(fits, array, pa.scalar(None, array.type))
    return packed(pc.cast(kept, ARROW_TYPES[wanted]), (value,))


def _truncated(value: Any, _given: Scalar, wanted: Scalar) -> Any:
    """A float without its fraction; null if no integer of the type is that number."""
    array, (low, high) = flat(pc.trunc(value)), INTEGER_RANGES[wanted]
    # high + 1 is a power of two, which a float represents exactly; high itself may not be representable.
    inside = pc.and_(pc.greater_equal(array, float(low)), pc.less(array, float(high + 1)))
    kept = pc.if_else(pc.fill_null(inside, False), array, pa.scalar(None, array.type))
    return packed(pc.cast(kept, ARROW_TYPES[wanted]), (value,))


def _rounded(value: Any, _given: Scalar, wanted: Scalar) -> Any:
    """The nearest float; null if a finite number becomes infinite."""
    array = flat(value)
    found = pc.cast(array, ARROW_TYPES[wanted], safe=False)
    if wanted is Scalar.F32:
        is_lost = pc.and_(pc.is_inf(found), pc.is_finite(pc.cast(array, pa.float64(), safe=False)))
        found = pc.if_else(is_lost, pa.scalar(None, found.type), found)
    return packed(found, (value,))


def _from_truth(value: Any, _given: Scalar, wanted: Scalar) -> Any:
    return pc.cast(value, ARROW_TYPES[wanted])


def _between_moments(value: Any, _given: Scalar, wanted: Scalar) -> Any:
    """A Date as the start of its day, a DateTime as its day."""
    floored = value if wanted is Scalar.DATETIME else pc.floor_temporal(value, unit="day")
    return pc.cast(floored, ARROW_TYPES[wanted])


CASTS: Final[dict[tuple[Family, Family], Cast]] = {
    **{(Family.TEXT, family): _read for family in READERS},
    (Family.BOOLEAN, Family.TEXT): _written,
    (Family.INTEGER, Family.TEXT): _written,
    (Family.FLOAT, Family.TEXT): _float_text,
    (Family.TEMPORAL, Family.TEXT): _moment_text,
    (Family.BOOLEAN, Family.INTEGER): _from_truth,
    (Family.BOOLEAN, Family.FLOAT): _from_truth,
    (Family.INTEGER, Family.INTEGER): _whole,
    (Family.INTEGER, Family.FLOAT): _rounded,
    (Family.FLOAT, Family.INTEGER): _truncated,
    (Family.FLOAT, Family.FLOAT): _rounded,
    (Family.TEMPORAL, Family.TEMPORAL): _between_moments,
}
"""One row per pair of families that ``query/types/forms.py`` allows."""
