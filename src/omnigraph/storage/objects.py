"""Small files below the root: read, create if absent, delete, list.

Create-if-absent is what branch names and the format stamp stand on. Locally it is a hard link of a finished file; in
S3 a conditional PUT, and a store that ignores the condition is found out by ``honours_create_if_absent``.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from omnigraph.errors import OutcomeUnknown, StorageError
from omnigraph.storage.durability import Durability, sync_directory
from omnigraph.storage.locks import only_process
from omnigraph.storage.places import local_reason, remote_hint
from omnigraph.storage.s3_client import delete_matching, open_s3, told
from omnigraph.storage.uri import Root

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import S3Store

CREATE_ATTEMPTS_MAX = 8
"""How often an object is created that the store had a conflict about: the other request is finished long before."""

CREATE_BACKOFF_SECONDS = 0.02

DELETED_AT_ONCE_MAX = 1_000
"""Objects deleted with one request: as many as S3 takes."""


class Listed(NamedTuple):
    """A file that is there, and when it was last written by the clock of the store (microseconds)."""

    path: str
    size: int
    modified_us: int


class Level(NamedTuple):
    """What is directly below a prefix."""

    files: list[Listed]
    directories: list[str]


class Objects(Protocol):
    """Small files, addressed relative to the root."""

    def read(self, path: str) -> bytes | None:
        """The content, or None if there is no such file."""
        ...

    def create(self, path: str, content: bytes) -> bool:
        """Create the file with this content; False if it exists already."""
        ...

    def replace(self, path: str, content: bytes) -> None:
        """Create or replace the file."""
        ...

    def delete(self, path: str) -> bool:
        """Delete the file; False if there was none."""
        ...

    def delete_if(self, path: str, content: bytes) -> bool:
        """Delete the file if it still has this content; False if it has another, or is gone."""
        ...

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Paths below a prefix, with their sizes."""
        ...

    def size(self, path: str) -> int | None:
        """The size of a file, or None if there is none."""
        ...

    def modified_us(self, path: str) -> int | None:
        """The time of the last write by the clock of the store, or None if there is no such file."""
        ...

    def walk(self, directory: str) -> Iterator[Listed]:
        """All files below a directory."""
        ...

    def level(self, directory: str) -> Level:
        """Files and directories directly below a directory; nothing if there is no such directory."""
        ...

    def delete_all(self, paths: Sequence[str]) -> None:
        """Delete files, those that are there. It need not be durable: garbage may come back with a loss of power."""
        ...

    def prune(self, directory: str) -> None:
        """Remove a directory of which nothing is left. In an object store there is none."""
        ...


def open_objects(root: Root, options: Mapping[str, str], durability: Durability) -> Objects:
    """The small files of a root."""
    return LocalObjects(root, durability) if root.is_local else S3Objects(root, options)


def honours_create_if_absent(objects: Objects) -> bool:
    """Whether the store refuses to create a file twice. Some S3 servers do not, and every writer would win."""
    probe = f"probe-{uuid.uuid4().hex}"
    first = objects.create(probe, b"1")
    second = objects.create(probe, b"2")
    objects.delete(probe)
    return first and not second


class LocalObjects:
    """Files of a local directory."""

    def __init__(self, root: Root, durability: Durability) -> None:
        self._root = root
        self._durability = durability

    def read(self, path: str) -> bytes | None:
        try:
            with open(self._root.local(path), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unusable(self._root, path, error) from error

    def create(self, path: str, content: bytes) -> bool:
        target = self._root.local(path)
        temporary = self._write_temporary(target, content)
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        except OSError as error:
            raise _unusable(self._root, path, error) from error
        finally:
            # Its name says what it is; cleanup finds it if it cannot be removed here.
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        self._sync_directory(path, f"{path} was created")
        return True

    def replace(self, path: str, content: bytes) -> None:
        target = self._root.local(path)
        temporary = self._write_temporary(target, content)
        try:
            os.replace(temporary, target)
        except OSError as error:
            raise _unusable(self._root, path, error) from error
        self._sync_directory(path, f"{path} was replaced")

    def _write_temporary(self, target: str, content: bytes) -> str:
        directory = os.path.dirname(target)
        temporary = os.path.join(directory, f".{uuid.uuid4().hex}.tmp")
        try:
            self._make_directory(directory)
            with open(temporary, "xb") as file:
                file.write(content)
                if self._durability is Durability.FSYNC:
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise _unusable(self._root, os.path.basename(target), error) from error
        return temporary

    def _make_directory(self, directory: str) -> None:
        """Make a directory and those above it, each durable in the one that holds it."""
        if os.path.isdir(directory):
            return
        parent = os.path.dirname(directory)
        self._make_directory(parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory)
        if self._durability is Durability.FSYNC:
            sync_directory(parent)

    def _sync_directory(self, path: str, change: str) -> None:
        """Make a change of a name durable. It is visible already, so a failure leaves its outcome open."""
        if self._durability is Durability.FSYNC:
            try:
                sync_directory(os.path.dirname(self._root.local(path)))
            except OSError as error:
                raise OutcomeUnknown(None, f"it may not be durable: {error}", change=change) from error

    def delete(self, path: str) -> bool:
        try:
            os.unlink(self._root.local(path))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unusable(self._root, path, error) from error
        self._sync_directory(path, f"{path} was deleted")
        return True

    def delete_if(self, path: str, content: bytes) -> bool:
        try:
            # A file gets its content when it gets its name. So while every conditional delete holds the lock, what was
            # compared is what is deleted.
            with only_process(os.path.dirname(self._root.local(path))):
                return self.read(path) == content and self.delete(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unusable(self._root, path, error) from error

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        start = self._root.local(prefix)
        for directory, _, names in os.walk(start):
            for name in sorted(names):
                full = os.path.join(directory, name)
                with contextlib.suppress(FileNotFoundError):
                    yield os.path.relpath(full, self._root.path), os.path.getsize(full)

    def size(self, path: str) -> int | None:
        try:
            return os.path.getsize(self._root.local(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unusable(self._root, path, error) from error

    def modified_us(self, path: str) -> int | None:
        try:
            return os.stat(self._root.local(path)).st_mtime_ns // 1000
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unusable(self._root, path, error) from error

    def walk(self, directory: str) -> Iterator[Listed]:
        pending = [directory]
        while pending:
            found = self.level(pending.pop())
            yield from found.files
            pending += found.directories

    def level(self, directory: str) -> Level:
        found = Level([], [])
        try:
            with os.scandir(self._root.local(directory)) as entries:
                for entry in entries:
                    path = os.path.join(directory, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        found.directories.append(path)
                        continue
                    with contextlib.suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        found.files.append(Listed(path, status.st_size, status.st_mtime_ns // 1000))
        except (FileNotFoundError, NotADirectoryError):
            return found
        except OSError as error:
            raise _unusable(self._root, directory, error) from error
        return found

    def delete_all(self, paths: Sequence[str]) -> None:
        for path in paths:
            try:
                os.unlink(self._root.local(path))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise _unusable(self._root, path, error) from error

    def prune(self, directory: str) -> None:
        for path, _, _ in os.walk(self._root.local(directory), topdown=False):
            # Somebody who writes there at this moment keeps it.
            with contextlib.suppress(OSError):
                os.rmdir(path)


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


def _unusable(root: Root, path: str, error: OSError) -> StorageError:
    reason, hint = local_reason(error)
    return StorageError(f"cannot use {path!r} below {root}: {reason}", hint=hint, root=str(root), path=path)
