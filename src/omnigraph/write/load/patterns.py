"""Patterns of omitted cells, numbered, so that the key database holds one small number per row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.rows.omissions import Cells


@dataclass
class Patterns:
    """The patterns that occur in the rows of one type. Number 0 omits nothing."""

    columns: Sequence[str]
    _numbers: dict[bytes, int] = field(default_factory=dict)
    _cells: list[Cells] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._number(np.zeros(len(self.columns), np.bool_))

    def numbers(self, cells: Cells | None, rows: int) -> pa.Array:
        """The number of every row's pattern."""
        if cells is None or not rows:
            return pa.repeat(pa.scalar(0, pa.int32()), rows)
        if (cells == cells[0]).all():
            return pa.repeat(pa.scalar(self._number(cells[0]), pa.int32()), rows)
        # Millions of rows have few patterns: packed into bytes they are hashed, where comparing cells would sort them.
        packed = np.packbits(cells, axis=1)
        form = pa.binary(packed.shape[1])
        texts = pa.FixedSizeBinaryArray.from_buffers(form, len(packed), [None, pa.py_buffer(packed)])
        encoded = texts.dictionary_encode()
        known = [self._number(_unpacked(pattern, cells.shape[1])) for pattern in encoded.dictionary.to_pylist()]
        return pa.array(known, pa.int32()).take(encoded.indices)

    def cells(self, numbers: npt.NDArray[np.int32]) -> Cells:
        """The omitted cells of rows, given the numbers of their patterns."""
        return np.stack(self._cells)[numbers]

    def omitting(self, column: str) -> list[int]:
        """The numbers of the patterns that omit a column."""
        place = self.columns.index(column)
        return [number for number, cells in enumerate(self._cells) if cells[place]]

    def partial(self) -> list[int]:
        """The numbers of the patterns that omit more than the id."""
        return [number for number, cells in enumerate(self._cells) if cells[1:].any()]

    def common(self, numbers: Iterable[int]) -> int:
        """The number of the pattern that omits what all of these omit."""
        return self._number(np.logical_and.reduce([self._cells[number] for number in numbers]))

    def _number(self, cells: Cells) -> int:
        key = np.packbits(cells).tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._cells)
            self._cells.append(np.array(cells))
        return self._numbers[key]


def _unpacked(pattern: bytes, columns: int) -> Cells:
    return np.unpackbits(np.frombuffer(pattern, np.uint8), count=columns).astype(np.bool_)


def sql_list(numbers: Iterable[int]) -> str:
    """Numbers for the right side of ``IN``; -1 stands for none."""
    return f"({', '.join(map(str, numbers)) or '-1'})"
