"""Filling the target of a copy: the immutable files that it lacks are copied and made durable."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from omnigraph.core.tables import FileRecord
from omnigraph.storage.objects.durability import sync_directories, sync_files
from omnigraph.storage.objects.protocol import LEFTOVER
from omnigraph.storage.tables.store import Store
from omnigraph.storage.transfer import copy_files

Progress = Callable[[int], None]
"""Callback with the number of files copied so far."""


@dataclass
class Copied:
    """Files that a run copied, or found in the target."""

    files: int = 0
    bytes: int = 0
    kept: int = 0


def fill(
    source: Store, target: Store, files: Sequence[FileRecord], copied: Copied, progress: Progress | None
) -> Collection[str]:
    """Copy the files that the target lacks or has with another size; returns the paths that it had before."""
    present = dict(target.objects.list(""))
    # Of a run that was killed. If another run is writing one, that run fails and can be repeated.
    target.objects.delete_all([path for path in present if LEFTOVER.fullmatch(path)])
    missing = [file for file in files if present.get(file.path) != file.size]
    before = copied.files

    def count(number: int) -> None:
        copied.files = before + number
        if progress is not None:
            progress(copied.files)

    copy_files(source.objects, target.objects, missing, target.tuning.copied_files_parallel, count)
    copied.bytes += sum(file.size for file in missing)
    copied.kept = len(files) - len(missing)
    # Present files too: a run that was killed may not have synced them.
    paths = [file.path for file in files]
    sync_files(target.root, paths, target.durability)
    sync_directories(target.root, sorted({os.path.dirname(path) for path in paths}), target.durability)
    return present.keys()
