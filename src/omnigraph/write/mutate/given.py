"""Rows that statements run for: those of a pattern, or the records of a list. A statement alone has one empty row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.exec.evaluate import ITEM
from omnigraph.exec.frame import Frame
from omnigraph.query import expressions as ir
from omnigraph.query.ir import ForRecords
from omnigraph.query.variables import walk
from omnigraph.rows.arrow_types import column_type


@dataclass(frozen=True, slots=True)
class Given:
    """Values by name, one per row; expressions read them as items. The rows of a pattern have no order."""

    length: int = 1
    items: Mapping[str, pa.Array] = field(default_factory=dict)
    is_pattern: bool = False

    @classmethod
    def of_records(cls, loop: ForRecords) -> Given:
        """The fields of the records of a list, by ``variable.field``."""
        columns = zip(*loop.records, strict=True) if loop.records else [() for _ in loop.fields]
        items = {
            f"{loop.variable}.{item.name}": pa.array(list(column), column_type(item.type))
            for item, column in zip(loop.fields, columns, strict=True)
        }
        return cls(len(loop.records), items)

    def frame(self) -> Frame:
        """The rows as a frame without entities."""
        return self.beside(Frame(self.length, {}), range(self.length))

    def beside(self, frame: Frame, places: Sequence[int]) -> Frame:
        """A frame with the given values at some places, one place per row of the frame."""
        rows = pa.array(np.asarray(places, np.int64))
        for name, column in self.items.items():
            frame = frame.with_column(f"{ITEM}{name}", column.take(rows))
        return frame

    def reads(self, expression: ir.Expr) -> bool:
        """True if an expression reads one of the values."""
        return any(isinstance(part, ir.Item) and part.variable in self.items for part in walk(expression))


ALONE = Given()
