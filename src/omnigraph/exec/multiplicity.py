"""Multiplicity of rows: how many equal rows one row of a frame stands for.

Invariant: expanding every row as often as its multiplicity says gives the bag of rows that the query defines. A missing
array means that every row counts once. Counts are exact integers; a count above 64 bits raises instead of wrapping.

Example: five rows in three groups::

    groups        0  2  0  1  2
    multiplicity  1  3  2  1  4
    sums          3  1  7        group 0: 1 + 2, group 1: 1, group 2: 3 + 4
"""

from __future__ import annotations

import numpy as np

from omnigraph.errors import LimitExceeded
from omnigraph.exec.adjacency import Integers
from omnigraph.exec.tables import Rows

EXACT_MAX = 2**53
"""Floats represent every integer up to here, and numpy sums floats by group much faster than integers."""

ROWS_MAX = 2**63 - 1

TALLIED_ROWS = 262_144
"""Rows that are counted at a time."""

TALLIED_MAX = 65_536
"""Groups up to which rows are counted piece by piece: every piece adds up all groups."""


def total(multiplicity: Rows | None, rows: int) -> int:
    """The number of rows that a frame stands for."""
    if multiplicity is None:
        return rows
    # Estimate in floats first: an int64 sum wraps around silently. Half the range leaves room for rounding errors.
    if float(multiplicity.sum(dtype=np.float64)) < ROWS_MAX // 2:
        return int(multiplicity.sum())
    return sum(multiplicity.tolist())


def sums(groups: Rows, multiplicity: Rows | None, count: int) -> Rows:
    """The sum of multiplicities per group; see the example above."""
    if multiplicity is None:
        return tally(groups, count)
    everything = total(multiplicity, len(groups))
    if everything < EXACT_MAX:
        # bincount adds in floats: exact here, because no partial sum can exceed the total.
        return np.bincount(groups, weights=multiplicity, minlength=count).astype(np.int64)
    checked(everything)
    added = np.zeros(count, np.int64)
    np.add.at(added, groups, multiplicity)
    return added


def tally(groups: Integers, count: int) -> Rows:
    """The number of rows per group."""
    if groups.dtype == np.int64 or count > TALLIED_MAX:
        return np.bincount(groups, minlength=count).astype(np.int64, copy=False)
    # bincount widens its input to 64 bits: piece by piece that stays in the cache of the processor.
    counts = np.zeros(count, np.int64)
    for start in range(0, len(groups), TALLIED_ROWS):
        counts += np.bincount(groups[start : start + TALLIED_ROWS], minlength=count)
    return counts


def product(left: Rows | None, right: Rows | None) -> Rows | None:
    """The product row by row: matches on both sides combine freely."""
    if left is None or right is None:
        return right if left is None else left
    # The product of the largest values bounds every product, at the cost of two reductions instead of a wide multiply.
    checked(int(left.max(initial=0)) * int(right.max(initial=0)))
    return left * right


def checked(rows: int) -> None:
    """Raise if a count exceeds 64 bits."""
    if rows > ROWS_MAX:
        raise LimitExceeded(
            f"the pattern has up to {rows:,} matches, more than a 64-bit integer can count",
            hint="narrow the pattern",
            resource="rows",
            limit=ROWS_MAX,
            actual=rows,
        )
