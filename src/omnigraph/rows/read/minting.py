"""Minting of ids for rows without one, a whole column per call: one call per id costs as much as reading the row."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

MintIds = Callable[[int], str]
"""Returns ``count`` ascending ids of equal length, concatenated."""


def given_or_minted(given: pa.Array, mint_ids: MintIds) -> pa.Array:
    """The given ids, with a new id for every null."""
    if not given.null_count:
        return given
    minted = _column(mint_ids(given.null_count), given.null_count)
    return minted if len(minted) == len(given) else pc.replace_with_mask(given, given.is_null(), minted)


def _column(ids: str, count: int) -> pa.Array:
    """Concatenated texts of equal length as a column."""
    data = ids.encode()
    buffers = [None, pa.py_buffer(data)]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(len(data) // count), count, buffers).cast(pa.utf8())
