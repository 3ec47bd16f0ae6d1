"""Dictionary codes of columns: small integers that are equal exactly for equal values.

Rows are grouped, counted and compared by their codes: one byte a row instead of a text. A column with many different
values has none. Codes of a fragment never change, so a commit encodes its own rows only.

Example: a fragment is added to a column that has codes::

    values   Rome Oslo        codes  0 1 1
    piece    Oslo null Oslo
    values   Rome Oslo null   codes  0 1 1 1 2 1
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Integers

CODES_MAX = 65_536
"""Distinct values of a column with codes: a code has two bytes at most."""

SAMPLE_ROWS = 16_384
"""Rows at the start of a column whose distinct values are counted before all are."""

SAMPLE_SHARE = 4
"""A column has too many values if more than one row in this many of the sample has one of its own."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as codes by row number, and the value of every code. Not every value need occur."""

    codes: Integers
    values: pa.Array

    @property
    def nbytes(self) -> int:
        return int(self.codes.nbytes + self.values.nbytes)


def is_codable(type_: pa.DataType) -> bool:
    """True for types whose equal values have equal bytes. Floats have two zeros."""
    types = pa.types
    return bool(
        types.is_string(type_)
        or types.is_integer(type_)
        or types.is_boolean(type_)
        or types.is_date32(type_)
        or types.is_timestamp(type_)
    )


def narrowest(values: int) -> npt.DTypeLike:
    """The smallest type of unsigned integers for this many different values."""
    return next(type_ for type_ in (np.uint8, np.uint16, np.uint32, np.uint64) if values - 1 <= np.iinfo(type_).max)


def has_codes(column: pa.Array) -> bool:
    """True if the start of a column has few enough distinct values."""
    sample = column.slice(0, SAMPLE_ROWS)
    return len(column) <= SAMPLE_ROWS or len(pc.unique(sample)) * SAMPLE_SHARE <= len(sample)


def extended(values: pa.Array, piece: pa.Array) -> Coded | None:
    """The codes of a piece, in a dictionary that begins with these values; None if it would be too large."""
    encoded = pc.dictionary_encode(piece, null_encoding="encode")
    own = encoded.dictionary
    places = pc.index_in(own, value_set=values)
    fresh = pc.is_null(places).to_numpy(zero_copy_only=False)
    joined = pa.concat_arrays([values, own.filter(pa.array(fresh))]) if fresh.any() else values
    if len(joined) > CODES_MAX:
        return None
    numbers = pc.fill_null(places, 0).to_numpy(zero_copy_only=False).astype(narrowest(len(joined)))
    numbers[fresh] = np.arange(len(values), len(joined))
    indices = encoded.indices.to_numpy(zero_copy_only=False)
    return Coded(numbers[indices] if len(numbers) else np.zeros(0, np.uint8), joined)
