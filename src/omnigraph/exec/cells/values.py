"""Values of a column by row number, as Python values: what a query over a few rows reads instead of Arrow arrays.

A value has its stored form, which is also that of constants in the IR: days for dates, milliseconds for times. Reading
one takes a tenth of a microsecond, where taking from an Arrow array and converting the result takes eight.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.core.scalars import Scalar
from omnigraph.exec.tables import TableView
from omnigraph.schema.types import PropertyType
from omnigraph.storage.tables.row_layout import Fragment

Cell = Callable[[int], Any]
"""The value at a row number; None for null."""


class GivenUp(Exception):
    """A run that the general operators have to do: it met many rows, or values that are not in memory."""


class NotInMemory(GivenUp):
    """A run that met values that are not in memory. The general operators bring them there in a few runs."""


def column_cells(table: TableView, name: str) -> Cell:
    """The values of a column by row number. Reading one of a fragment that is not in memory raises NotInMemory."""
    cell = table.columns.reader(table.pin, f"values of {name}", lambda: _made(table, name))
    assert cell is not None
    return cell


def _made(table: TableView, name: str) -> Cell:
    parts = table.layout.parts
    starts, readers = [part.start for part in parts], [_part_cells(table, part, name) for part in parts]
    if len(readers) == 1 and readers[0] is not None:
        return readers[0]

    def read(row: int) -> Any:
        place = bisect_right(starts, row) - 1
        reader = readers[place]
        if reader is None:
            # The general operators read a fragment whole once they have taken rows of it a few times.
            reader = readers[place] = _part_cells(table, parts[place], name)
            if reader is None:
                raise NotInMemory
        return reader(row - starts[place])

    return read


def _part_cells(table: TableView, part: Fragment, name: str) -> Cell | None:
    array = table.columns.piece(table.store, table.pin, part, name)
    return None if array is None else array_cells(array)


def array_cells(array: pa.Array) -> Cell:
    """The values of an Arrow array by offset."""
    kind = array.type
    if pa.types.is_string(kind):
        read: Cell = _texts(array)
    elif pa.types.is_boolean(kind):
        read = _bits(array.buffers()[1], array.offset)
    elif kind in _NUMBERS:
        # The index operator of a memoryview is C: nothing of Python is called in between.
        read = np.frombuffer(array.buffers()[1], _NUMBERS[kind])[array.offset :].data.__getitem__
    elif pa.types.is_list(kind) and kind.value_type in _LISTED:
        return lambda offset: array[offset].as_py()
    else:
        raise AssertionError(f"{kind} has no cells")
    if not array.null_count:
        return read
    is_valid = _bits(array.buffers()[0], array.offset)
    return lambda offset: read(offset) if is_valid(offset) else None


_NUMBERS: Final[Mapping[pa.DataType, Any]] = {
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.uint32(): np.uint32,
    pa.uint64(): np.uint64,
    pa.float32(): np.float32,
    pa.float64(): np.float64,
    pa.date32(): np.int32,
    pa.timestamp("ms", tz="UTC"): np.int64,
    pa.time32("ms"): np.int32,
    pa.duration("ms"): np.int64,
}
"""The numbers that a column of fixed width holds."""

_LISTED: Final = (pa.string(), pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float64(), pa.bool_())
"""Items whose Python value is the stored one."""


def _texts(array: pa.Array) -> Cell:
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int32)[array.offset :].data
    # Arrow has no buffer for a column of empty texts.
    content = memoryview(b"" if data is None else data)

    def read(offset: int) -> str:
        return str(content[ends[offset] : ends[offset + 1]], "utf-8")

    return read


def _bits(bitmap: pa.Buffer, first: int) -> Cell:
    """The bits of a bitmap, counted from ``first``."""
    content = memoryview(bitmap)

    def read(offset: int) -> bool:
        place = first + offset
        return bool(content[place >> 3] >> (place & 7) & 1)

    return read


def has_cells(type_: PropertyType) -> bool:
    """True if values of this type can be read as cells."""
    if type_.is_vector or type_.is_blob or type_.digits is not None:
        return False
    is_number = type_.scalar in (Scalar.F32, Scalar.DATE, Scalar.DATETIME, Scalar.TIME, Scalar.DURATION)
    return not type_.is_list or not is_number
