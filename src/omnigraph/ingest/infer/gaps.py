"""Integers of a pandas frame that became floats: a column of NumPy integers cannot hold a missing value."""

from __future__ import annotations

from typing import Any, Final

_EXACT_MAX: Final = 2**53
"""Above this size, floats skip integers: the column may have lost digits, and stays one of floats."""


def gapped_columns(frame: Any) -> frozenset[str]:
    """Float columns of a pandas frame with missing values whose other values are all whole."""
    if not type(frame).__module__.startswith("pandas.") or not hasattr(frame, "dtypes"):
        return frozenset()
    names = list(map(str, frame.columns))
    # By position: two columns of a frame may have one name.
    return frozenset(
        name
        for position, name in enumerate(names)
        if str(frame.dtypes.iloc[position]) == "float64" and _is_gapped(frame.iloc[:, position])
    )


def _is_gapped(column: Any) -> bool:
    values = column.dropna()
    if not 0 < len(values) < len(column):
        return False
    return bool(((values % 1 == 0) & (values.abs() <= _EXACT_MAX)).all())
