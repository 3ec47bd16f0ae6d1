"""Input files that report how much of them was read, for progress bars, and the input of a load."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, BinaryIO, Final

import click

from omnigraph.cli.args.files import unreadable
from omnigraph.errors import InputError
from omnigraph.storage.objects.uri import is_remote

STDIN = "-"
STDIN_PATH = "/dev/stdin"
_CHUNK_BYTES = 1024 * 1024
_TYPED: Final = re.compile(r"([A-Za-z_]\w*)=(.+)", re.DOTALL)


class DataFile(io.RawIOBase):
    """An open file with its name, its size if it is a regular file, and the number of bytes read so far."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__()
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

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self.size is not None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

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


def typed_path(given: str) -> tuple[str | None, str]:
    """``Person=people.csv`` as a type and a path; a file of that whole name comes first."""
    found = _TYPED.fullmatch(given)
    return (None, given) if found is None or os.path.exists(given) else (found.group(1), found.group(2))


def load_input(
    stack: ExitStack,
    paths: Sequence[str],
    type_name: str | None,
    options: Mapping[str, str],
    *,
    with_spark: bool = False,
) -> tuple[Any, DataFile | None]:
    """The data of a load as ``graph.load`` takes it, and the file whose bytes the progress shows, if it is only one.

    Spark gets paths only. Files that do not exist are reported here, before the graph is opened.
    """
    from omnigraph.ingest.files.find import find_sources

    parts = [typed_path(path) for path in paths]
    for _, path in parts:
        if path != STDIN and not is_remote(path):
            find_sources(path, options)
    types = {type_ for type_, _ in parts}
    if types == {None}:
        return (list(paths), None) if with_spark else _single(stack, [path for _, path in parts])
    if type_name is not None:
        raise click.UsageError("pass either --type or --data TYPE=FILE, not both")
    if None in types:
        path = next(path for type_, path in parts if type_ is None)
        raise click.UsageError(f"{path!r} names no type; with --data TYPE=FILE, every --data does")
    data: dict[str, list[str]] = {}
    for type_, path in parts:
        data.setdefault(str(type_), []).append(STDIN_PATH if path == STDIN else path)
    return data, None


def _single(stack: ExitStack, paths: Sequence[str]) -> tuple[Any, DataFile | None]:
    if len(paths) == 1 and (paths[0] == STDIN or _is_readable(paths[0])):
        file = stack.enter_context(open_data(paths[0]))
        return file, file
    return [STDIN_PATH if path == STDIN else path for path in paths], None


def _is_readable(path: str) -> bool:
    """True for a file or a pipe."""
    return os.path.exists(path) and not os.path.isdir(path)
