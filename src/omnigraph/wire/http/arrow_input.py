"""Arrow streams from clients, checked before any value is looked at.

Arrow trusts its input: offsets outside a buffer read foreign memory, a compressed buffer may expand without bound, and
some types have rows without bytes. So batches are validated in full, and streams that can hide their size are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, Final

import pyarrow as pa

from omnigraph.errors import InputError

ROWS_PER_BYTE_MAX: Final = 8
"""Every value takes at least one bit, except those of types without buffers."""
_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
"""Kinds of messages, as the format numbers them."""
_UNREADABLE: Final = (pa.ArrowException, OSError, ValueError, struct.error)
"""Errors of Arrow's readers; names that are not UTF-8 are ``ValueError``."""
_HINT: Final = "send a stream as pyarrow.ipc.new_stream writes it, without compression"


def open_arrow_stream(file: BinaryIO) -> pa.RecordBatchReader:
    """The batches of a stream, each validated when it is read; raises InputError."""
    try:
        messages = pa.ipc.MessageReader.open_stream(file)
        first = messages.read_next_message()
        if first.type != "schema":
            raise _malformed("its first message is no schema")
        schema = pa.ipc.read_schema(first)
        for field in schema:
            _check_type(field.type, field.name)
    except StopIteration:
        raise _malformed("it is empty") from None
    except _UNREADABLE as error:
        raise _malformed(str(error)) from error
    return pa.RecordBatchReader.from_batches(schema, _validated(messages, schema))


def _validated(messages: pa.ipc.MessageReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    number = 0
    while True:
        number += 1
        try:
            message = messages.read_next_message()
        except StopIteration:
            return
        except _UNREADABLE as error:
            raise _malformed(f"message {number}: {error}") from error
        yield _batch(message, schema, number)


def _batch(message: pa.ipc.Message, schema: pa.Schema, number: int) -> pa.RecordBatch:
    try:
        if message.type != "record batch":
            raise _malformed(f"message {number} is a {message.type}; values of dictionaries must be written out")
        if is_compressed(message.metadata.to_pybytes()):
            raise _malformed(f"batch {number} is compressed")
        batch = pa.ipc.read_record_batch(message, schema)
        size = 0 if message.body is None else message.body.size
        if batch.num_rows > ROWS_PER_BYTE_MAX * max(size, 1):
            raise _malformed(f"batch {number} has {batch.num_rows:,} rows in {size:,} bytes")
        batch.validate(full=True)
    except _UNREADABLE as error:
        raise _malformed(f"batch {number}: {error}") from error
    return batch


def _check_type(type_: pa.DataType, name: str) -> None:
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        raise _malformed(f"column {name!r} is {type_}; send plain values")
    for place in range(type_.num_fields):
        _check_type(type_.field(place).type, name)


def is_compressed(metadata: bytes) -> bool:
    """True if the metadata of a record batch declares a compression of its buffers.

    The metadata is a flatbuffer: the table ``Message`` with the fields version, header type, header and body length;
    its header, for batches of rows, is the table ``RecordBatch`` with length, nodes, buffers and compression.
    """
    message = _Table.root(metadata)
    kind = message.field(1)
    header = message.field(2)
    if kind is None or header is None or metadata[kind] != _RECORD_BATCH:
        return kind is not None and metadata[kind] == _DICTIONARY_BATCH
    return _Table(metadata, header + struct.unpack_from("<I", metadata, header)[0]).field(3) is not None


class _Table:
    """A table of a flatbuffer: the places of its fields."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data = data
        self._place = place
        self._names: int = place - struct.unpack_from("<i", data, place)[0]

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def field(self, number: int) -> int | None:
        """The place of a field; None if it has its default."""
        size = struct.unpack_from("<H", self._data, self._names)[0]
        entry = 4 + 2 * number
        offset = struct.unpack_from("<H", self._data, self._names + entry)[0] if entry < size else 0
        return self._place + offset if offset else None


def _malformed(reason: str) -> InputError:
    return InputError(f"the Arrow stream cannot be read: {reason}", hint=_HINT)
