"""Problems of a cast: a column that no cast reads, and values that do not fit."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Parts of a second by Arrow's units."""


class WrongColumn(Exception):
    """The Arrow type of the column cannot be cast to the property's type; the text names the expected one."""


class WrongValue(Exception):
    """At least one value does not fit; for a single-row column the text gives the reason."""


def expect(fits: bool, array: pa.Array, what: str) -> None:
    """Raise for a column of another type."""
    if not fits:
        raise WrongColumn(f"expected a column of {what}, got {array.type}")
