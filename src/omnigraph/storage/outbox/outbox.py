"""Small files of a bucket, written in a scratch directory first and stored in parallel.

Lance stores the files of a version one after the other: data, transaction, manifest. Their names and contents do not
depend on the store, so Lance writes them into a scratch directory on this machine, and threads of this process store
them. A commit then waits twice for the store, however many tables it touches: for all files that nothing refers to,
and for the manifest of its branch.

Invariant: a version is published only after ``settle`` has returned for it, that is, after the store has acknowledged
every file that it needs. A file that could not be stored fails ``settle``, also in a later attempt of the same write.
A killed process leaves files that nothing refers to.

Transaction files are not stored: every manifest holds its transaction, and nothing reads the file.
"""

from __future__ import annotations

import os
import shutil
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from glob import glob
from typing import Any, TypeVar

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import write_fragments

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru, held_bytes
from omnigraph.errors import StorageError
from omnigraph.storage.objects.failures import foreign
from omnigraph.storage.objects.protocol import Objects
from omnigraph.storage.objects.uri import LOCAL_SCHEME
from omnigraph.storage.objects.version_names import DETACHED_BIT, manifest_file
from omnigraph.storage.outbox.manifest_bytes import manifest_content
from omnigraph.storage.outbox.traffic import Traffic
from omnigraph.storage.scratch import ScratchDirectory

Written = TypeVar("Written")

SMALL_ROWS_BYTES_MAX = 8 * 1024 * 1024
"""Rows in memory above this size are written to the store directly: their content would be held twice."""

UPLOAD_THREADS = 64
"""Files stored concurrently, by all stores of a process: the threads only wait."""

HANDLES_MAX = 256
"""Branches whose newest manifest stays open in the scratch directory."""

TWINS_BYTES_MAX = 32 * 1024 * 1024
"""Manifests of the table versions that stay open in the scratch directory: an open version holds its own in memory."""

KEPT_FILES_MAX = 4_096
"""Files that stay in the scratch directory, for the next version and for readers."""

