"""Files of lines, cut into parts that tasks read on their own.

A line belongs to the part in which it starts, so every line is read once wherever the cuts are. A task counts its
lines from 1; what it reports gets the line of the file when all parts are known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from omnigraph.errors import NotFoundError, UsageError
from omnigraph.spark import limits


@dataclass(frozen=True, slots=True)
class FileSplit:
    """Bytes ``start`` to ``end`` of a file. ``entry`` is the place of the file among those that are loaded.

    ``path`` is the name it was given; executors open ``file``, for they do not work where the driver does.
    """

    entry: int
    path: str
    file: str
    start: int
    end: int


def plan_splits(paths: Sequence[str], partitions: int | None = None) -> list[FileSplit]:
    """All of the files, in order, in about as many parts as wanted, or in parts of a good size."""
    sizes = [_size(path) for path in paths]
    wanted = -(-sum(sizes) // partitions) if partitions else limits.SPLIT_BYTES
    step = max(1, wanted)
    return [
        FileSplit(entry, path, os.path.abspath(path), start, min(start + step, size))
        for entry, (path, size) in enumerate(zip(paths, sizes, strict=True))
        for start in range(0, size, step)
    ]


def _size(path: str) -> int:
    try:
        if os.path.isdir(path):
            raise UsageError(f"{path!r} is a directory", hint="name the files in it", path=path)
        return os.path.getsize(path)
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: str, error: OSError) -> NotFoundError | UsageError:
    """What is wrong with a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return NotFoundError(f"there is no file {path!r}", path=path)
    return UsageError(f"{path!r} cannot be read: {error.strerror or error}", path=path)


class SplitLines:
    """The lines that start in a split, in chunks. ``count`` is how many there were, once all were read."""

    def __init__(self, split: FileSplit) -> None:
        self.count = 0
        self._split = split
        self._last = b"\n"

    def __iter__(self) -> Iterator[bytes]:
        try:
            with open(self._split.file, "rb") as file:
                for chunk in self._chunks(file):
                    self.count += chunk.count(b"\n")
                    self._last = chunk[-1:]
                    yield chunk
        except OSError as error:
            raise unreadable(self._split.path, error) from error
        self.count += self._last != b"\n"

    def _chunks(self, file: BinaryIO) -> Iterator[bytes]:
        position = _first_line_start(file, self._split.start)
        if position is None:
            return
        file.seek(position)
        last = b"\n"
        while position < self._split.end:
            chunk = file.read(min(limits.READ_BYTES, self._split.end - position))
            if not chunk:
                return
            position += len(chunk)
            last = chunk[-1:]
            yield chunk
        # The last line may end in the next split, which leaves it out.
        while last != b"\n" and (chunk := file.readline(limits.READ_BYTES)):
            last = chunk[-1:]
            yield chunk


def _first_line_start(file: BinaryIO, start: int) -> int | None:
    """Where the first line begins at or after an offset; None at the end of the file."""
    if start == 0:
        return 0
    file.seek(start - 1)
    while chunk := file.readline(limits.READ_BYTES):
        if chunk.endswith(b"\n"):
            return file.tell()
    return None
