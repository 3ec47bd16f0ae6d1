"""Source and target files on a local disk."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO
from urllib.parse import unquote, urlparse

from omnigraph.errors import UsageError
from omnigraph.storage.objects.outside_files import (
    ReadRange,
    SourceFile,
    changed,
    exists_already,
    unreadable,
    unwritable,
)


def local_path(path: str) -> str:
    """The path of a ``file://`` address; any other path as it is."""
    return unquote(urlparse(path).path) if "://" in path else path


def find_local(path: str) -> SourceFile:
    """The file at a path or ``file://`` address."""
    address = os.path.abspath(local_path(path))
    try:
        if os.path.isdir(address):
            raise UsageError(f"{path!r} is a directory", hint="name the files in it", path=path)
        status = os.stat(address)
    except OSError as error:
        raise unreadable(path, error) from error
    return SourceFile(path, address, status.st_size, str(status.st_mtime_ns))


@contextmanager
def open_local(file: SourceFile) -> Iterator[ReadRange]:
    """A source file while it is read."""
    try:
        with open(file.address, "rb") as opened:
            before = os.fstat(opened.fileno())
            # The size, not the modification time: each machine of a cluster may have its own copy of the file.
            if before.st_size != file.size:
                raise changed(file)

            def read(start: int, size: int) -> bytes:
                opened.seek(start)
                content = opened.read(size)
                if len(content) < min(size, file.size - start):
                    raise changed(file)
                return content

            yield read
            after = os.fstat(opened.fileno())
            if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise changed(file)
    except OSError as error:
        raise unreadable(file.path, error) from error


def create_local(path: str, name: str, content: bytes) -> None:
    """A new directory with one file."""
    try:
        os.makedirs(path)
        with open(os.path.join(path, name), "wb") as file:
            file.write(content)
    except FileExistsError as error:
        raise exists_already(path) from error
    except OSError as error:
        raise unwritable(path, error.strerror or str(error)) from error


def make_local(path: str) -> None:
    """A directory and its parents, which may exist."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error.strerror or str(error)) from error


@contextmanager
def replacing(target: str) -> Iterator[BinaryIO]:
    """A file written under a temporary name and renamed when the block ends."""
    unfinished = f"{target}.{uuid.uuid4().hex}.part"
    try:
        with open(unfinished, "wb") as file:
            yield file
        os.replace(unfinished, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
