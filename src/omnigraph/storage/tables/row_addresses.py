"""Row addresses by fragment. An address holds a fragment number in its high half and an offset in its low half."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

OFFSET_BITS = 32
_OFFSET_MASK = pa.scalar((1 << OFFSET_BITS) - 1, pa.uint64())
_OFFSET_BITS = pa.scalar(OFFSET_BITS, pa.uint64())

FragmentRows = tuple[int, list[int]]
"""A fragment and offsets in it."""


def by_fragment(addresses: Iterable[int]) -> Iterator[FragmentRows]:
    """Addresses grouped by fragment."""
    ordered = sorted(addresses)
    return sorted_by_fragment([pa.array(ordered, pa.uint64())] if ordered else [])


def sorted_by_fragment(arrays: Iterable[pa.Array]) -> Iterator[FragmentRows]:
    """Ascending addresses grouped by fragment. Holds the offsets of one fragment in memory.

    Addresses (0, 4), (2, 1), (2, 5) and, in the next array, (2, 6), (9, 0) give (0, [4]), (2, [1, 5, 6]), (9, [0]): a
    fragment may span arrays, so it is yielded when the next one begins.
    """
    current, offsets = -1, list[int]()
    for array in arrays:
        fragments = pc.run_end_encode(pc.shift_right(array, _OFFSET_BITS), run_end_type=pa.int64())
        low = pc.bit_wise_and(array, _OFFSET_MASK)
        start = 0
        for fragment, end in zip(fragments.values.to_pylist(), fragments.run_ends.to_pylist(), strict=True):
            if fragment != current:
                if offsets:
                    yield current, offsets
                current, offsets = fragment, []
            offsets.extend(low.slice(start, end - start).to_pylist())
            start = end
    if offsets:
        yield current, offsets
