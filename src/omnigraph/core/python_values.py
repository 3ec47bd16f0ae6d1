"""Plain Python values in place of those of other libraries, so that every way in takes the same values.

Libraries are recognised by protocol, never imported. A value that has no plain form is returned unchanged, and the
reader that knows the wanted type refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

_PLAIN: Final = frozenset(
    {str, int, float, bool, type(None), bytes, bytearray, memoryview, dict, date, datetime, time, timedelta, Decimal}
)
"""Types whose values stay as they are. Subclasses are looked at: numpy's text is a ``str``, and an enum may be one."""

_MISSING: Final = frozenset({"NAType", "NaTType"})
"""Classes of the missing values of pandas."""

_FINE_TIMES: Final = ("[ns]", "[ps]", "[fs]", "[as]")
"""Units of numpy's times that Python has no value for, so that numpy gives a bare number in their place."""


def plain_value(value: Any) -> object:
    """A value of Python in place of one of a library.

    * scalars of numpy, Arrow and enums: their value; missing values of pandas: None;
    * UUIDs: text;
    * arrays, series and tensors: lists.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list or kind is tuple:
        return value if _PLAIN.issuperset(map(type, value)) else [plain_value(item) for item in value]
    if kind.__name__ in _MISSING:
        return None
    if isinstance(value, Enum):
        return plain_value(value.value)
    if isinstance(value, UUID):
        return str(value)
    unwrap = _unwrapper(value)
    try:
        found = value if unwrap is None else unwrap()
    except (ArithmeticError, TypeError, ValueError):
        # Arrow has times that Python has not.
        return value
    return found if type(found) is kind else plain_value(found)


def plain_values(record: Mapping[str, object]) -> Mapping[str, object]:
    """A record with plain values; the record itself if all of them are."""
    if _PLAIN.issuperset(map(type, record.values())):
        return record
    return {name: plain_value(value) for name, value in record.items()}


def _unwrapper(value: Any) -> Any:
    """The method that gives the plain form of a scalar or an array: Arrow's, numpy's and torch's, or that of polars."""
    if isinstance(value, type | str | int | float):
        # A class has the methods of its instances; numpy's texts and numbers are Python's already.
        return getattr(value, "item", None) if hasattr(value, "dtype") else None
    if str(getattr(value, "dtype", "")).endswith(_FINE_TIMES):
        name = str(value.dtype).partition("[")[0]
        return value.astype(f"{name}[us]").tolist
    methods = (getattr(value, name, None) for name in ("as_py", "tolist", "to_list"))
    return next(filter(callable, methods), None)
