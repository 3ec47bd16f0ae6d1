"""Ids for rows that were given none: a whole column at once, for one at a time costs as much as reading the row."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

MintIds = Callable[[int], str]
"""Gives as many ids as asked for: of one length, in ascending order, written one after the other."""


def given_or_minted(given: pa.Array, mint_ids: MintIds) -> pa.Array:
    """The ids of rows: those that were given, and a new one for every null."""
    if not given.null_count:
        return given
    minted = _column(mint_ids(given.null_count), given.null_count)
    return minted if len(minted) == len(given) else pc.replace_with_mask(given, given.is_null(), minted)


def _column(ids: str, count: int) -> pa.Array:
    """Texts of one length, written one after the other, as a column."""
    data = ids.encode()
    buffers = [None, pa.py_buffer(data)]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(len(data) // count), count, buffers).cast(pa.utf8())
