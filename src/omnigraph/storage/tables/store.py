"""One graph root, opened: its tables by pin, its small files, its durability.

Open table versions are cached by (location, version). A version never changes, so no cached handle goes stale. A store
can be pickled; the copy opens its own handles.
"""

from __future__ import annotations

import copy
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import lance
import numpy as np
import numpy.typing as npt

from omnigraph.core.hints import verify_hint
from omnigraph.core.lru import Lru, held_bytes
from omnigraph.core.tables import TablePin
from omnigraph.core.tuning import Tuning
from omnigraph.errors import CorruptionError, StorageError
from omnigraph.storage.objects.backends import backend_of, parse_root
from omnigraph.storage.objects.durability import Durability, read_durability
from omnigraph.storage.objects.failures import foreign
from omnigraph.storage.objects.protocol import Objects, Turns
from omnigraph.storage.objects.uri import Root
from omnigraph.storage.objects.version_names import DETACHED_BIT, manifest_file
from omnigraph.storage.outbox.traffic import Traffic
from omnigraph.storage.tables.blob_files import BlobFiles, has_blobs
from omnigraph.storage.tables.key_cache import KeyCache
from omnigraph.storage.tables.recent_rows import RecentRows
from omnigraph.storage.tables.row_layout import Layout

if TYPE_CHECKING:
    from omnigraph.storage.objects.beside import Beside
    from omnigraph.storage.outbox.outbox import Outbox
    from omnigraph.storage.outbox.small_copies import Copies

OPEN_TABLES_MAX = 1024
"""Open table versions cached. Each holds its manifest in memory, some kilobytes per hundred fragments."""

OPEN_VERSIONS_MAX = 64
"""Of these, versions of one table. A process that writes opens a version with every commit, and needs the newest; the
others serve branches and readers of older snapshots."""

METADATA_BYTES_MAX = 16 * 1024 * 1024
"""Cache of Lance for manifests and the metadata of data files, as Lance counts them: memory is about twice that. Every
commit adds some kilobytes that are not read again, so a process that writes fills it."""

DELETED_BYTES_MAX = 64 * 1024 * 1024
"""Cache of deleted row numbers."""

MANIFEST_BLOCK_BYTES = 1024 * 1024
"""Read-ahead of a manifest: one GET fetches its whole data file."""

TAKEN_BLOCK_BYTES = 16 * 1024
"""Distance below which Lance joins two reads of a local file. By default it is 4 KiB, and then 1,000 of a million rows
take four times as much processor time: every value is a read of its own. With 64 KiB, as for buckets, a few hundred
rows would read a whole column."""

TAKEN_ROWS_MIN = 100_000
"""Rows of a table that make another handle worthwhile. Those of smaller ones lie close together."""


COPIED_ROWS_MAX = 10_000
"""Rows of a version that is copied. Larger ones have indexes, and queries read parts of them."""


class ReadGuard(Protocol):
    """Verifies the files of a table version when it is opened; raises if they are damaged."""

    def before_open(self, location: str, version: int) -> None: ...
    def after_open(self, location: str, dataset: lance.LanceDataset) -> None: ...


