"""Source and target files in a bucket, through a client of obstore."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from omnigraph.errors import NotFoundError, StorageError
from omnigraph.storage.objects.failures import first_line
from omnigraph.storage.objects.outside_files import (
    ReadRange,
    SourceFile,
    changed,
    exists_already,
    unwritable,
)

if TYPE_CHECKING:
    from obstore import GetOptions, WritableFile
    from obstore.store import ObjectStore


def find_objects(
    client: ObjectStore, bucket: str, key: str, options: Mapping[str, str], endings: tuple[str, ...]
) -> list[SourceFile]:
    """The object with this key; for an empty key or one that ends in ``/``, every file with one of the endings."""
    path = f"{bucket}/{key}"
    try:
        if key and not key.endswith("/"):
            found = [client.head(key)]
        else:
            listed = (item for batch in client.list(key or None) for item in batch)
            found = sorted(
                (item for item in listed if item["path"].lower().endswith(endings)), key=lambda item: item["path"]
            )
    except FileNotFoundError as error:
        raise NotFoundError(
            f"there is no file {path!r}", hint="the address of a prefix ends in /", path=path
        ) from error
    if not found:
        known = [ending for ending in endings if ending.count(".") == 1]
        raise NotFoundError(
            f"there is no data file below {path!r}",
            hint=f"the names of data files end in {', '.join(known)}; the address of one file has no / at its end",
            path=path,
        )
    addresses = ((f"{bucket}/{item['path']}", item) for item in found)
    return [SourceFile(address, address, item["size"], item["e_tag"] or "", options) for address, item in addresses]


@contextmanager
def open_object(client: ObjectStore, key: str, file: SourceFile) -> Iterator[ReadRange]:
    """A source object while it is read."""
    from obstore.exceptions import PreconditionError

    as_found: GetOptions = {"if_match": file.stamp} if file.stamp else {}

    def read(start: int, size: int) -> bytes:
        end = min(start + size, file.size)
        if end <= start:
            return b""
        try:
            return bytes(client.get(key, options={"range": (start, end), **as_found}).bytes())
        except FileNotFoundError as error:
            raise NotFoundError(f"file {file.path!r} was deleted while it was being read", path=file.path) from error
        except PreconditionError as error:
            raise changed(file) from error
        except Exception as error:
            raise StorageError(f"{file.path!r} cannot be read: {first_line(error)}", path=file.path) from error

    yield read


def create_prefix(client: ObjectStore, path: str, prefix: str, name: str, content: bytes) -> None:
    """Begin a prefix with one object; raises if the prefix holds anything."""
    from obstore.exceptions import AlreadyExistsError as Taken

    try:
        is_empty = not any(len(batch) for batch in client.list(f"{prefix}/" if prefix else None))
        if is_empty:
            client.put(f"{prefix}/{name}" if prefix else name, content, mode="create")
    except Taken as error:
        raise exists_already(path) from error
    except Exception as error:
        raise unwritable(path, first_line(error)) from error
    if not is_empty:
        raise exists_already(path)


@contextmanager
def uploading(client: ObjectStore, path: str, key: str) -> Iterator[BinaryIO]:
    """An object that exists once the block has ended without an error."""
    from obstore import open_writer
    from obstore.exceptions import BaseError

    try:
        upload = Upload(open_writer(client, key))
        yield cast(BinaryIO, upload)
        # Not in a ``finally``: completing an interrupted upload would publish the parts sent so far as a whole object.
        upload.complete()
    except BaseError as error:
        raise unwritable(path, first_line(error)) from error


class Upload(io.RawIOBase):
    """A multipart upload as a file, for writers of formats and of text."""

    def __init__(self, inner: WritableFile) -> None:
        super().__init__()
        self._inner = inner
        self._position = 0

    def write(self, content: Any) -> int:
        # Arrow hands over signed bytes, which the client does not take.
        data = memoryview(content).cast("B")
        self._inner.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """A no-op: format writers close their file after a failure too. Only ``complete`` publishes the object."""

    def complete(self) -> None:
        """Finish the upload: the object exists from here on."""
        self._inner.close()
        super().close()
