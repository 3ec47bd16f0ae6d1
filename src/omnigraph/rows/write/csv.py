"""Rows as CSV (RFC 4180) in the form that ``load`` reads: loading an export gives the same rows.

The columns are ``id``, for edges ``from`` and ``to``, for ends of several types ``from_type`` and ``to_type``, then the
properties. Lists and vectors are JSON texts, and blobs base64 as in JSON lines. A null is an empty field, or the text
given for it, without quotes; a value that reads the same has quotes. Arrow renders whole columns; only blobs pass
through Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.scalars import Scalar
from omnigraph.errors import InputError
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.keys import decimal_texts
from omnigraph.rows.limits import BATCH_BYTES
from omnigraph.rows.write.json import (
    ISO_TEXTS,
    JSON_TEXTS,
    TEXTS,
    Dates,
    Texts,
    blob_texts,
    cast_texts,
    duration_texts,
    joined,
    list_texts,
    refuse_not_finite,
)
from omnigraph.schema.types import PropertyType

_NEEDS_QUOTES = r'[",\r\n]|^\s|\s$'
_ENDS: Final = {SRC: "from", DST: "to", f"{SRC}_type": "from_type", f"{DST}_type": "to_type"}
_TEXT = PropertyType(Scalar.STRING)

PLAIN_TEXTS: Final[Texts] = {
    **TEXTS,
    Scalar.STRING: lambda array: array,
    Scalar.BLOB: blob_texts,
    Scalar.DECIMAL: decimal_texts,
    Scalar.TIME: cast_texts,
    Scalar.DURATION: duration_texts,
    Scalar.UUID: lambda array: array,
}
"""Texts of single values without quotes, null where the value is null."""


def csv_header(entity: Entity, columns: Sequence[str]) -> bytes:
    """The line with the names of the columns."""
    return (",".join(name if name in entity.properties else _ENDS.get(name, name) for name in columns) + "\n").encode()


def write_csv(
    entity: Entity, columns: Sequence[str], batches: Iterable[pa.RecordBatch], dates: Dates, null: str
) -> Iterator[bytes]:
    """The header, then the records in chunks of whole records. Batches have the columns in this order."""
    yield csv_header(entity, columns)
    for batch in batches:
        # The text of a slice must fit the 32-bit offsets of a string column with room to spare.
        rows = max(1, batch.num_rows * BATCH_BYTES // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            yield _records(entity, batch.slice(start, rows), dates, null)


def _records(entity: Entity, batch: pa.RecordBatch, dates: Dates, null: str) -> bytes:
    parts: list[object] = []
    for name in batch.schema.names:
        type_ = entity.properties[name].type if name in entity.properties else _TEXT
        if type_.is_vector or type_.scalar.is_float:
            refuse_not_finite(entity, name, batch)
        texts = _plain(batch.column(name), type_, dates)
        _refuse_zero(entity, name, batch, texts)
        parts += ["," if parts else "", _fields(texts, null)]
    return joined(*parts, "\n")


def _refuse_zero(entity: Entity, name: str, batch: pa.RecordBatch, texts: pa.Array) -> None:
    has_zero = pc.match_substring(texts, "\0")
    if pc.any(has_zero).as_py():
        entity_id = batch.column(ID)[pc.index(has_zero, True).as_py()].as_py()
        raise InputError(
            f"{entity.name}.{name} of {entity_id!r} holds a zero character, which readers of CSV refuse",
            hint="update the value, or export in another format",
            table_key=entity.table_key,
            entity_id=entity_id,
            property=name,
        )


def _plain(array: pa.Array, type_: PropertyType, dates: Dates) -> pa.Array:
    """The text of each value, null where it is null."""
    if type_.is_list or type_.is_vector:
        return list_texts(array, JSON_TEXTS[dates][type_.scalar])
    if dates is Dates.ISO and type_.scalar in ISO_TEXTS:
        return ISO_TEXTS[type_.scalar](array)
    return PLAIN_TEXTS[type_.scalar](array)


def _fields(texts: pa.Array, null: str) -> pa.Array:
    """Fields of a column: quoted where the text would end the field, or would be read as null."""
    is_quoted = pc.or_(pc.match_substring_regex(texts, _NEEDS_QUOTES), pc.equal(texts, null))
    if pc.any(is_quoted).as_py():
        quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
        texts = pc.if_else(is_quoted, quoted, texts)
    return pc.coalesce(texts, null)


def is_null_text(text: str) -> bool:
    """True for a text that can stand for null: one that needs no quotes itself."""
    return not any(character in text for character in '",\r\n') and text == text.strip()
