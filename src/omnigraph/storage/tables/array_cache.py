"""Derived arrays on local disk: memory-mapped, shared by processes, bounded, and safe to delete at any time.

An entry is a directory that appears atomically, by a rename. Its key names its inputs, so an entry is never stale, only
unused; when the directory exceeds its bound, the least recently used entries are evicted. Failures are no errors: an
entry that cannot be read is derived again, one that cannot be written stays in memory.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.core.classes.dataclass import dataclass

Array = npt.NDArray[Any]

BYTES_MAX = 4 * 1024**3
"""Default bound of one graph's directory; ``OMNIGRAPH_CACHE_BYTES`` sets another."""

_ABOUT = "about.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """One derived value: its description and its directory."""

    about: Mapping[str, Any]
    path: str

    def array(self, name: str) -> Array | None:
        """An array of the entry, memory-mapped; None if it is missing or damaged."""
        try:
            loaded: Array = np.load(os.path.join(self.path, f"{name}.npy"), mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        # A view of the plain class: every slice of a ``memmap`` costs a call of Python.
        return np.asarray(loaded)

    def add(self, arrays: Mapping[str, Array]) -> None:
        """Add arrays to the entry, if it can be written."""
        with suppress(OSError):
            for name, array in arrays.items():
                _write(self.path, name, array)


class ArrayCache:
    """Entries by group and key below one directory; without a directory the cache is off."""

    def __init__(self, directory: str | None, bytes_max: int | None = None) -> None:
        self._directory = directory
        self._bytes_max = bytes_max or int(os.environ.get("OMNIGRAPH_CACHE_BYTES", BYTES_MAX))

    def entries(self, group: str) -> list[Entry]:
        """The entries of a group, the most recently used first."""
        if self._directory is None:
            return []
        found: list[tuple[float, Entry]] = []
        for path in _directories(os.path.join(self._directory, group)):
            with suppress(OSError, ValueError):
                about = os.path.join(path, _ABOUT)
                with open(about, encoding="utf-8") as file:
                    found.append((os.path.getmtime(about), Entry(json.load(file), path)))
        return [entry for _, entry in sorted(found, key=lambda pair: -pair[0])]

    def entry(self, group: str, key: str) -> Entry | None:
        """The entry of a key, if it exists."""
        if self._directory is None:
            return None
        path = os.path.join(self._directory, group, key)
        with suppress(OSError, ValueError), open(os.path.join(path, _ABOUT), encoding="utf-8") as file:
            return Entry(json.load(file), path)
        return None

    def touch(self, entry: Entry) -> None:
        """Mark an entry as used."""
        with suppress(OSError):
            os.utime(os.path.join(entry.path, _ABOUT))

    def save(self, group: str, key: str, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> Entry | None:
        """Write an entry; None if it cannot be kept."""
        if self._directory is None or sum(array.nbytes for array in arrays.values()) > self._bytes_max:
            return None
        path = os.path.join(self._directory, group, key)
        fresh = f"{path}.{uuid.uuid4().hex}"
        try:
            os.makedirs(fresh)
            for name, array in arrays.items():
                _write(fresh, name, array)
            with open(os.path.join(fresh, _ABOUT), "w", encoding="utf-8") as file:
                json.dump(about, file)
            os.rename(fresh, path)
        except OSError:
            import shutil

            shutil.rmtree(fresh, ignore_errors=True)
            if not os.path.exists(os.path.join(path, _ABOUT)):
                return None
        self._shrink(keep=path)
        return Entry(about, path)

    def _shrink(self, keep: str) -> None:
        """Remove entries, the least recently used first, until the rest fits. ``keep`` was just made."""
        assert self._directory is not None
        sized: list[tuple[float, int, str]] = []
        for group in _directories(self._directory):
            for path in _directories(group):
                with suppress(OSError):
                    with os.scandir(path) as items:
                        size = sum(item.stat().st_size for item in items)
                    sized.append((os.path.getmtime(path if path == keep else _age_file(path)), size, path))
        total = sum(size for _, size, _ in sized)
        for _, size, path in sorted(sized):
            if total <= self._bytes_max:
                return
            if path != keep:
                import shutil

                shutil.rmtree(path, ignore_errors=True)
                total -= size


def _age_file(path: str) -> str:
    """The file whose time is the age of an entry: its description, or the directory if a crash left it unfinished."""
    about = os.path.join(path, _ABOUT)
    return about if os.path.exists(about) else path


def _directories(path: str) -> list[str]:
    try:
        with os.scandir(path) as items:
            return [item.path for item in items if item.is_dir()]
    except OSError:
        return []


def _write(directory: str, name: str, array: Array) -> None:
    fresh = os.path.join(directory, f".{name}.{uuid.uuid4().hex}")
    try:
        with open(fresh, "wb") as file:
            np.save(file, array, allow_pickle=False)
        os.rename(fresh, os.path.join(directory, f"{name}.npy"))
    except OSError:
        with suppress(OSError):
            os.remove(fresh)
        raise


def cache_directory(root_path: str | None, graph_id: str) -> str | None:
    """The directory of a graph's derived arrays: below a local root, else in the user's cache directory."""
    chosen = os.environ.get("OMNIGRAPH_CACHE_DIR")
    if chosen is not None:
        return os.path.join(chosen, graph_id) if chosen else None
    if root_path is not None:
        return os.path.join(root_path, "cache")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "omnigraph", graph_id)
