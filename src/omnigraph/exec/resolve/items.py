"""The values of one property of many records as items: a list has several, a scalar one, and null none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.resolve.rules import Normalize
from omnigraph.exec.resolve.texts import normalized
from omnigraph.rows.keys import key_texts
from omnigraph.schema.types import PropertyType

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Items:
    """Items without nulls; those of record n are ``values[offsets[n]:offsets[n + 1]]``."""

    offsets: Positions
    values: pa.Array

    @property
    def counts(self) -> Positions:
        """The number of items of every record."""
        return np.diff(self.offsets)

    @classmethod
    def of(cls, column: pa.Array, *, is_list: bool) -> Items:
        """The items of a column."""
        counts = pc.fill_null(pc.list_value_length(column), 0) if is_list else pa.array(np.ones(len(column), np.int64))
        values = column.flatten() if is_list else column
        return cls(_offsets(counts.to_numpy(zero_copy_only=False).astype(np.int64)), values).without_nulls()

    def without_nulls(self) -> Items:
        """Only the items that have a value."""
        if not self.values.null_count:
            return self
        is_kept = self.values.is_valid().to_numpy(zero_copy_only=False)
        kept_before = np.concatenate(([0], np.cumsum(is_kept)))
        return Items(kept_before[self.offsets], self.values.drop_null())

    def replaced(self, values: pa.Array) -> Items:
        """The same items with other values; null drops an item."""
        return Items(self.offsets, values).without_nulls()

    def owners(self) -> Positions:
        """The record of every item."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)


def text_items(column: pa.Array, type_: PropertyType, form: Normalize) -> Items:
    """The items of a column as texts: canonical, and those of texts in a normal form."""
    items = Items.of(column, is_list=type_.is_list)
    texts = key_texts(items.values, type_.item)
    return items.replaced(normalized(texts, form) if type_.item.is_text else texts)


def _offsets(counts: Positions) -> Positions:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))


def ramps(counts: Positions) -> tuple[Positions, Positions]:
    """Numbers of ranges and numbers within them: counts 2, 0, 3 give 0 0 2 2 2 and 0 1 0 1 2."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - _offsets(counts)[owner]
