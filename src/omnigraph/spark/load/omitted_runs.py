"""Omitted cells of the rows that a task wrote, small enough for the driver and the journal."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omnigraph.rows.omissions import Cells

Runs = tuple[Sequence[str], str]
"""Patterns as hexadecimal texts, and compressed runs of them, as the journal stores them."""


@dataclass(frozen=True, slots=True)
class OmittedRuns:
    """Runs of rows with one pattern. Rows of a frame omit the same columns, so they are one run."""

    patterns: tuple[str, ...]
    runs: bytes
    """Compressed pairs of a number of rows and the place of their pattern."""

    @classmethod
    def of(cls, cells: Cells) -> OmittedRuns:
        """The runs of some rows."""
        packed = np.packbits(cells, axis=1)
        ends = np.flatnonzero(np.r_[np.any(packed[1:] != packed[:-1], axis=1), True]) + 1
        distinct, numbers = np.unique(packed[ends - 1], axis=0, return_inverse=True)
        pairs = np.stack([np.diff(np.r_[0, ends]), numbers.reshape(-1)], axis=1).astype(np.int32)
        return cls(tuple(row.tobytes().hex() for row in distinct), zlib.compress(pairs.tobytes()))

    def cells(self, columns: int) -> Cells:
        """The cells of all rows."""
        pairs = np.frombuffer(zlib.decompress(self.runs), np.int32).reshape(-1, 2)
        packed = np.array([list(bytes.fromhex(text)) for text in self.patterns], np.uint8)
        known = np.unpackbits(packed, axis=1, count=columns).astype(np.bool_)
        return known[np.repeat(pairs[:, 1], pairs[:, 0])]

    def to_json(self) -> Runs:
        return list(self.patterns), base64.b64encode(self.runs).decode()

    @classmethod
    def from_json(cls, form: Runs) -> OmittedRuns:
        return cls(tuple(form[0]), base64.b64decode(form[1]))