KEPT_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of these files."""

_SESSION_BYTES_MAX = 16 * 1024 * 1024
"""Caches of Lance for the scratch directory. Nothing there is read twice."""


@dataclass(frozen=True, slots=True)
class _Twin:
    handle: LanceDataset
    nbytes: int


@dataclass(frozen=True, slots=True)
class Head:
    """The next version of the manifest of a branch: its handle in the scratch directory, and its content."""

    handle: LanceDataset
    content: bytes
    files: tuple[str, ...]
    """Its data files, which are under way."""


class Outbox:
    """The scratch directory of one store, and its files that are under way."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._scratch = ScratchDirectory("omnigraph-outbox-")
        self._session = lance.Session(_SESSION_BYTES_MAX, _SESSION_BYTES_MAX)  # type: ignore[attr-defined] # undeclared
        self._twins: Lru[tuple[str, int], _Twin] = Lru(TWINS_BYTES_MAX, held_bytes)
        self._heads: Lru[str, LanceDataset] = Lru(HANDLES_MAX)
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._kept_bytes = 0
        self._under_way: dict[str, Future[None]] = {}
        self._coming: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self.traffic = Traffic()
        """Requests of the outbox since it was made."""

    @property
    def is_busy(self) -> bool:
        """True while a file is under way, or has failed."""
        return bool(self._under_way)

    def twin(self, location: str, base: LanceDataset) -> LanceDataset:
        """The same version of a table in the scratch directory. It has no data files: it is for writing only."""
        known = self._twins.get((location, base.version))
        if known is not None:
            return known.handle
        message = base._ds.serialized_manifest()
        if not base.version & DETACHED_BIT:
            # The first version of a table. Lance looks at the name of its file to find out how versions are named.
            self._add(manifest_file(location, base.version), manifest_content(message))
        handle = self.opened(location, base)
        self._twins.put((location, base.version), _Twin(handle, len(message)))
        return handle

    def on_twin(self, location: str, base: LanceDataset, write: Callable[[LanceDataset], Written]) -> Written:
        """The result of a write through the twin of a version.

        Lance reads the indexes of a version from its manifest file, which is here only if this process has made it.
        """
        try:
            return write(self.twin(location, base))
        except foreign():
            manifest = manifest_file(location, base.version)
            if os.path.exists(self.local(manifest)):
                raise
            self.bring(manifest)
            return write(self.opened(location, base))

    def opened(self, location: str, base: LanceDataset) -> LanceDataset:
        """A version as if its table were at this place of the scratch directory."""
        return LanceDataset(
            f"{LOCAL_SCHEME}://{self.local(location)}",
            base.version,
            serialized_manifest=base._ds.serialized_manifest(),
            session=self._session,
        )

    def send(self, paths: Iterable[str]) -> None:
        """Store files that were written through a twin. They stay here for a while, because they are read soon."""
        for path in paths:
            self._put(path, self._read(path))
            self._keep(path)

    def commit(self, location: str, base: LanceDataset, operation: Any, parts: Iterable[str]) -> LanceDataset:
        """A detached version of a table, whose manifest is under way; returns its twin.

        ``parts`` are the files of the version that were sent: it is settled when they are.
        """
        transaction = Transaction(base.version, operation, uuid=str(uuid.uuid4()))
        made = self.on_twin(location, base, lambda twin: LanceDataset.commit(twin, transaction, detached=True))
        self._taken(f"{location}/_transactions/{base.version}-{transaction.uuid}.txn")
        path = manifest_file(location, made.version)
        content = self._read(path)
        self._keep(path)
        self._twins.put((location, made.version), _Twin(made, len(content)))
        with self._lock:
            awaited = [self._under_way[part] for part in parts if part in self._under_way]
        self._put(path, content, awaited)
        return made

    def has_head(self, location: str, version: int) -> bool:
        """True if this is the version of a manifest that the outbox has written last."""
        head = self._heads.get(location)
        return head is not None and head.version == version

    def write_head(self, location: str, base: LanceDataset | None, version: int, rows: pa.Table) -> Head:
        """The next version of the manifest of a branch; its data file is under way, its manifest is not.

        ``base`` is a handle of the current version; None if the outbox has it.
        """
        head = self._heads.get(location) if base is None else base
        assert head is not None
        # A directory of its own: Lance refuses to make a version beside one of the same number, which another thread
        # may be making.
        scratch = f"{location}/{uuid.uuid4().hex}"
        try:
            current = self.opened(scratch, head)
            fragments = write_fragments(rows, current, mode="overwrite")
            transaction = Transaction(version, LanceOperation.Overwrite(rows.schema, fragments))
            made = LanceDataset.commit(current, transaction, max_retries=0)
            names = [f"data/{file.path}" for fragment in fragments for file in fragment.files]
            for name in names:
                self._put(f"{location}/{name}", self._taken(f"{scratch}/{name}"))
            [manifest] = glob(self.local(f"{scratch}/_versions/*.manifest"))
            return Head(made, self._read(manifest), tuple(f"{location}/{name}" for name in names))
        finally:
            shutil.rmtree(self.local(scratch), ignore_errors=True)

    def bring(self, path: str) -> None:
        """Have a stored file in the scratch directory, because Lance reads it there."""
        if os.path.exists(self.local(path)):
            self._keep(path)
            return
        content = self._objects.read(path)
        if content is None:
            raise StorageError(f"{path} is missing", path=path)
        self._count(Traffic(reads=1, bytes_read=len(content)))
        self._add(path, content)

    def _add(self, path: str, content: bytes) -> None:
        target = self.local(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        # Renamed, because another thread may be waiting for the same file.
        with open(f"{target}.{uuid.uuid4().hex}", "wb") as file:
            file.write(content)
        os.replace(file.name, target)
        self._keep(path)

    def fetch_ahead(self, path: str) -> None:
        """Begin to fetch a stored file that is read soon with ``content``."""
        if not os.path.exists(self.local(path)):
            fetched = _threads().submit(self.bring, path)
            with self._lock:
                self._coming[path] = fetched
            fetched.add_done_callback(lambda _: self._coming.pop(path, None))

    def content(self, path: str) -> bytes | None:
        """The content of a stored file that is here or on its way, else None."""
        fetched = self._coming.get(path)
        if fetched is not None:
            wait([fetched])
        try:
            return self._read(path)
        except OSError:
            return None

    def link(self, path: str, name: str) -> None:
        """Give a stored file another name in the scratch directory, which nothing but its user removes."""
        self.bring(path)
        target = self.local(name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.link(self.local(path), target)

    def settle(self, paths: Iterable[str]) -> None:
        """Wait until these files are stored, and those of versions whose manifests they are; raises if one is not."""
        for path in paths:
            upload = self._under_way.get(path)
            if upload is not None:
                upload.result()

    def _put(self, path: str, content: bytes, parts: Sequence[Future[None]] = ()) -> None:
        self._count(Traffic(writes=1, bytes_written=len(content)))
        upload = _threads().submit(self._store, path, content, parts)
        with self._lock:
            self._under_way[path] = upload
        # A failed upload stays: every version that needs the file must fail.
        upload.add_done_callback(lambda done: done.exception() is None and self._under_way.pop(path, None))

    def create_head(self, location: str, head: Head) -> bool:
        """Publish a version of a manifest: true if no other version has its number."""
        self._count(Traffic(writes=1, bytes_written=len(head.content)))
        # Creates the object or finds it with this very content: then a repeated request had already created it.
        is_created = self._objects.create(manifest_file(location, head.handle.version), head.content)
        if is_created:
            self._heads.put(location, head.handle)
        return is_created

    def _count(self, more: Traffic) -> None:
        with self._lock:
            known = self.traffic
            self.traffic = Traffic(
                known.reads + more.reads,
                known.bytes_read + more.bytes_read,
                known.writes + more.writes,
                known.bytes_written + more.bytes_written,
            )

    def _store(self, path: str, content: bytes, parts: Sequence[Future[None]]) -> None:
        self._objects.replace(path, content)
        # The parts were submitted earlier, so a thread is storing each of them: the pool cannot be full of waiters.
        for part in parts:
            part.result()

    def _read(self, path: str) -> bytes:
        with open(self.local(path), "rb") as file:
            return file.read()

    def _taken(self, path: str) -> bytes:
        content = self._read(path)
        os.unlink(self.local(path))
        return content

    def _keep(self, path: str) -> None:
        size = os.path.getsize(self.local(path))
        gone: list[str] = []
        with self._lock:
            self._kept_bytes += size - self._kept.pop(path, 0)
            self._kept[path] = size
            while len(self._kept) > KEPT_FILES_MAX or self._kept_bytes > KEPT_BYTES_MAX:
                oldest, freed = self._kept.popitem(last=False)
                self._kept_bytes -= freed
                gone.append(oldest)
        for oldest in gone:
            with suppress(FileNotFoundError):
                os.unlink(self.local(oldest))

    def local(self, path: str) -> str:
        """The place of a file in the scratch directory."""
        return os.path.join(self._scratch.path, path)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(UPLOAD_THREADS, thread_name_prefix="omnigraph-upload")
