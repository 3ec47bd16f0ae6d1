"""Rows as JSON lines in the load format: loading an export gives the same rows.

Every property is present, in column order; dates are day numbers, times milliseconds, blobs base64. Arrow renders whole
columns and joins them; only strings that need escapes and blobs pass through Python.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.scalars import Scalar
from omnigraph.core.temporal import format_duration
from omnigraph.errors import InputError
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.casting.json_values import MANAGED_BLOB
from omnigraph.rows.ends.references import UNRESOLVED, shown_batch
from omnigraph.rows.keys import decimal_texts
from omnigraph.rows.limits import BATCH_BYTES
from omnigraph.rows.omissions import named_runs
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.schema.catalog import EdgeEnd, EdgeType
from omnigraph.schema.types import PropertyType

_NEEDS_ESCAPE = r'["\\\x00-\x1f]'

Texts = Mapping[Scalar, Callable[[pa.Array], pa.Array]]
"""A function for each scalar that makes the texts of a column."""


class Dates(Enum):
    """Form of dates in text. Loads read both. Times of day and durations are texts in either form."""

    NUMBER = "number"
    """Days or milliseconds since 1970-01-01, as the reference implementation writes them."""
    ISO = "iso"
    """``2020-01-31`` and ``2020-01-31T12:00:00.000Z``."""


def write_lines(
    entity: Entity, batches: Iterable[pa.RecordBatch], dates: Dates = Dates.NUMBER, *, is_shown: bool = False
) -> Iterator[bytes]:
    """JSON lines in chunks of whole lines. Properties have the order of the columns.

    ``is_shown``: the batches have the names of node types in place of tags.
    """
    for batch in batches:
        # The text of a slice must fit the 32-bit offsets of a string column with room to spare.
        rows = max(1, batch.num_rows * BATCH_BYTES // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            part = batch.slice(start, rows)
            yield _lines(entity, part if is_shown else shown_batch(entity, part), JSON_TEXTS[dates])


def _lines(entity: Entity, batch: pa.RecordBatch, texts: Texts, columns: Collection[str] | None = None) -> bytes:
    named = batch.schema.names if columns is None else [name for name in batch.schema.names if name in columns]
    parts: list[object] = [f'{{"{"edge" if isinstance(entity, EdgeType) else "type"}":{quoted_text(entity.name)}']
    for end in entity.ends if isinstance(entity, EdgeType) else ():
        if end.column in named:
            parts += [f',"{end.word}":', *_end_texts(end, batch)]
    separator = ',"data":{'
    for name in named:
        if name == ID:
            parts += [f'{separator}"id":', string_texts(batch.column(ID))]
        elif name in entity.properties:
            type_ = entity.properties[name].type
            column = batch.column(name)
            if type_.scalar.is_float or type_.is_vector:
                refuse_not_finite(entity, name, batch)
            parts += [f"{separator}{quoted_text(name)}:", _texts(column, type_, texts)]
        else:
            continue
        separator = ","
    return joined(*parts, "}}\n" if separator == "," else ',"data":{}}\n')


def _end_texts(end: EdgeEnd, batch: pa.RecordBatch) -> list[object]:
    """The parts of a node at an end: its id, or an object with its type."""
    ids = string_texts(batch.column(end.column))
    if not end.is_typed:
        return [ids]
    names = batch.column(str(end.type_column))
    # The names of types need no escapes.
    typed = pc.binary_join_element_wise('{"type":"', names, '","id":', ids, "}", "")
    return [pc.if_else(pc.equal(names, UNRESOLVED), ids, typed)]


def write_typed(rows: TypedRows) -> Iterator[bytes]:
    """JSON lines of rows that were read, in their order. Cells that the input does not name are left out."""
    names = rows.batch.schema.names
    if rows.omitted is None:
        yield from write_lines(rows.entity, [rows.batch])
        return
    for start, count, columns in named_runs(rows.omitted, names):
        batch = shown_batch(rows.entity, rows.batch.slice(start, count))
        size = max(1, batch.num_rows * BATCH_BYTES // max(1, batch.nbytes))
        for first in range(0, count, size):
            yield _lines(rows.entity, batch.slice(first, size), TEXTS, columns)


def joined(*parts: object) -> bytes:
    """The texts of all rows, one after the other; each is made of columns and constants."""
    lines = pc.binary_join_element_wise(*parts, "")
    _, offsets, data = lines.buffers()
    bounds = pa.Int32Array.from_buffers(pa.int32(), len(lines) + 1, [None, offsets], offset=lines.offset)
    first, last = bounds[0].as_py(), bounds[-1].as_py()
    return bytes(data[first:last])


def quoted_text(text: str) -> str:
    """The JSON text of a string."""
    return json.dumps(text, ensure_ascii=False)


def refuse_not_finite(entity: Entity, name: str, batch: pa.RecordBatch) -> None:
    """Raise for a number that JSON cannot represent."""
    column = batch.column(name)
    is_nested = pa.types.is_nested(column.type)
    is_finite = pc.is_finite(pc.list_flatten(column) if is_nested else column)
    if pc.all(is_finite, min_count=0).as_py():
        return
    wrong = pc.index(is_finite, False).as_py()
    row = pc.list_parent_indices(column)[wrong].as_py() if is_nested else wrong
    entity_id = batch.column(ID)[row].as_py()
    raise InputError(
        f"{entity.name}.{name} of {entity_id!r} is not a finite number, which JSON cannot represent",
        hint="update the value, or export in a format that supports NaN and infinities",
        table_key=entity.table_key,
        entity_id=entity_id,
        property=name,
    )


def _texts(array: pa.Array, type_: PropertyType, texts: Texts) -> pa.Array:
    """JSON text of each value; null is ``null``."""
    write = texts[type_.scalar]
    return pc.coalesce(list_texts(array, write) if type_.is_list or type_.is_vector else write(array), "null")


def list_texts(array: pa.Array, write: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """JSON text of each list or vector, null where it is null; ``write`` makes the texts of the items."""
    if pa.types.is_fixed_size_list(array.type):
        array = array.cast(pa.list_(array.type.value_type))
    offsets = array.offsets
    start, end = offsets[0].as_py(), offsets[-1].as_py()
    items = pc.coalesce(write(array.values.slice(start, end - start)), "null")
    texts = pa.ListArray.from_arrays(pc.subtract(offsets, start), items, mask=array.is_null())
    return pc.binary_join_element_wise("[", pc.binary_join(texts, ","), "]", "")


def string_texts(array: pa.Array) -> pa.Array:
    """The JSON text of each string."""
    quoted = in_quotes(array)
    needs_escape = pc.match_substring_regex(array, _NEEDS_ESCAPE)
    if not pc.any(needs_escape).as_py():
        return quoted
    escaped = pa.array([quoted_text(text) for text in array.filter(needs_escape).to_pylist()], pa.utf8())
    return pc.replace_with_mask(quoted, pc.fill_null(needs_escape, False), escaped)


def float_texts(array: pa.Array) -> pa.Array:
    """Shortest digits, always with a fraction or an exponent: a bare ``-0`` would be read back as the integer 0."""
    texts = array.cast(pa.utf8())
    is_whole = pc.match_substring_regex(texts, r"^-?[0-9]+$")
    return pc.if_else(is_whole, pc.binary_join_element_wise(texts, "", ".0"), texts)


def _narrow_float_texts(array: pa.Array) -> pa.Array:
    texts = float_texts(array)
    # The reader parses a double and narrows it. That rounds twice and can miss the float that the shortest digits mean.
    if texts.cast(pa.float64()).cast(pa.float32(), safe=False).equals(array):
        return texts
    return float_texts(array.cast(pa.float64()))


def _blob_text(value: bytes) -> str:
    return f"{MANAGED_BLOB}{base64.b64encode(value).decode()}"


def blob_texts(array: pa.Array) -> pa.Array:
    """The base64 text of each blob."""
    return pa.array([None if value is None else _blob_text(value) for value in array.to_pylist()], pa.utf8())


def in_quotes(array: pa.Array) -> pa.Array:
    """Texts that need no escapes, in quotes."""
    return pc.binary_join_element_wise('"', array, '"', "")


def iso_time_texts(array: pa.Array) -> pa.Array:
    """``2020-01-31T12:00:00.000Z`` for each time."""
    # Arrow writes a space between date and time.
    return pc.replace_substring(array.cast(pa.utf8()), " ", "T")


def duration_texts(array: pa.Array) -> pa.Array:
    """``P1DT2H`` for each duration."""
    encoded = array.view(pa.int64()).dictionary_encode()
    return pa.array(map(format_duration, encoded.dictionary.to_pylist()), pa.utf8()).take(encoded.indices)


def cast_texts(array: pa.Array) -> pa.Array:
    """Arrow's own text of each value."""
    return array.cast(pa.utf8())


