"""Files outside the graph that loads and external types read, on disk or in an object store.

A file is found once and then read by many tasks. Every read checks that the file is still the one that was found:
ranges of two files under one name would combine into an input that never existed.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from omnigraph.storage.objects.backends import backend_at
from omnigraph.storage.objects.outside_files import LINES_ENDINGS, ReadRange, SourceFile

PATTERN = re.compile(r"[*?\[]")
"""A character that makes a path the pattern of several."""


def find_files(path: str, options: Mapping[str, str], endings: tuple[str, ...] = LINES_ENDINGS) -> list[SourceFile]:
    """The file at a path; below an address in an object store that ends in ``/``, every file with such a name."""
    return backend_at(path).find_files(path, options, endings)


def find_matching(address: str, options: Mapping[str, str]) -> list[SourceFile]:
    """The files in an object store whose addresses match a pattern."""
    pattern = PATTERN.search(address)
    assert pattern is not None
    matches = re.compile(_expression(address))
    prefix = address[: address.rindex("/", 0, pattern.start()) + 1]
    return [file for file in find_files(prefix, options, ("",)) if matches.fullmatch(file.path)]


def _expression(pattern: str) -> str:
    """A pattern of names as a regular expression: ``*`` stays within a name, ``**/`` is any directories."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])", pattern)
    return "".join(parts.get(token) or (token if token.startswith("[") else re.escape(token)) for token in tokens)


def open_ranges(file: SourceFile) -> AbstractContextManager[ReadRange]:
    """A source file while it is read."""
    return backend_at(file.address).open_ranges(file)


class RangeFile(io.RawIOBase):
    """A file with random access by ranges."""

    def __init__(self, read: ReadRange, size: int) -> None:
        self._read_range = read
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        content = self._read_range(self._position, len(buffer))
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)
