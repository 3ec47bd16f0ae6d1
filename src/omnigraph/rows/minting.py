"""Ids for rows that were given none: a whole column at once, for one at a time costs as much as reading the row."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

MintIds = Callable[[int], list[str]]
"""Gives as many ids as asked for, in ascending order."""


def given_or_minted(given: pa.Array, mint_ids: MintIds) -> pa.Array:
    """The ids of rows: those that were given, and a new one for every null."""
    if not given.null_count:
        return given
    minted = pa.array(mint_ids(given.null_count), pa.utf8())
    return minted if len(minted) == len(given) else pc.replace_with_mask(given, given.is_null(), minted)
