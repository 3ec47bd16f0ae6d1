"""Reading and atomically replacing files named on the command line, with an error for every failure."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import click

from omnigraph.core.limits import SOURCE_CHARS_MAX
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import InputError, NotFoundError
from omnigraph.lang.source import Source
from omnigraph.storage.objects.uri import is_remote

_BYTES_MAX = 4 * SOURCE_CHARS_MAX
"""The longest UTF-8 form of a text within the limit of characters. Also ends reads of endless devices."""

_SUFFIXES = (".pg", ".gq", ".jsonl", ".ndjson", ".json")
"""Suffixes of files that are suggested for a misspelled name."""


def read_source(path: str) -> Source:
    """The text of a file, under the name that the user typed."""
    shown = click.format_filename(path)
    try:
        with open(path, "rb") as file:
            content = file.read(_BYTES_MAX + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    return Source(_decode(content, shown), shown)


def read_stdin(name: str = "<stdin>") -> Source:
    """The text on standard input."""
    return Source(_decode(sys.stdin.buffer.read(_BYTES_MAX + 1), name), name)


def replace_text(path: str, text: str) -> None:
    """Replace the content of a file atomically: a reader, or a restart after a crash, sees the old or the new text.

    The mode is kept, and a symbolic link stays a link.
    """
    target = os.path.realpath(path)
    try:
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        mode = stat.S_IMODE(os.stat(target).st_mode)
        import tempfile

        handle, temporary = tempfile.mkstemp(prefix=".omnigraph-fmt-", dir=os.path.dirname(target))
        try:
            with open(handle, "wb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        shown = click.format_filename(path)
        raise InputError(f"cannot write {shown}: {_reason(error)}", path=shown) from error


@contextmanager
def replacing(path: str, *, is_durable: bool = False) -> Iterator[BinaryIO]:
    """A file that atomically replaces ``path`` when the block succeeds. Pipes and devices are written directly.

    With ``is_durable`` the file survives loss of power, and an error reports that another process replaced it.
    """
    shown = click.format_filename(path)
    target = os.path.realpath(path)
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "wb") as file:
                yield file
            return
        import tempfile

        handle, temporary = tempfile.mkstemp(prefix=".omnigraph-out-", dir=os.path.dirname(target))
        try:
            with open(handle, "wb") as file:
                yield file
                if is_durable:
                    file.flush()
                    os.fsync(file.fileno())
                written = os.fstat(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
            if is_durable:
                _settle(target, written)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        hint = _missing_directory(path)
        raise InputError(f"cannot write {shown}: {_reason(error)}", hint=hint, path=shown) from error


def writing(path: str, options: Mapping[str, str]) -> AbstractContextManager[BinaryIO]:
    """A file or object that becomes visible once it is complete; ``options`` are those of the object store."""
    if not is_remote(path):
        return replacing(path)
    from omnigraph.storage.objects.target_files import write_file

    return write_file(path, options)


def _settle(target: str, written: os.stat_result) -> None:
    """Make the directory entry of a new file durable, and check that it still refers to that file."""
    directory = os.open(os.path.dirname(target), os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    found = os.stat(target)
    if (found.st_dev, found.st_ino) != (written.st_dev, written.st_ino):
        shown = click.format_filename(target)
        raise InputError(f"{shown} was replaced by another process", hint="write it again", path=shown)


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Exclude other writers of the file by an advisory lock on ``path.lock``, which is not deleted afterwards."""
    # Not available on every platform on which the other commands work.
    import fcntl

    shown = click.format_filename(path)
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        yield
        return
    try:
        lock = os.open(f"{target}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"cannot write {shown}.lock: {_reason(error)}", path=shown) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = f"wait until it is done; it holds {shown}.lock"
            raise InputError(f"another process is writing {shown}", hint=hint, path=shown) from error
        yield
    finally:
        os.close(lock)


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _decode(content: bytes, shown: str) -> str:
    if len(content) > _BYTES_MAX:
        raise InputError(f"{shown} is larger than {_BYTES_MAX // 2**20} MiB", hint="is it the right file?", path=shown)
    try:
        # Some editors start a file with a byte-order mark, which belongs to neither language.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{shown} is not UTF-8 text: byte 0x{content[error.start]:02x} in line {line}",
            hint="save it as UTF-8, for example with `iconv -f LATIN1 -t UTF-8`",
            path=shown,
        ) from error


def unreadable(path: str, error: OSError) -> InputError | NotFoundError:
    """The error for a file that cannot be opened."""
    shown = click.format_filename(path)
    if isinstance(error, FileNotFoundError):
        hint = _similar_file(path) or f"check the name; paths are relative to {os.getcwd()}"
        return NotFoundError(f"no such file: {shown}", hint=hint, path=shown)
    if isinstance(error, IsADirectoryError):
        return InputError(f"{shown} is a directory, not a file", hint="name a file in it", path=shown)
    return InputError(
        f"cannot read {shown}: {_reason(error)}", hint="check the permissions, or copy the file", path=shown
    )


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _missing_directory(path: str) -> str | None:
    parent = Path(path).parent
    return None if parent.is_dir() else f"there is no directory {click.format_filename(str(parent))}"


def _similar_file(path: str) -> str | None:
    wanted = Path(path)
    if missing := _missing_directory(path):
        return missing
    with suppress(OSError):
        names = sorted(file.name for file in wanted.parent.iterdir() if file.suffix in _SUFFIXES)
        return did_you_mean(wanted.name, (click.format_filename(name) for name in names))
    return None