TEXTS: Final[Texts] = {
    Scalar.STRING: string_texts,
    Scalar.BLOB: lambda array: in_quotes(blob_texts(array)),
    Scalar.BOOL: cast_texts,
    Scalar.I32: cast_texts,
    Scalar.I64: cast_texts,
    Scalar.U32: cast_texts,
    Scalar.U64: cast_texts,
    Scalar.F32: _narrow_float_texts,
    Scalar.F64: float_texts,
    Scalar.DATETIME: lambda array: cast_texts(array.view(pa.int64())),
    Scalar.DATE: lambda array: cast_texts(array.view(pa.int32())),
    Scalar.VECTOR: _narrow_float_texts,
    Scalar.DECIMAL: lambda array: in_quotes(decimal_texts(array)),
    Scalar.TIME: lambda array: in_quotes(cast_texts(array)),
    Scalar.DURATION: lambda array: in_quotes(duration_texts(array)),
    Scalar.UUID: in_quotes,
    Scalar.JSON: lambda array: array,
}
"""JSON texts of single values, null where the value is null; for a vector, of its numbers."""

ISO_TEXTS: Final[Texts] = {
    Scalar.DATE: cast_texts,
    Scalar.DATETIME: iso_time_texts,
    Scalar.TIME: cast_texts,
    Scalar.DURATION: duration_texts,
}
"""ISO texts of dates, times and durations, without quotes."""

JSON_TEXTS: Final[dict[Dates, Texts]] = {
    Dates.NUMBER: TEXTS,
    Dates.ISO: {
        **TEXTS,
        Scalar.DATE: lambda array: in_quotes(cast_texts(array)),
        Scalar.DATETIME: lambda array: in_quotes(iso_time_texts(array)),
    },
}
