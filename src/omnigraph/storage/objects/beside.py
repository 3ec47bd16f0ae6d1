"""Staging area for manifest commits on a local disk: a version is durable before its name exists.

Lance links ``_versions/N.manifest`` before the content is on disk: a power cut in between leaves a newest version of
zero bytes. Therefore Lance commits into a scratch directory that holds nothing but a hard link to the current version;
the new manifest is synced there and then linked into the real ``_versions``. That link is the compare-and-swap: it
fails if the version exists. The data files are already in the real dataset; a commit does not read them.

A process keeps one scratch directory per manifest, and the handle of the version that it committed last, so the next
commit has nothing to link and nothing to open. The directory is removed when the process ends; cleanup removes those of
killed processes, and a process whose directory was removed creates another one.
"""

from __future__ import annotations

import os
import shutil
import threading
import uuid
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import lance
from lance import LanceDataset, Transaction

from omnigraph.storage.objects.failures import foreign, translated
from omnigraph.storage.objects.uri import Root
from omnigraph.storage.objects.version_names import manifest_file

DIRECTORY = "_beside"
"""Scratch directories of processes, below the manifest."""

SESSION_BYTES_MAX = 256 * 1024
"""Cache of Lance for the handle that commits. It commits on the manifest in its hand, and reads nothing else."""


class Beside:
    """The scratch directory of this process for one manifest."""

    def __init__(self, root: Root, location: str) -> None:
        self._root = root
        self._location = location
        self._lock = threading.Lock()
        self._base: LanceDataset | None = None
        self._scratch = self._new_scratch()
        self.session: Any = None
        """The caches of the handle of the version that was committed last."""

    def _new_scratch(self) -> str:
        scratch = f"{self._location}/{DIRECTORY}/{uuid.uuid4().hex}"
        weakref.finalize(self, shutil.rmtree, self._root.local(scratch), ignore_errors=True)
        return scratch

    @contextmanager
    def committed(self, transaction: Transaction) -> Iterator[str]:
        """Commit on top of the version that the transaction has read; yields the path of the new manifest.

        The block links the manifest into the dataset. If it fails, the commit is discarded.
        """
        with self._lock:
            with translated("the manifest could not be staged", location=self._location):
                made = self._commit(transaction)
            try:
                yield manifest_file(self._scratch, made.version)
            except BaseException:
                self._clear()
                raise
            # The version is published: from here on nothing may raise.
            self._base = made
            with suppress(OSError):
                self._remove_all_but(made.version)

    def _commit(self, transaction: Transaction) -> LanceDataset:
        if self._base is not None and self._base.version == transaction.read_version:
            # Cleanup may have removed the directory of a process that was idle for long: then commit in a new one.
            with suppress(*foreign()):
                return LanceDataset.commit(self._base, transaction, max_retries=0)
        base = self._opened(transaction.read_version)
        return LanceDataset.commit(base, transaction, max_retries=0)

    def _opened(self, version: int) -> LanceDataset:
        """The current version, alone in the scratch directory, with a new handle that has cached no earlier attempt."""
        self._clear()
        target = self._root.local(manifest_file(self._scratch, version))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.link(self._root.local(manifest_file(self._location, version)), target)
        # A session of its own: that of the graph may know an earlier attempt at the next version. Every commit adds to
        # the session of its handle, which without a limit would grow to the default of Lance, a gigabyte.
        self.session = lance.Session(0, SESSION_BYTES_MAX)  # type: ignore[attr-defined] # exported, but not declared so
        return lance.dataset(self._root.table_uri(self._scratch), version=version, session=self.session)

    def _clear(self) -> None:
        self._base = None
        try:
            self._remove_all_but(None)
        except OSError:
            # Lance would take a version that stays for the newest one: use another directory.
            self._scratch = self._new_scratch()

    def _remove_all_but(self, version: int | None) -> None:
        """Remove the files of a commit. Directories stay: removing them takes longer than the commit."""
        kept = None if version is None else os.path.basename(manifest_file(self._scratch, version))
        for directory in ("_versions", "_transactions"):
            with suppress(FileNotFoundError), os.scandir(self._root.local(f"{self._scratch}/{directory}")) as entries:
                for entry in entries:
                    if entry.name != kept:
                        os.unlink(entry.path)
