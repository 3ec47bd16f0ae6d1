"""Manifest files of Lance: the message in them opens a version without another request."""

from __future__ import annotations

import struct

_FOOTER = struct.Struct("<QHH4s")
"""Position of the message, major and minor version of the file, magic."""

_LENGTH = struct.Struct("<I")
_FILE_VERSION = (0, 2)
_MAGIC = b"LANC"


def manifest_message(content: bytes) -> bytes:
    """The message in a manifest file; ValueError if the file is damaged."""
    try:
        start, _, _, magic = _FOOTER.unpack(content[-_FOOTER.size :])
        (length,) = _LENGTH.unpack_from(content, start)
    except struct.error as error:
        raise ValueError(f"the manifest has {len(content)} bytes: {error}") from error
    begin = start + _LENGTH.size
    if magic != _MAGIC or begin + length > len(content) - _FOOTER.size:
        raise ValueError("the manifest is damaged")
    return content[begin : begin + length]


def manifest_content(message: bytes) -> bytes:
    """A manifest file that holds nothing but its message."""
    return _LENGTH.pack(len(message)) + message + _FOOTER.pack(0, *_FILE_VERSION, _MAGIC)
