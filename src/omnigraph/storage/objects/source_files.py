"""Files outside the graph that loads read, on disk or in an object store, by ranges of bytes.

A file is found once and then read by many tasks. Every read checks that the file is still the one that was found:
ranges of two files under one name would combine into an input that never existed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from omnigraph.storage.objects.backends import backend_at
from omnigraph.storage.objects.outside_files import LINES_ENDINGS, ReadRange, SourceFile


def find_files(path: str, options: Mapping[str, str], endings: tuple[str, ...] = LINES_ENDINGS) -> list[SourceFile]:
    """The file at a path; below an address in an object store that ends in ``/``, every file with such a name."""
    return backend_at(path).find_files(path, options, endings)


def open_ranges(file: SourceFile) -> AbstractContextManager[ReadRange]:
    """A source file while it is read."""
    return backend_at(file.address).open_ranges(file)
