"""Scratch files of an analysis: arrays by name and block, in a directory that driver and executors share.

Content depends on nothing but the name, so an attempt that is repeated writes the same again, and no file is ever read
before it is complete. Everything is deleted at the end; ``cleanup`` deletes what a killed driver leaves.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from omnigraph.errors import NotFoundError
from omnigraph.exec.analytics.vectors import Array
from omnigraph.storage.objects.backends import open_objects, parse_root
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.protocol import Objects

DELETED_TOGETHER = 1_000
"""Files deleted in one request."""


@dataclass(frozen=True)
class Scratch:
    """A directory. Pickled to the executors."""

    root: str
    options: Mapping[str, str]

    def write(self, name: str, block: int, *arrays: Array) -> None:
        """Create or replace the arrays of a block."""
        packed = io.BytesIO()
        np.savez(packed, *arrays)
        self._objects.write_chunks(_path(name, block), [packed.getvalue()])

    def read(self, name: str, block: int) -> list[Array]:
        """The arrays of a block, in the order in which they were written."""
        content = self._objects.read(_path(name, block))
        if content is None:
            raise NotFoundError(
                f"the scratch file {_path(name, block)} of an analysis is missing below {self.root}",
                hint="do not delete this directory while an analysis runs; run it again",
            )
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return [file[f"arr_{place}"] for place in range(len(file.files))]

    def delete(self, name: str, blocks: int) -> None:
        """Delete an array, if it is there."""
        self._delete([_path(name, block) for block in range(blocks)])

    def delete_everything(self, but: Collection[str] = ()) -> None:
        """Delete the directory, except the arrays of some names."""
        self._delete([file.path for file in self._objects.walk("") if file.path.partition("/")[0] not in but])
        self._objects.prune("")

    def _delete(self, paths: Sequence[str]) -> None:
        for start in range(0, len(paths), DELETED_TOGETHER):
            self._objects.delete_all(paths[start : start + DELETED_TOGETHER])

    @property
    def _objects(self) -> Objects:
        return _opened(self.root, tuple(sorted(self.options.items())))


@lru_cache(maxsize=4)
def _opened(root: str, options: tuple[tuple[str, str], ...]) -> Objects:
    """One client per process: opening one costs connections."""
    return open_objects(parse_root(root), dict(options), Durability.OS)


def _path(name: str, block: int) -> str:
    return f"{name}/{block:06d}.npz"
