"""Input files of JSON lines that report how much of them was read, for progress bars."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import click

from omnigraph.cli.args.files import unreadable
from omnigraph.errors import InputError

STDIN = "-"
STDIN_PATH = "/dev/stdin"
_CHUNK_BYTES = 1024 * 1024


class DataFile:
    """An open file with its name, its size if it is a regular file, and the number of bytes read so far."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self.name = name
        self.position = 0
        self.is_read = False
        self.size = _size(file)

    def read(self, size: int = -1) -> bytes:
        try:
            content = self._file.read(size)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot read {self.name}: {reason}", path=self.name) from error
        self.position += len(content)
        self.is_read = not content
        return content

    def lines(self) -> Iterator[bytes]:
        """The lines, each with its line ending."""
        rest = b""
        while content := self.read(_CHUNK_BYTES):
            *whole, rest = (rest + content).split(b"\n")
            yield from (line + b"\n" for line in whole)
        if rest:
            yield rest


def _size(file: BinaryIO) -> int | None:
    with suppress(OSError):
        status = os.fstat(file.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else None
    return None


@contextmanager
def open_data(path: str) -> Iterator[DataFile]:
    """Open a file for reading; ``-`` is standard input. Raises for a file that cannot be read, before any work."""
    if path == STDIN:
        yield DataFile(sys.stdin.buffer, "<stdin>")
        return
    with _opened(path) as file:
        yield DataFile(file, click.format_filename(path))


def _opened(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise unreadable(path, error) from error
