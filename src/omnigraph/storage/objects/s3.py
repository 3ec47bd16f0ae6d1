"""Small files as objects of an S3 bucket: create-if-absent is a conditional PUT, delete-if a conditional DELETE."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph.errors import OutcomeUnknown, StorageError
from omnigraph.storage.objects.places import remote_hint
from omnigraph.storage.objects.protocol import Level, Listed
from omnigraph.storage.objects.s3_client import delete_matching, open_s3, told
from omnigraph.storage.objects.uri import Root

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import S3Store

CREATE_ATTEMPTS_MAX = 8
"""How often an object is created that the store had a conflict about: the other request is finished long before."""

CREATE_BACKOFF_SECONDS = 0.02

DELETED_AT_ONCE_MAX = 1_000
"""Objects deleted with one request: as many as S3 takes."""


class S3Objects:
    """Objects below a prefix of an S3 bucket."""

    def __init__(self, root: Root, options: Mapping[str, str]) -> None:
        self._root = root
        self._options = dict(options)
        self._opened: S3Store | None = None

    @property
    def _store(self) -> S3Store:
        if self._opened is None:
            self._opened = open_s3(self._root.url, self._options)
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

        for attempt in range(CREATE_ATTEMPTS_MAX):
            try:
                self._store.put(path, content, mode="create")
            except AlreadyExistsError as error:
                found = self.read(path)
                if found is not None:
                    # The client repeats a request whose answer was lost, and the repetition finds what the first made.
                    return found == content
                if attempt == CREATE_ATTEMPTS_MAX - 1:
                    raise self._unusable(path, error) from error
                # 409: the store saw another conditional request for the path at the same time, and kept neither.
                time.sleep(random.uniform(0, 2**attempt) * CREATE_BACKOFF_SECONDS)
            except Exception as error:
                return self._settle(path, content, f"{path} was created", error)
            else:
                return True
        raise AssertionError("the last attempt returns or raises")

    def _settle(self, path: str, wanted: bytes | None, change: str, error: Exception) -> bool:
        """After a failure that says nothing: True if the change was made, else an error that says what is known."""
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

    def delete(self, path: str) -> bool:
        try:
            self._store.delete(path)
        except FileNotFoundError:
            return False
        except Exception as error:
            return self._settle(path, None, f"{path} was deleted", error)
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
        answer = None if e_tag is None else delete_matching(self._store, path, e_tag)
        # A store without conditional deletes is left with the moment between the comparison and the delete.
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
            f"cannot use {path!r} below {self._root}: {told(error)}",
            hint=remote_hint(self._options, os.environ),
            root=str(self._root),
            path=path,
        )


def _listed(item: ObjectMeta) -> Listed:
    return Listed(item["path"], item["size"], int(item["last_modified"].timestamp() * 1_000_000))
