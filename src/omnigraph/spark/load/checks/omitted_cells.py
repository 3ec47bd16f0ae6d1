"""Omitted cells of the rows of an input table, by address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omnigraph.rows.arrow_types import table_schema
from omnigraph.rows.omissions import Cells
from omnigraph.spark.load.input import InputTable, LoadInput
from omnigraph.spark.load.omitted_runs import OmittedRuns
from omnigraph.storage.tables.row_addresses import OFFSET_BITS


@dataclass
class OmittedCells:
    """Pickled to the executors. Holds the cells of one slice: rows mostly come slice after slice."""

    runs: Mapping[int, OmittedRuns]
    """By number of a slice with omitted cells."""
    origins: Mapping[int, tuple[int, int]]
    """By fragment: its slice, and the rows of the slice before it."""
    columns: int
    held: tuple[int, Cells] | None = None

    @classmethod
    def of(cls, whole: LoadInput, table: InputTable) -> OmittedCells:
        """The cells of one type of an input."""
        key = table.entity.table_key
        parts = ((number, part.tables[key].omitted) for number, part in enumerate(whole.slices) if key in part.tables)
        runs = {number: omitted for number, omitted in parts if omitted is not None}
        return cls(runs, table.origins, len(table_schema(table.entity)))

    def at(self, addresses: npt.NDArray[np.uint64]) -> Cells | None:
        """The cells of some rows; None if no slice has any."""
        if not self.runs:
            return None
        cells: Cells = np.zeros((len(addresses), self.columns), np.bool_)
        fragments = addresses >> np.uint64(OFFSET_BITS)
        for fragment in np.unique(fragments).tolist():
            number, before = self.origins[fragment]
            if number in self.runs:
                chosen = np.flatnonzero(fragments == fragment)
                offsets = (addresses[chosen] & np.uint64((1 << OFFSET_BITS) - 1)).astype(np.int64)
                cells[chosen] = self._slice(number)[before + offsets]
        return cells

    def _slice(self, number: int) -> Cells:
        if self.held is None or self.held[0] != number:
            self.held = number, self.runs[number].cells(self.columns)
        return self.held[1]
