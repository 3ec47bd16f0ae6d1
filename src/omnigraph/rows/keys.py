"""Canonical text of key values, and the ids of keyed entities derived from it.

Applied to stored values, so equal keys have equal ids however they were written: a date is its day number, a float its
shortest digits at the stored width, without an exponent. Null, NaN and infinities have no canonical text; the id is
then null and the caller reports it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.decimals import decimal_text
from omnigraph.core.scalars import Scalar
from omnigraph.core.temporal import date_to_days, datetime_to_milliseconds
from omnigraph.rows.ends.references import end_of, key_texts_of_end
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.schema.types import PropertyType

_TEXT: Final = PropertyType(Scalar.STRING)
_ESCAPED_IN_JSON = r'["\\\x00-\x1f]'


def key_text(value: object, type_: PropertyType) -> str | None:
    """The canonical text of one value; dates may be day or millisecond numbers. None if it has none."""
    match value:
        case None:
            return None
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case datetime():
            moment = datetime_to_milliseconds(value)
            return str(moment // 86_400_000 if type_.scalar is Scalar.DATE else moment)
        case date():
            return str(date_to_days(value))
        case int() | float() if type_.scalar.is_float:
            return _float_text(float(value), narrow=type_.scalar is Scalar.F32)
        case int():
            return str(value)
        case Decimal():
            return decimal_text(value)
        case _:
            raise TypeError(f"a {type(value).__name__} cannot be part of a key")


def key_texts(array: pa.Array, type_: PropertyType) -> pa.Array:
    """The canonical texts of a stored column: utf8, null where a value has none."""
    return TEXTS[type_.scalar](array)


def key_type(entity: NodeType | EdgeType, name: str) -> PropertyType:
    """The type of a member of a key: a property, or an end of an edge."""
    prop = entity.properties.get(name)
    return _TEXT if prop is None else prop.type


def key_id(texts: Sequence[str]) -> str:
    """The id of an entity with these key texts, given in key order."""
    return texts[0] if len(texts) == 1 else json.dumps(list(texts), ensure_ascii=False, separators=(",", ":"))


def derived_ids(entity: NodeType | EdgeType, batch: pa.RecordBatch | pa.Table) -> pa.Array:
    """The ids of keyed entities, null where a member of the key has no text."""
    return tuple_texts([_key_column(entity, name, batch) for name in entity.key])


def _key_column(entity: NodeType | EdgeType, name: str, batch: pa.RecordBatch | pa.Table) -> pa.Array:
    end = end_of(entity, name)
    if end is not None:
        return key_texts_of_end(end, batch)
    return key_texts(_flat(batch.column(name)), key_type(entity, name))


def tuple_texts(columns: Sequence[pa.Array]) -> pa.Array:
    """One text per row for columns of canonical texts: ``key_id`` of the row, null where a member is null."""
    if len(columns) == 1:
        return columns[0]
    if any(pc.any(pc.match_substring_regex(column, _ESCAPED_IN_JSON)).as_py() for column in columns):
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return pa.array([None if None in texts else key_id(texts) for texts in rows], pa.utf8())
    parts: list[object] = ['["', columns[0]]
    for column in columns[1:]:
        parts += ['","', column]
    return pc.binary_join_element_wise(*parts, '"]', "")


def _flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _float_text(value: float | None, *, narrow: bool) -> str | None:
    """Shortest digits that read back as the same number at the stored width, in positional notation."""
    if value is None or not math.isfinite(value):
        return None
    if value == 0:
        return "0"
    shortest = str(pa.scalar(value, pa.float32()).cast(pa.utf8())) if narrow else repr(value)
    text = f"{Decimal(shortest):f}"
    return text.removesuffix(".0")


def _float_texts(array: pa.Array, *, narrow: bool) -> pa.Array:
    return pa.array([_float_text(value, narrow=narrow) for value in array.to_pylist()], pa.utf8())


def decimal_texts(array: pa.Array) -> pa.Array:
    """The digits of decimals, without an exponent, which Arrow writes for small numbers."""
    return pa.array([None if value is None else decimal_text(value) for value in array.to_pylist()], pa.utf8())


def _cast_texts(array: pa.Array) -> pa.Array:
    return array.cast(pa.utf8())


TEXTS: Final[dict[Scalar, Callable[[pa.Array], pa.Array]]] = {
    Scalar.STRING: lambda array: array,
    Scalar.BOOL: _cast_texts,
    Scalar.I32: _cast_texts,
    Scalar.I64: _cast_texts,
    Scalar.U32: _cast_texts,
    Scalar.U64: _cast_texts,
    Scalar.F32: lambda array: _float_texts(array, narrow=True),
    Scalar.F64: lambda array: _float_texts(array, narrow=False),
    Scalar.DATETIME: lambda array: _cast_texts(array.view(pa.int64())),
    Scalar.DATE: lambda array: _cast_texts(array.view(pa.int32())),
    Scalar.DECIMAL: decimal_texts,
    Scalar.TIME: lambda array: _cast_texts(array.view(pa.int32())),
    Scalar.DURATION: lambda array: _cast_texts(array.view(pa.int64())),
    Scalar.UUID: lambda array: array,
}
"""Canonical texts of a column as stored, for every scalar that can be part of a key."""


WORD: Final = 8
MIX: Final = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
MASK: Final = 2**64 - 1


def hash_text(text: str) -> int:
    """A 64-bit hash of a text, stable across processes, over eight bytes at a time; ``text_set`` hashes columns."""
    data = text.encode()
    mixed = len(data) * MIX[2] & MASK
    for done in range(0, len(data), WORD):
        turned = mixed ^ (int.from_bytes(data[done : done + WORD], "little") * MIX[0] & MASK)
        mixed = (turned ^ (turned >> 29)) * MIX[1] & MASK
    return mixed ^ (mixed >> 32)