class Store:
    """An opened root. Safe to share between threads."""

    def __init__(
        self,
        uri: str | os.PathLike[str],
        storage_options: Mapping[str, str] | None = None,
        durability: Durability | str = Durability.FSYNC,
        tuning: Tuning = Tuning(),  # noqa: B008 # frozen
    ) -> None:
        self.root: Root = parse_root(uri)
        self.options: dict[str, str] = dict(storage_options or {})
        self.durability = read_durability(durability)
        self.tuning = tuning
        self._start()

    def _start(self) -> None:
        self.guard: ReadGuard | None = None
        self.objects: Objects = backend_of(self.root).open_objects(self.root, self.options, self.durability)
        self.turns: Turns = backend_of(self.root).open_turns(self.root, self.objects)
        self.session = lance.Session(  # type: ignore[attr-defined] # exported, but not declared so
            metadata_cache_size_bytes=METADATA_BYTES_MAX
        )
        self.keys = KeyCache(self.tuning.cached_table_rows_max)
        self.recent = RecentRows()
        self.blob_files = BlobFiles(self.objects)
        self.indexes: Lru[tuple[str, int], Any] = Lru(OPEN_TABLES_MAX)
        self.layouts: Lru[tuple[str, int], Layout] = Lru(OPEN_TABLES_MAX)
        self.external: Lru[tuple[str, int], Any] = Lru(OPEN_TABLES_MAX)
        self.deletions: Lru[tuple[str, str], npt.NDArray[np.int64]] = Lru(DELETED_BYTES_MAX, held_bytes)
        self._open: Lru[tuple[str, int], lance.LanceDataset] = Lru(OPEN_TABLES_MAX)
        self._taken: Lru[tuple[str, int], lance.LanceDataset] = Lru(OPEN_VERSIONS_MAX)
        self._versions: Lru[str, OrderedDict[int, None]] = Lru(OPEN_TABLES_MAX)
        self._versions_lock = threading.Lock()
        self._manifest_writers: Lru[str, lance.LanceDataset] = Lru(OPEN_TABLES_MAX)
        self._besides: Lru[str, Beside] = Lru(self.tuning.known_branches_max)
        self._besides_lock = threading.Lock()
        self._copies: Copies | None = None
        self._outbox: Outbox | None = None
        self._outbox_lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"root": self.root, "options": self.options, "durability": self.durability, "tuning": self.tuning}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def apart(self) -> Store:
        """The same root with caches of its own, which are dropped together with it."""
        return copy.copy(self)

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    def open(self, location: str, version: int, *, is_small: bool = False) -> lance.LanceDataset:
        """A table at a version, from the cache or by one HEAD and one GET; by one GET if it is small."""
        key = (location, version)
        if self._outbox is not None and self._outbox.is_busy:
            self._outbox.settle([manifest_file(location, version)])
        cached = self._open.get(key)
        if cached is not None:
            return cached
        return self.remember(location, self.open_own(location, version, is_small=is_small))

    def open_pin(self, pin: TablePin) -> lance.LanceDataset:
        """The version of a pin."""
        return self.open(pin.location, pin.lance_version, is_small=pin.rows <= COPIED_ROWS_MAX)

    def open_to_read(self, pin: TablePin) -> lance.LanceDataset:
        """The version of a pin for reading only: of a bucket, a copy of it on this machine if it is small."""
        stored = self.open_pin(pin)
        outbox = self.outbox_to_read if pin.rows <= COPIED_ROWS_MAX else None
        if outbox is None or has_blobs(stored.schema):
            return stored
        return self._copies_of_versions.open(outbox, pin.location, stored)

    @property
    def _copies_of_versions(self) -> Copies:
        with self._outbox_lock:
            if self._copies is None:
                from omnigraph.storage.outbox.small_copies import Copies

                self._copies = Copies()
            return self._copies

    def open_to_take(self, pin: TablePin) -> lance.LanceDataset:
        """The same for reading rows by position. Only of a large table of a local disk it is another handle."""
        stored = self.open_to_read(pin)
        if not self.root.is_local or pin.rows < TAKEN_ROWS_MIN:
            return stored
        key = (pin.location, pin.lance_version)
        known = self._taken.get(key)
        if known is None:
            self._taken.put(key, known := self._reopened(pin.location, stored, TAKEN_BLOCK_BYTES))
        return known

    def open_own(self, location: str, version: int, *, is_small: bool = False) -> lance.LanceDataset:
        """A handle that is not shared: building an index blocks every other use of its handle."""
        if self.guard is not None:
            self.guard.before_open(location, version)
        try:
            # Lance finds out the size of a manifest first. With the content in hand it would do so for the indexes of
            # the version, so large tables are left to it.
            message = self._message(location, version) if is_small and version & DETACHED_BIT else None
            dataset = lance.LanceDataset(
                self.root.table_uri(location),
                version,
                storage_options=self.lance_options,
                serialized_manifest=message,
                session=self.session,
            )
            # Lance decodes the schema lazily, and panics if it is damaged: force it here, inside the translation.
            assert dataset.schema is not None
        except foreign() as error:
            raise CorruptionError(
                f"table {location} has no readable version {version}: {error}",
                hint=verify_hint("lists the affected commits"),
                location=location,
                version=version,
            ) from error
        if self.guard is not None:
            self.guard.after_open(location, dataset)
        return dataset

    def remember(self, location: str, dataset: lance.LanceDataset) -> lance.LanceDataset:
        """Cache an open version, such as one that a commit just returned."""
        if not dataset.session().is_same_as(self.session):  # type: ignore[attr-defined] # undeclared
            # The commit that creates a table opens a session with the limits of Lance, gigabytes. Every later version
            # of the table would share it.
            dataset = self._reopened(location, dataset)
        self._open.put((location, dataset.version), dataset)
        with self._versions_lock:
            versions = self._versions.get(location)
            if versions is None:
                self._versions.put(location, versions := OrderedDict())
            versions[dataset.version] = None
            oldest = versions.popitem(last=False)[0] if len(versions) > OPEN_VERSIONS_MAX else None
        if oldest is not None:
            self._open.drop((location, oldest))
        return dataset

    def manifest_writer(self, location: str, version: int) -> lance.LanceDataset:
        """A handle for writing data files of a manifest, at this version or an older one: only its location matters.

        Opening every version that this process has just published would cost as much as writing its rows.
        """
        known = self._manifest_writers.get(location)
        if known is None:
            known = self.open(location, version)
            self._manifest_writers.put(location, known)
        return known

    def beside(self, location: str) -> Beside:
        """The scratch directory in which this process commits versions of a local manifest."""
        with self._besides_lock:
            known = self._besides.get(location)
            if known is None:
                from omnigraph.storage.objects.beside import Beside

                # One that is dropped while a commit uses it removes its directory when the commit ends.
                self._besides.put(location, known := Beside(self.root, location))
            return known

    @property
    def traffic(self) -> Traffic:
        """Requests that did not go through Lance since the store was opened, of small files of a bucket."""
        return Traffic() if self._outbox is None else self._outbox.traffic

    @property
    def outbox(self) -> Outbox | None:
        """The scratch directory for small files of a bucket; None on a local disk."""
        if self.root.is_local:
            return None
        with self._outbox_lock:
            if self._outbox is None:
                from omnigraph.storage.outbox.outbox import Outbox

                try:
                    self._outbox = Outbox(self.objects)
                except OSError as error:
                    raise StorageError(
                        f"there is no temporary directory for the files of a commit: {error}",
                        hint="set TMPDIR to a directory that this process can write",
                    ) from error
            return self._outbox

    @property
    def outbox_to_read(self) -> Outbox | None:
        """The same for readers, who do without it on a machine that has no temporary directory."""
        with suppress(StorageError):
            return self.outbox
        return None

    def _message(self, location: str, version: int) -> bytes | None:
        if self.root.is_local:
            return None
        content = self.objects.read(manifest_file(location, version))
        if content is None:
            raise FileNotFoundError(f"{manifest_file(location, version)} is missing")
        from omnigraph.storage.outbox.manifest_bytes import manifest_message

        return manifest_message(content)

    def read_file(self, path: str) -> bytes | None:
        """The content of a file that never changes, or None if there is none."""
        content = None if self._outbox is None else self._outbox.content(path)
        return self.objects.read(path) if content is None else content

    def remember_twin(self, location: str, twin: lance.LanceDataset) -> lance.LanceDataset:
        """Cache a version that the outbox has made, opened without a request."""
        return self.remember(location, self._reopened(location, twin))

    def _reopened(
        self, location: str, dataset: lance.LanceDataset, block_size: int | None = None
    ) -> lance.LanceDataset:
        """An open version in the session of this store, opened without a request."""
        return lance.LanceDataset(
            self.root.table_uri(location),
            dataset.version,
            block_size=block_size,
            storage_options=self.lance_options,
            serialized_manifest=dataset._ds.serialized_manifest(),
            session=self.session,
        )

    def opened(self) -> list[lance.LanceDataset]:
        """The open tables."""
        return [*self._open.values(), *self._taken.values()]

    def open_latest(self, location: str) -> lance.LanceDataset | None:
        """The newest linear version of a table, or None if there is no table. Only manifests have one."""
        try:
            return lance.dataset(
                self.root.table_uri(location),
                storage_options=self.lance_options,
                session=self.session,
                block_size=MANIFEST_BLOCK_BYTES,
            )
        except ValueError as error:
            # Lance raises ValueError for a missing and for a damaged dataset alike. A killed writer may have left a
            # partial manifest under a temporary name, which does not make a dataset.
            if not any(path.endswith(".manifest") for path, _ in self.objects.list(f"{location}/_versions")):
                return None
            raise CorruptionError(f"{location} cannot be opened: {error}", location=location) from error
        except foreign() as error:
            raise StorageError(f"{location} cannot be opened: {error}", location=location) from error

    @property
    def lance_options(self) -> dict[str, str] | None:
        return backend_of(self.root).lance_options(self.options)
