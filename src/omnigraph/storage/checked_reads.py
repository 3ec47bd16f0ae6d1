"""Verifying files against recorded checksums, the first time a process opens a table version.

Lance files carry no checksum, so a flipped bit in a data file is read as another value. With ``OMNIGRAPH_CHECK_READS``
every file of a version (manifest, data, deletions, blobs, indexes) whose checksum a commit has recorded is digested
once per process. That costs one read of all these files. Only local graphs have checksums.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping

import lance

from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import FileRecord
from omnigraph.errors import CorruptionError
from omnigraph.storage.files import SegmentFiles, dataset_files
from omnigraph.storage.objects.durability import mismatch
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.tables.store import Store

VARIABLE = "OMNIGRAPH_CHECK_READS"

Records = Callable[[], Iterable[FileRecord]]
"""Records that are read on first use, such as those of the commit log."""


def wants_checks(environment: Mapping[str, str] = os.environ) -> bool:
    """The setting of the environment: any value except an empty one and 0 enables the checks."""
    return environment.get(VARIABLE, "") not in ("", "0")


class CheckedReads:
    """The read guard of one store: the records by path, and the files that were verified."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: dict[str, FileRecord] = {}
        self._later: dict[Hashable, Records | None] = {}
        self._checked: set[str] = set()
        self._lock = threading.RLock()

    def know(self, records: Iterable[FileRecord]) -> None:
        """Add records of commits."""
        with self._lock:
            self._records.update((record.path, record) for record in records)

    def know_later(self, key: Hashable, records: Records) -> None:
        """Add a source of records that is read only when a file has no known record."""
        with self._lock:
            self._later.setdefault(key, records)

    def before_open(self, location: str, version: int) -> None:
        """Check the manifest of a version, which Lance is about to read."""
        self._check(location, [manifest_file(location, version)])

    def after_open(self, location: str, dataset: lance.LanceDataset) -> None:
        """Check every other file of a version."""
        self._check(location, dataset_files(self._store, location, dataset, SegmentFiles(self._store)))

    def _check(self, location: str, paths: Iterable[str]) -> None:
        # Manifests of branches and the commit log carry checksums in their rows.
        if not location.startswith(("nodes/", "edges/")):
            return
        for path in paths:
            record = None if path in self._checked else self._record(path)
            if record is None:
                continue
            what = mismatch(self._store.root, record)
            if what is not None:
                raise CorruptionError(f"{path} {what}", hint=verify_hint("lists the affected commits"), path=path)
            self._checked.add(path)

    def _record(self, path: str) -> FileRecord | None:
        with self._lock:
            while path not in self._records:
                key = next((key for key, records in self._later.items() if records is not None), None)
                if key is None:
                    return None
                records = self._later[key]
                assert records is not None
                self.know(records())
                self._later[key] = None
            return self._records[path]
