"""Vectors in scratch files, a block each."""

from __future__ import annotations

import tempfile
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.exec.analytics.vectors import Array
from omnigraph.spark.analytics.division import Division
from omnigraph.spark.analytics.scratch import Scratch


@dataclass(frozen=True)
class Stored:
    """A vector in scratch files. Pickled to the executors."""

    scratch: Scratch
    name: str
    division: Division

    def read(self, block: int) -> Array:
        (array,) = self.scratch.read(self.name, block)
        return array

    def write(self, block: int, array: Array) -> None:
        self.scratch.write(self.name, block, array)

    def delete(self) -> None:
        self.scratch.delete(self.name, self.division.blocks)


@dataclass
class Fate:
    """The fate of the files of a vector: they outlive it if a checkpoint names them."""

    is_kept: bool = False


class DividedVector:
    """A vector as the driver holds it: its files are deleted when nothing refers to it any more."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        self.fate = Fate()
        weakref.finalize(self, _delete_unless_kept, stored, self.fate).atexit = False

    def column(self, known: DividedVector | None = None) -> pa.Array:
        """The values as an Arrow array over a temporary file of this machine, which is mapped and not read."""
        validity = None if known is None else _mapped(known.stored, are_bits=True)
        values = _mapped(self.stored)
        kind = pa.from_numpy_dtype(self.stored.read(0).dtype)
        return pa.Array.from_buffers(kind, self.stored.division.nodes, [validity, values])


def _delete_unless_kept(stored: Stored, fate: Fate) -> None:
    if not fate.is_kept:
        stored.delete()


def _mapped(stored: Stored, *, are_bits: bool = False) -> pa.Buffer:
    """A vector as the content of a temporary file, mapped into memory. Truth values become bits."""
    with tempfile.NamedTemporaryFile(prefix="omnigraph-analysis-") as file:
        rest = np.zeros(0, bool)
        last = stored.division.blocks - 1
        for block in range(stored.division.blocks):
            array = stored.read(block)
            if are_bits:
                # The bits of one byte may come from two blocks.
                held = np.concatenate((rest, array))
                whole = len(held) if block == last else len(held) // 8 * 8
                array, rest = np.packbits(held[:whole], bitorder="little"), held[whole:]
            file.write(array.tobytes())
        file.flush()
        if not file.tell():
            return pa.py_buffer(b"")
        # The name of the file goes here; its content stays as long as it is mapped.
        mapped: Any = pa.memory_map(file.name)
        return mapped.read_buffer()
