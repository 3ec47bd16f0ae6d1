"""Files outside the graph that exports write, into a new directory or below a new prefix of an object store.

A file appears whole: on disk under another name first, in an object store when all of it was sent. What a writer that
was lost has sent is no file, and the store's own rules for uploads that were never completed remove it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, cast

from omnigraph.errors import AlreadyExistsError, OmnigraphError, StorageError
from omnigraph.storage.objects.s3_client import open_s3, told
from omnigraph.storage.objects.source_files import bucket_and_key, is_remote

if TYPE_CHECKING:
    from obstore import WritableFile


@dataclass(frozen=True, slots=True)
class TargetDirectory:
    """Where the files of one export are. Travels to executors."""

    path: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def at(cls, path: str, options: Mapping[str, str]) -> TargetDirectory:
        """The directory of that name. Executors do not work where the driver does."""
        if not is_remote(path):
            return cls(os.path.abspath(path), options)
        bucket, key = bucket_and_key(path)
        return cls(f"{bucket}/{key}".rstrip("/"), options)

    def create(self, name: str, content: bytes) -> None:
        """Begin the directory with one file; raises if anything is there."""
        if is_remote(self.path):
            self._create_s3(name, content)
        else:
            self._create_local(name, content)

    def _create_local(self, name: str, content: bytes) -> None:
        try:
            os.makedirs(self.path)
            with open(os.path.join(self.path, name), "wb") as file:
                file.write(content)
        except FileExistsError as error:
            raise self._is_there() from error
        except OSError as error:
            raise self._unwritable(self.path, error.strerror or str(error)) from error

    def _create_s3(self, name: str, content: bytes) -> None:
        from obstore.exceptions import AlreadyExistsError as Taken

        store = open_s3(*self._bucket())
        prefix = bucket_and_key(self.path)[1]
        try:
            is_empty = not any(len(batch) for batch in store.list(f"{prefix}/" if prefix else None))
            if is_empty:
                store.put(f"{prefix}/{name}" if prefix else name, content, mode="create")
        except Taken as error:
            raise self._is_there() from error
        except Exception as error:
            raise self._unwritable(self.path, told(error)) from error
        if not is_empty:
            raise self._is_there()

    def _bucket(self) -> tuple[str, Mapping[str, str]]:
        return bucket_and_key(self.path)[0], self.options

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """A file that is there once the block has ended well, in place of one of the same name."""
        target = f"{self.path}/{name}" if is_remote(self.path) else os.path.join(self.path, name)
        try:
            with self._uploading(target) if is_remote(target) else _renaming(target) as file:
                yield file
        except OmnigraphError:
            raise
        except OSError as error:
            raise self._unwritable(target, error.strerror or str(error)) from error

    @contextmanager
    def _uploading(self, target: str) -> Iterator[BinaryIO]:
        from obstore import open_writer
        from obstore.exceptions import BaseError

        key = bucket_and_key(target)[1]
        try:
            upload = Upload(open_writer(open_s3(*self._bucket()), key))
            yield cast(BinaryIO, upload)
            # Only here: closing makes a file of what was sent so far.
            upload.complete()
        except BaseError as error:
            raise self._unwritable(target, told(error)) from error

    def _is_there(self) -> AlreadyExistsError:
        return AlreadyExistsError(f"{self.path!r} exists already", hint="name a new directory", path=self.path)

    def _unwritable(self, path: str, why: str) -> StorageError:
        return StorageError(f"{path!r} cannot be written: {why}", path=path)


@contextmanager
def _renaming(target: str) -> Iterator[BinaryIO]:
    unfinished = f"{target}.{uuid.uuid4().hex}.part"
    with open(unfinished, "wb") as file:
        yield file
    os.replace(unfinished, target)


class Upload:
    """A file that is sent in parts, as those see it who write files: they ask where they are, and close it."""

    def __init__(self, inner: WritableFile) -> None:
        self._inner = inner
        self._position = 0
        self.closed = False

    def write(self, content: bytes) -> int:
        self._inner.write(content)
        self._position += len(content)
        return len(content)

    def writelines(self, parts: Iterable[bytes]) -> None:
        for part in parts:
            self.write(part)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        """Parts are sent when they are large enough."""

    def close(self) -> None:
        """Whoever writes is done; whether all went well is for others to say."""

    def writable(self) -> bool:
        return True

    def complete(self) -> None:
        """All was sent: the file is there from here on."""
        self._inner.close()
        self.closed = True
