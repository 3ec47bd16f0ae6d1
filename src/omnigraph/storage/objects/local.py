"""Backend of a local disk: small files of a directory. Create-if-absent is a hard link of a finished file."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO
from urllib.parse import unquote, urlparse

from omnigraph.errors import NotFoundError, OutcomeUnknown, StorageError
from omnigraph.storage.objects.durability import Durability, sync_directory
from omnigraph.storage.objects.local_files import (
    create_local,
    find_local,
    local_path,
    make_local,
    open_local,
    replacing,
)
from omnigraph.storage.objects.locks import only_process
from omnigraph.storage.objects.outside_files import ReadRange, SourceFile
from omnigraph.storage.objects.places import local_reason
from omnigraph.storage.objects.protocol import Level, Listed, Objects, Turns
from omnigraph.storage.objects.turns import LocalTurns
from omnigraph.storage.objects.uri import LOCAL_SCHEME, Capabilities, Root

CHUNK_BYTES = 4 * 1024 * 1024
"""Bytes read at a time of a file that may be large."""

READ_BYTES = 64 * 1024
"""Bytes read at a time of a small file, which most often is all of it."""


class LocalObjects:
    """Files of a local directory."""

    def __init__(self, root: Root, durability: Durability) -> None:
        self._root = root
        self._durability = durability

    def read(self, path: str) -> bytes | None:
        # Every read of a branch reads its ref: the calls of the system alone take a third of the time of a file object.
        try:
            file = os.open(self._root.local(path), os.O_RDONLY | getattr(os, "O_BINARY", 0))
            try:
                content = chunk = os.read(file, READ_BYTES)
                while chunk:
                    chunk = os.read(file, READ_BYTES)
                    content += chunk
                return content
            finally:
                os.close(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unusable(self._root, path, error) from error

    def create(self, path: str, content: bytes) -> bool:
        target = self._root.local(path)
        temporary = self._write_temporary(target, [content])
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        except OSError as error:
            raise _unusable(self._root, path, error) from error
        finally:
            # A leftover is harmless: cleanup recognises it by its name.
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        self._sync_directory(path, f"{path} was created")
        return True

    def replace(self, path: str, content: bytes) -> None:
        target = self._root.local(path)
        temporary = self._write_temporary(target, [content])
        try:
            os.replace(temporary, target)
        except OSError as error:
            raise _unusable(self._root, path, error) from error
        self._sync_directory(path, f"{path} was replaced")

    def read_chunks(self, path: str) -> Iterator[bytes]:
        try:
            with open(self._root.local(path), "rb", buffering=0) as file:
                while chunk := file.read(CHUNK_BYTES):
                    yield chunk
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFoundError(f"there is no file {path!r} below {self._root}", path=path) from error
        except OSError as error:
            raise _unusable(self._root, path, error) from error

    def write_chunks(self, path: str, chunks: Iterable[bytes]) -> None:
        target = self._root.local(path)
        temporary = self._write_temporary(target, chunks, is_durable=False)
        try:
            os.replace(temporary, target)
        except OSError as error:
            raise _unusable(self._root, path, error) from error

    def _write_temporary(self, target: str, chunks: Iterable[bytes], *, is_durable: bool = True) -> str:
        directory = os.path.dirname(target)
        temporary = os.path.join(directory, f".{uuid.uuid4().hex}.tmp")
        try:
            self._make_directory(directory)
            with open(temporary, "xb") as file:
                file.writelines(chunks)
                if is_durable and self._durability is Durability.FSYNC:
                    file.flush()
                    os.fsync(file.fileno())
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            if not isinstance(error, OSError):
                raise
            raise _unusable(self._root, os.path.basename(target), error) from error
        return temporary

    def _make_directory(self, directory: str) -> None:
        """Create a directory and its missing parents, syncing each entry in its parent."""
        if os.path.isdir(directory):
            return
        parent = os.path.dirname(directory)
        self._make_directory(parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory)
        if self._durability is Durability.FSYNC:
            sync_directory(parent)

    def _sync_directory(self, path: str, change: str) -> None:
        """Make a change of a name durable. The change is already visible, so a failure leaves its outcome unknown."""
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
            # A file gets its content together with its name, and every conditional delete takes this lock: the
            # content that was compared is the content that is deleted.
            with only_process(os.path.dirname(self._root.local(path))):
                return self.read(path) == content and self.delete(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unusable(self._root, path, error) from error

    def replace_if(self, path: str, before: bytes, content: bytes) -> bool:
        try:
            # Every conditional change takes this lock, so no other one comes between the comparison and the rename.
            with only_process(os.path.dirname(self._root.local(path))):
                if self.read(path) != before:
                    return False
                self.replace(path, content)
                return True
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
            # Not empty: a concurrent writer has put a file there.
            with contextlib.suppress(OSError):
                os.rmdir(path)


def _unusable(root: Root, path: str, error: OSError) -> StorageError:
    reason, hint = local_reason(error)
    return StorageError(f"cannot use {path!r} below {root}: {reason}", hint=hint, root=str(root), path=path)


class LocalBackend:
    """A disk of this machine, or one that several machines mount."""

    schemes = ("file", LOCAL_SCHEME)
    example = "file://"
    capabilities = Capabilities(
        is_local=True,
        links_versions=True,
        keeps_checksums=True,
        renames=True,
        # A system call that failed has no effect later.
        acts_late=False,
        create_attempts_max=1,
    )

    def parse_root(self, text: str) -> Root:
        parsed = urlparse(text)
        path = unquote(parsed.path) if parsed.scheme in self.schemes else text
        absolute = os.path.abspath(os.path.expanduser(path))
        return Root(f"{LOCAL_SCHEME}://{absolute}", self.capabilities, absolute)

    def open_objects(self, root: Root, options: Mapping[str, str], durability: Durability) -> Objects:
        return LocalObjects(root, durability)

    def open_turns(self, root: Root, objects: Objects) -> Turns:
        return LocalTurns(root)

    def lance_options(self, options: Mapping[str, str]) -> dict[str, str] | None:
        return dict(options) or None

    def find_files(self, path: str, options: Mapping[str, str], endings: tuple[str, ...]) -> list[SourceFile]:
        return [find_local(path)]

    def open_ranges(self, file: SourceFile) -> AbstractContextManager[ReadRange]:
        return open_local(file)

    def target_directory(self, path: str) -> str:
        return os.path.abspath(local_path(path))

    def create_directory(self, path: str, options: Mapping[str, str], name: str, content: bytes) -> None:
        create_local(path, name, content)

    def make_directory(self, path: str) -> None:
        make_local(local_path(path))

    def write_file(self, path: str, options: Mapping[str, str]) -> AbstractContextManager[BinaryIO]:
        return replacing(local_path(path))
