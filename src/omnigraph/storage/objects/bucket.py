"""Backend of a bucket: small files as objects, through the clients of obstore.

Create-if-absent and replace-if are conditional PUTs, delete-if a conditional DELETE. A subclass of ``BucketBackend``
supplies what differs between providers: the client, the conditional delete, and the hint about credentials.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from omnigraph.errors import Hint, NotFoundError, OmnigraphError, OutcomeUnknown, StorageError, UsageError
from omnigraph.storage.objects.bucket_files import create_prefix, find_objects, open_object, uploading
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.failures import first_line
from omnigraph.storage.objects.outside_files import ReadRange, SourceFile
from omnigraph.storage.objects.protocol import Level, Listed, Objects, Turns, create_backoff_seconds
from omnigraph.storage.objects.turns import RemoteTurns
from omnigraph.storage.objects.uri import Capabilities, Root

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

DELETED_AT_ONCE_MAX = 1_000
"""Objects deleted with one request: the limit of the providers."""


class BucketObjects:
    """Objects below a prefix of a bucket."""

    def __init__(self, backend: BucketBackend, root: Root, options: Mapping[str, str]) -> None:
        self._backend = backend
        self._root = root
        self._options = dict(options)
        self._opened: ObjectStore | None = None

    @property
    def _store(self) -> ObjectStore:
        if self._opened is None:
            self._opened = self._backend.connect(self._root.url, self._options)
        return self._opened

    def read(self, path: str) -> bytes | None:
        try:
            return bytes(self._store.get(path).bytes())
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._unusable(path, error) from error

    def create(self, path: str, content: bytes) -> bool:
        from obstore.exceptions import AlreadyExistsError

        attempts_max = self._backend.capabilities.create_attempts_max
        for attempt in range(attempts_max):
            try:
                self._store.put(path, content, mode="create")
            except AlreadyExistsError as error:
                found = self.read(path)
                if found is not None:
                    # The client retries a request whose response was lost; the retry finds the object of the first.
                    return found == content
                if attempt == attempts_max - 1:
                    raise self._unusable(path, error) from error
                # 409: the store saw another conditional request for the path at the same time, and kept neither.
                time.sleep(create_backoff_seconds(attempt))
            except Exception as error:
                return self._settle(path, content, f"{path} was created", error)
            else:
                return True
        raise AssertionError("the last attempt returns or raises")

    def _settle(self, path: str, wanted: bytes | None, change: str, error: Exception) -> bool:
        """Look up the outcome of an inconclusive failure: True if the change was made, an error otherwise."""
        try:
            found = self.read(path)
        except StorageError:
            raise OutcomeUnknown(None, str(error), change=change) from error
        if found == wanted:
            return True
        raise self._unusable(path, error) from error

    def replace(self, path: str, content: bytes) -> None:
        try:
            self._store.put(path, content)
        except Exception as error:
            raise self._unusable(path, error) from error

    def read_chunks(self, path: str) -> Iterator[bytes]:
        try:
            for chunk in self._store.get(path).stream():
                yield bytes(chunk)
        except FileNotFoundError as error:
            raise NotFoundError(f"there is no object {path!r} below {self._root}", path=path) from error
        except Exception as error:
            raise self._unusable(path, error) from error

    def write_chunks(self, path: str, chunks: Iterable[bytes]) -> None:
        try:
            with uploading(self._store, f"{self._root}/{path}", path) as file:
                file.writelines(chunks)
        except OmnigraphError:
            raise
        except Exception as error:
            raise self._unusable(path, error) from error

    def delete(self, path: str) -> bool:
        try:
            self._store.delete(path)
        except FileNotFoundError:
            return False
        except Exception as error:
            return self._settle(path, None, f"{path} was deleted", error)
        return True

    def replace_if(self, path: str, before: bytes, content: bytes) -> bool:
        from obstore.exceptions import PreconditionError

        try:
            found = self._store.get(path)
            e_tag = found.meta["e_tag"]
            if bytes(found.bytes()) != before:
                return False
            self._store.put(path, content, mode={"e_tag": e_tag})
        except FileNotFoundError:
            return False
        except PreconditionError:
            # The client retries a request whose response was lost; the retry finds the object of the first.
            return self.read(path) == content
        except Exception as error:
            return self._settle(path, content, f"{path} was replaced", error)
        return True

    def delete_if(self, path: str, content: bytes) -> bool:
        try:
            found = self._store.get(path)
            e_tag = found.meta["e_tag"]
            if bytes(found.bytes()) != content:
                return False
        except FileNotFoundError:
            return False
        except Exception as error:
            raise self._unusable(path, error) from error
        answer = None if e_tag is None else self._backend.delete_matching(self._store, path, e_tag)
        # Without conditional deletes a race remains: the object may change between the comparison and the delete.
        return self.delete(path) if answer is None else answer

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        try:
            for batch in self._store.list(prefix or None):
                for item in batch:
                    yield item["path"], item["size"]
        except Exception as error:
            raise self._unusable(prefix, error) from error

    def size(self, path: str) -> int | None:
        try:
            return self._store.head(path)["size"]
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._unusable(path, error) from error

    def modified_us(self, path: str) -> int | None:
        try:
            return _listed(self._store.head(path)).modified_us
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._unusable(path, error) from error

    def walk(self, directory: str) -> Iterator[Listed]:
        try:
            for batch in self._store.list(f"{directory}/" if directory else None):
                yield from (_listed(item) for item in batch)
        except Exception as error:
            raise self._unusable(directory, error) from error

    def level(self, directory: str) -> Level:
        try:
            found = self._store.list_with_delimiter(f"{directory}/" if directory else None)
        except Exception as error:
            raise self._unusable(directory, error) from error
        return Level(
            [_listed(item) for item in found["objects"]], [path.rstrip("/") for path in found["common_prefixes"]]
        )

    def delete_all(self, paths: Sequence[str]) -> None:
        for start in range(0, len(paths), DELETED_AT_ONCE_MAX):
            try:
                self._store.delete(paths[start : start + DELETED_AT_ONCE_MAX])
            except FileNotFoundError:
                continue
            except Exception as error:
                raise self._unusable(paths[start], error) from error

    def prune(self, directory: str) -> None:
        return

    def _unusable(self, path: str, error: Exception) -> StorageError:
        return StorageError(
            f"cannot use {path!r} below {self._root}: {first_line(error)}",
            hint=self._backend.hint(self._options, os.environ),
            root=str(self._root),
            path=path,
        )


def _listed(item: ObjectMeta) -> Listed:
    return Listed(item["path"], item["size"], int(item["last_modified"].timestamp() * 1_000_000))


class BucketBackend(ABC):
    """A store of buckets that obstore has a client for."""

    scheme: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    """Schemes that other programs write for the same store."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        is_local=False,
        links_versions=False,
        # Providers verify what they store and return.
        keeps_checksums=False,
        renames=False,
        acts_late=True,
        create_attempts_max=8,
    )

    @abstractmethod
    def connect(self, url: str, options: Mapping[str, str]) -> ObjectStore:
        """A client whose paths are relative to a bucket, or to a prefix of one."""

    @abstractmethod
    def delete_matching(self, client: ObjectStore, path: str, e_tag: str) -> bool | None:
        """Delete an object if it still has this ETag; None if the outcome is not known, or there is no such request."""

    @abstractmethod
    def hint(self, options: Mapping[str, str], environment: Mapping[str, str]) -> str | Hint:
        """Next step for a user whose bucket cannot be used."""

    @property
    def schemes(self) -> tuple[str, ...]:
        return (self.scheme, *self.aliases)

    @property
    def example(self) -> str:
        return f"{self.scheme}://bucket"

    def parse_root(self, text: str) -> Root:
        bucket, prefix = self._split(text, "prefix")
        return Root(f"{bucket}/{prefix}".rstrip("/"), self.capabilities)

    def open_objects(self, root: Root, options: Mapping[str, str], durability: Durability) -> Objects:
        # An acknowledged write is durable in an object store, whatever durability the user chose.
        return BucketObjects(self, root, options)

    def open_turns(self, root: Root, objects: Objects) -> Turns:
        return RemoteTurns(objects)

    def lance_options(self, options: Mapping[str, str]) -> dict[str, str] | None:
        return dict(options) or None

    def find_files(self, path: str, options: Mapping[str, str], endings: tuple[str, ...]) -> list[SourceFile]:
        bucket, key = self._split(path, "key")
        client = self.connect(bucket, options)
        try:
            return find_objects(client, bucket, key, options, endings)
        except OmnigraphError:
            raise
        except Exception as error:
            hint = self.hint(options, os.environ)
            raise StorageError(f"{path!r} cannot be read: {first_line(error)}", hint=hint, path=path) from error

    def open_ranges(self, file: SourceFile) -> AbstractContextManager[ReadRange]:
        bucket, key = self._split(file.address, "key")
        return open_object(self.connect(bucket, file.options), key, file)

    def target_directory(self, path: str) -> str:
        bucket, key = self._split(path, "key")
        return f"{bucket}/{key}".rstrip("/")

    def create_directory(self, path: str, options: Mapping[str, str], name: str, content: bytes) -> None:
        bucket, prefix = self._split(path, "key")
        create_prefix(self.connect(bucket, options), path, prefix, name, content)

    def make_directory(self, path: str) -> None:
        return

    def write_file(self, path: str, options: Mapping[str, str]) -> AbstractContextManager[BinaryIO]:
        bucket, key = self._split(path, "key")
        if not key or key.endswith("/"):
            raise UsageError(f"{path!r} names no object", hint=f"write {self.example}/key", path=path)
        return uploading(self.connect(bucket, options), path, key)

    def _split(self, address: str, last: str) -> tuple[str, str]:
        """``scheme://bucket`` and the rest of an address."""
        bucket, _, key = address.partition("://")[2].partition("/")
        if not bucket:
            raise UsageError(f"{address!r} names no bucket", hint=f"write {self.example}/{last}", path=address)
        return f"{self.scheme}://{bucket}", key
