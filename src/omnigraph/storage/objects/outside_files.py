"""Files outside the graph: the description of a source file, and the errors that every backend raises about them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import AlreadyExistsError, InputError, NotFoundError, StorageError, UsageError
from omnigraph.storage.objects.uri import is_remote

LINES_ENDINGS = (".jsonl", ".ndjson", ".json")
"""Name endings of JSON-lines files: the files below a prefix that a load reads."""

ReadRange = Callable[[int, int], bytes]
"""Read up to ``size`` bytes from ``start``; fewer at the end of the file."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was found. Pickled to executors, which read it from their own machine."""

    path: str
    """Name used in messages."""
    address: str
    """An absolute path, or an address in an object store."""
    size: int
    stamp: str
    """Changes whenever the content changes: the ETag of an object, the modification time of a local file."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


def unreadable(path: str, error: OSError) -> NotFoundError | UsageError:
    """The error for a source file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return NotFoundError(
            f"there is no file {path!r}", hint=f"check the name; paths are relative to {os.getcwd()}", path=path
        )
    return UsageError(f"{path!r} cannot be read: {error.strerror or error}", hint="check its permissions", path=path)


def changed(file: SourceFile) -> InputError:
    """The error for a source file that was replaced during a load: ranges of two files make no valid input."""
    return InputError(
        f"{file.path!r} changed while it was being loaded",
        hint="nothing was loaded; run the load again while no process writes the file",
        path=file.path,
    )


def exists_already(path: str) -> AlreadyExistsError:
    """The error for a target directory that is not empty."""
    return AlreadyExistsError(f"{path!r} exists already", hint="name a new directory", path=path)


def unwritable(path: str, why: str) -> StorageError:
    """The error for a target file that cannot be written."""
    return StorageError(f"{path!r} cannot be written: {why}", hint=_write_hint(path), path=path)


def _write_hint(path: str) -> str:
    directory = os.path.dirname(path) or "."
    if not is_remote(path) and not os.path.isdir(directory):
        return f"there is no directory {directory}; create it first"
    return "check the address, the permissions and the space that is left"
