"""Values as arrays of one length, and functions applied value by value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]


def rows(arguments: Sequence[Any]) -> int:
    """The number of rows: that of the arrays, or one for scalars alone."""
    return next((len(value) for value in arguments if not isinstance(value, pa.Scalar)), 1)


def are_scalars(arguments: Sequence[Any]) -> bool:
    """True if every argument applies to every row, so that the result does too."""
    return all(isinstance(value, pa.Scalar) for value in arguments)


def each(change: Callable[..., Any], arguments: Sequence[Any], type_: pa.DataType) -> Any:
    """``change`` of the arguments of every row, null where one of them is."""
    length = rows(arguments)
    columns = [listed(value, length) for value in arguments]
    found = [None if None in row else change(*row) for row in zip(*columns, strict=True)]
    return packed(pa.array(found, type_), arguments)


def listed(value: Any, length: int) -> list[Any]:
    """The values of every row."""
    return [value.as_py()] * length if isinstance(value, pa.Scalar) else list(value.to_pylist())


def each_different(change: Callable[[Any], Any], value: Any, type_: pa.DataType) -> Any:
    """``change`` of the values of one argument, called once per different value."""
    if isinstance(value, pa.Scalar):
        return each(change, (value,), type_)
    encoded = pc.dictionary_encode(flat(value))
    changed = pa.array([change(item) for item in encoded.dictionary.to_pylist()], type_)
    return changed.take(encoded.indices)


def flat(value: Any) -> pa.Array:
    """An array in one piece; a scalar is an array of length one."""
    if isinstance(value, pa.Scalar):
        return pa.array([value.as_py()], value.type)
    return value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value


def numbers_of(value: Any, length: int) -> tuple[Numbers, Mask]:
    """The numbers of every row, with a filler at nulls, and the mask of nulls. Dates are days, others milliseconds."""
    array = flat(value)
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32()).cast(pa.int64())
    elif pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        array = array.cast(pa.int64())
    elif pa.types.is_time32(array.type):
        array = array.cast(pa.int32()).cast(pa.int64())
    nulls = pc.is_null(array).to_numpy(zero_copy_only=False)
    filled = pc.fill_null(array, pa.scalar(0, array.type)).to_numpy(zero_copy_only=False)
    return np.broadcast_to(filled, length), np.broadcast_to(nulls, length)


def packed(array: pa.Array, arguments: Sequence[Any]) -> Any:
    """A result: a scalar if all arguments were scalars."""
    return array[0] if are_scalars(arguments) else array
