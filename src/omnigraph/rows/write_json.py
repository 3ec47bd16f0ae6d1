"""Rows as JSON lines in the load format: loading an export gives the same rows.

Every property is present, in column order; dates are day numbers, times milliseconds, blobs base64. Arrow renders whole
columns and joins them; only strings that need escapes and blobs pass through Python.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.scalars import Scalar
from omnigraph.errors import InputError
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, table_schema
from omnigraph.rows.json_values import MANAGED_BLOB
from omnigraph.rows.limits import BATCH_BYTES
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.types import PropertyType

_NEEDS_ESCAPE = r'["\\\x00-\x1f]'
_TEXT = PropertyType(Scalar.STRING)


def write_lines(entity: Entity, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """JSON lines in chunks of whole lines. Columns are matched by name."""
    for batch in batches:
        # The text of a slice must fit the 32-bit offsets of a string column with room to spare.
        rows = max(1, batch.num_rows * BATCH_BYTES // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            yield _lines(entity, batch.slice(start, rows))


def _lines(entity: Entity, batch: pa.RecordBatch) -> bytes:
    if isinstance(entity, EdgeType):
        parts: list[object] = [f'{{"edge":{_quoted(entity.name)},"from":', _texts(batch.column(SRC), _TEXT)]
        parts += [',"to":', _texts(batch.column(DST), _TEXT), ',"data":{"id":', _texts(batch.column(ID), _TEXT)]
    else:
        parts = [f'{{"type":{_quoted(entity.name)},"data":{{"id":', _texts(batch.column(ID), _TEXT)]
    for name in table_schema(entity).names:
        if name in entity.properties:
            type_ = entity.properties[name].type
            column = batch.column(name)
            if type_.scalar.is_float or type_.is_vector:
                _refuse_not_finite(entity, name, batch)
            parts += [f",{_quoted(name)}:", _texts(column, type_)]
    lines = pc.binary_join_element_wise(*parts, "}}\n", "")
    _, offsets, data = lines.buffers()
    bounds = pa.Int32Array.from_buffers(pa.int32(), len(lines) + 1, [None, offsets], offset=lines.offset)
    first, last = bounds[0].as_py(), bounds[-1].as_py()
    return bytes(data[first:last])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _refuse_not_finite(entity: Entity, name: str, batch: pa.RecordBatch) -> None:
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


def _texts(array: pa.Array, type_: PropertyType) -> pa.Array:
    """JSON text of each value; null is ``null``."""
    if type_.is_list or type_.is_vector:
        return _list_texts(array, type_)
    return pc.coalesce(TEXTS[type_.scalar](array), "null")


def _list_texts(array: pa.Array, type_: PropertyType) -> pa.Array:
    if pa.types.is_fixed_size_list(array.type):
        array = array.cast(pa.list_(array.type.value_type))
    offsets = array.offsets
    start, end = offsets[0].as_py(), offsets[-1].as_py()
    items = pc.coalesce(TEXTS[type_.scalar](array.values.slice(start, end - start)), "null")
    texts = pa.ListArray.from_arrays(pc.subtract(offsets, start), items, mask=array.is_null())
    return pc.coalesce(pc.binary_join_element_wise("[", pc.binary_join(texts, ","), "]", ""), "null")


def _string_texts(array: pa.Array) -> pa.Array:
    quoted = pc.binary_join_element_wise('"', array, '"', "")
    needs_escape = pc.match_substring_regex(array, _NEEDS_ESCAPE)
    if not pc.any(needs_escape).as_py():
        return quoted
    escaped = pa.array([_quoted(text) for text in array.filter(needs_escape).to_pylist()], pa.utf8())
    return pc.replace_with_mask(quoted, pc.fill_null(needs_escape, False), escaped)


def _float_texts(array: pa.Array) -> pa.Array:
    """Shortest digits, always with a fraction or an exponent: a bare ``-0`` would be read back as the integer 0."""
    texts = array.cast(pa.utf8())
    is_whole = pc.match_substring_regex(texts, r"^-?[0-9]+$")
    return pc.if_else(is_whole, pc.binary_join_element_wise(texts, "", ".0"), texts)


def _narrow_float_texts(array: pa.Array) -> pa.Array:
    texts = _float_texts(array)
    # The reader parses a double and narrows it. That rounds twice and can miss the float that the shortest digits mean.
    if texts.cast(pa.float64()).cast(pa.float32(), safe=False).equals(array):
        return texts
    return _float_texts(array.cast(pa.float64()))


def _blob_text(value: bytes) -> str:
    return f'"{MANAGED_BLOB}{base64.b64encode(value).decode()}"'


def _blob_texts(array: pa.Array) -> pa.Array:
    return pa.array([None if value is None else _blob_text(value) for value in array.to_pylist()], pa.utf8())


def _cast_texts(array: pa.Array) -> pa.Array:
    return array.cast(pa.utf8())


TEXTS: Final[dict[Scalar, Callable[[pa.Array], pa.Array]]] = {
    Scalar.STRING: _string_texts,
    Scalar.BLOB: _blob_texts,
    Scalar.BOOL: _cast_texts,
    Scalar.I32: _cast_texts,
    Scalar.I64: _cast_texts,
    Scalar.U32: _cast_texts,
    Scalar.U64: _cast_texts,
    Scalar.F32: _narrow_float_texts,
    Scalar.F64: _float_texts,
    Scalar.DATETIME: lambda array: _cast_texts(array.view(pa.int64())),
    Scalar.DATE: lambda array: _cast_texts(array.view(pa.int32())),
    Scalar.VECTOR: _narrow_float_texts,
}
"""JSON texts of single values, null where the value is null; for a vector, of its numbers."""
