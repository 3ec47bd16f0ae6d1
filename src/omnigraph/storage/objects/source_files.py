"""Files outside the graph that loads read, on disk or in an object store, by ranges of bytes.

A file is found once and then read in many places. Reading it as something else than was found is an error: parts of
two files under one name would make no input that anybody has seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from omnigraph.errors import InputError, NotFoundError, StorageError, UsageError
from omnigraph.storage.objects.places import remote_hint
from omnigraph.storage.objects.s3_client import open_s3, told

if TYPE_CHECKING:
    from obstore import GetOptions

LINES_ENDINGS = (".jsonl", ".ndjson", ".json")
"""How the names of files of JSON lines end: those below a prefix that are read."""

ReadRange = Callable[[int, int], bytes]
"""The bytes of a file from a position on, as many as are asked for if there are so many."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was found. Travels to executors, which read it wherever they are."""

    path: str
    """As messages call it."""
    address: str
    """An absolute path, or ``s3://bucket/key``."""
    size: int
    stamp: str
    """Another one if the file is another one."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


def is_remote(path: str) -> bool:
    """Whether a path is an address in an object store."""
    return "://" in path and not path.startswith("file://")


def find_files(path: str, options: Mapping[str, str]) -> list[SourceFile]:
    """The file of that name; below an address in an object store that ends in ``/``, every file of JSON lines."""
    if is_remote(path):
        return list(_find_s3(path, options))
    address = unquote(urlparse(path).path) if path.startswith("file://") else os.path.abspath(path)
    try:
        if os.path.isdir(address):
            raise UsageError(f"{path!r} is a directory", hint="name the files in it", path=path)
        status = os.stat(address)
    except OSError as error:
        raise unreadable(path, error) from error
    return [SourceFile(path, address, status.st_size, str(status.st_mtime_ns))]


def _find_s3(path: str, options: Mapping[str, str]) -> Iterator[SourceFile]:
    bucket, key = bucket_and_key(path)
    store = open_s3(bucket, options)
    try:
        if key and not key.endswith("/"):
            found = [store.head(key)]
        else:
            listed = (item for batch in store.list(key or None) for item in batch)
            found = sorted(
                (item for item in listed if item["path"].endswith(LINES_ENDINGS)), key=lambda item: item["path"]
            )
    except FileNotFoundError as error:
        raise NotFoundError(
            f"there is no file {path!r}", hint="the address of a prefix ends in /", path=path
        ) from error
    except Exception as error:
        hint = remote_hint(options, os.environ)
        raise StorageError(f"{path!r} cannot be read: {told(error)}", hint=hint, path=path) from error
    if not found:
        raise NotFoundError(f"there is no file below {path!r} that ends in {', '.join(LINES_ENDINGS)}", path=path)
    for item in found:
        address = f"{bucket}/{item['path']}"
        yield SourceFile(address, address, item["size"], item["e_tag"] or "", options)


def bucket_and_key(address: str) -> tuple[str, str]:
    """``s3://bucket`` and the rest of an address."""
    scheme, _, rest = address.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme != "s3":
        raise UsageError(f"{scheme}:// is not supported", hint="use a path or s3://bucket/key", path=address)
    if not bucket:
        raise UsageError(f"{address!r} names no bucket", hint="write s3://bucket/key", path=address)
    return f"s3://{bucket}", key


def unreadable(path: str, error: OSError) -> NotFoundError | UsageError:
    """What is wrong with a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return NotFoundError(f"there is no file {path!r}", path=path)
    return UsageError(f"{path!r} cannot be read: {error.strerror or error}", path=path)


def _changed(file: SourceFile) -> InputError:
    return InputError(
        f"{file.path!r} is not the file any more that it was when the load began",
        hint="nothing was loaded; load it when nobody writes it",
        path=file.path,
    )


@contextmanager
def open_ranges(file: SourceFile) -> Iterator[ReadRange]:
    """A file while it is read."""
    with _open_s3(file) if is_remote(file.address) else _open_local(file) as read:
        yield read


@contextmanager
def _open_local(file: SourceFile) -> Iterator[ReadRange]:
    try:
        with open(file.address, "rb") as opened:
            before = os.fstat(opened.fileno())
            # Not its time: machines may have copies of the same file.
            if before.st_size != file.size:
                raise _changed(file)

            def read(start: int, size: int) -> bytes:
                opened.seek(start)
                content = opened.read(size)
                if len(content) < min(size, file.size - start):
                    raise _changed(file)
                return content

            yield read
            after = os.fstat(opened.fileno())
            if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise _changed(file)
    except OSError as error:
        raise unreadable(file.path, error) from error


@contextmanager
def _open_s3(file: SourceFile) -> Iterator[ReadRange]:
    from obstore.exceptions import PreconditionError

    bucket, key = bucket_and_key(file.address)
    store = open_s3(bucket, file.options)
    as_found: GetOptions = {"if_match": file.stamp} if file.stamp else {}

    def read(start: int, size: int) -> bytes:
        end = min(start + size, file.size)
        if end <= start:
            return b""
        try:
            return bytes(store.get(key, options={"range": (start, end), **as_found}).bytes())
        except FileNotFoundError as error:
            raise NotFoundError(f"there is no file {file.path!r} any more", path=file.path) from error
        except PreconditionError as error:
            raise _changed(file) from error
        except Exception as error:
            raise StorageError(f"{file.path!r} cannot be read: {told(error)}", path=file.path) from error

    yield read
