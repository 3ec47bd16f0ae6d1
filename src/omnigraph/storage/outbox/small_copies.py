"""Copies of small table versions of a bucket on this machine, for reading.

Lance asks the store for every column of every fragment, and for deletion files, when it comes to them: each column that
a query turns to is another round of requests, and a deletion file is fetched by every thread that wants it. A small
version is therefore fetched at the first read of its data: all files at the same time, each once. Versions share
files, so the next version costs only its new files, and none if this process has written them.

A copy is a directory of links, which lives as long as a handle of it: files that the outbox drops stay readable for
those who read them. Nothing writes through a copy. Versions with blobs, which have more files, must not be copied.
"""

from __future__ import annotations

import shutil
import threading
import uuid
import weakref
from concurrent.futures import ThreadPoolExecutor

from lance import LanceDataset

from omnigraph.core.lru import Lru
from omnigraph.errors import StorageError
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.outbox.outbox import Outbox

COPIED_BYTES_MAX = 1024 * 1024
"""Bytes of a version that is copied."""

COPIED_FILES_MAX = 64
"""Files of a version that is copied, which are fetched at the same time."""

COPIES_MAX = 64
"""Copies kept."""


class Copies:
    """The copied versions of one store."""

    def __init__(self) -> None:
        self._handles: Lru[tuple[str, int], LanceDataset] = Lru(COPIES_MAX)
        self._locks: Lru[tuple[str, int], threading.Lock] = Lru(COPIES_MAX)
        self._lock = threading.Lock()

    def open(self, outbox: Outbox, location: str, stored: LanceDataset) -> LanceDataset:
        """A handle for reading the same rows: of a copy, or the given one if the version is not small."""
        key = (location, stored.version)
        with self._lock:
            lock = self._locks.get(key) or threading.Lock()
            self._locks.put(key, lock)
        with lock:
            known = self._handles.get(key)
            if known is None:
                copied = _copied(outbox, location, stored)
                known = stored if copied is None else copied
                self._handles.put(key, known)
            return known


def _copied(outbox: Outbox, location: str, stored: LanceDataset) -> LanceDataset | None:
    directory = f"copies/{uuid.uuid4().hex}"
    try:
        with translated("a version cannot be copied", location=location):
            paths = _small_files(stored)
            if paths is None:
                return None
            with ThreadPoolExecutor(len(paths)) as pool:
                list(pool.map(lambda path: outbox.link(f"{location}/{path}", f"{directory}/{path}"), paths))
    except StorageError:
        # Whatever is wrong, Lance reports it when it reads the version itself.
        shutil.rmtree(outbox.local(directory), ignore_errors=True)
        return None
    copy = outbox.opened(directory, stored)
    weakref.finalize(copy, shutil.rmtree, outbox.local(directory), ignore_errors=True)
    return copy


def _small_files(stored: LanceDataset) -> list[str] | None:
    """The files of a version, if it is small and consists of data files and deletion files alone."""
    fragments = [fragment.metadata for fragment in stored.get_fragments()]
    files = [file for fragment in fragments for file in fragment.files]
    deletions = [
        fragment.deletion_file.path(fragment.id) for fragment in fragments if fragment.deletion_file is not None
    ]
    sizes = [file.file_size_bytes for file in files if file.file_size_bytes is not None]
    if not files or len(sizes) < len(files) or sum(sizes) > COPIED_BYTES_MAX:
        return None
    if len(files) + len(deletions) > COPIED_FILES_MAX:
        return None
    if stored.describe_indices():
        return None
    return [*(f"data/{file.path}" for file in files), *deletions]
