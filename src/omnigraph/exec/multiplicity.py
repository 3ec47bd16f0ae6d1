"""Weights of rows: how many equal rows one row stands for. Whole numbers, exact or refused."""

from __future__ import annotations

import numpy as np

from omnigraph.errors import LimitExceeded
from omnigraph.exec.tables import Rows

EXACT_MAX = 2**53
"""Up to here a float holds every whole number, and numpy adds floats by group much faster than integers."""

ROWS_MAX = 2**63 - 1


def total(weights: Rows | None, rows: int) -> int:
    """The number of rows that the rows stand for."""
    if weights is None:
        return rows
    # As floats first: the sum of integers would wrap around silently.
    if float(weights.sum(dtype=np.float64)) < ROWS_MAX // 2:
        return int(weights.sum())
    return sum(weights.tolist())


def sums(groups: Rows, weights: Rows | None, count: int) -> Rows:
    """The weights of every group, added up."""
    if weights is None:
        return np.bincount(groups, minlength=count).astype(np.int64, copy=False)
    everything = total(weights, len(groups))
    if everything < EXACT_MAX:
        return np.bincount(groups, weights=weights, minlength=count).astype(np.int64)
    checked(everything)
    added = np.zeros(count, np.int64)
    np.add.at(added, groups, weights)
    return added


def product(left: Rows | None, right: Rows | None) -> Rows | None:
    """Weight by weight."""
    if left is None or right is None:
        return right if left is None else left
    checked(int(left.max(initial=0)) * int(right.max(initial=0)))
    return left * right


def checked(rows: int) -> None:
    """Refuse what no 64-bit integer can count."""
    if rows > ROWS_MAX:
        raise LimitExceeded(
            f"the pattern has up to {rows:,} matches, more than a 64-bit integer counts",
            hint="narrow the pattern",
            resource="rows",
            limit=ROWS_MAX,
            actual=rows,
        )
