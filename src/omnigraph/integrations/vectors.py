"""Vectors of length one, whose distance stands for their cosine."""

from __future__ import annotations

import math
from collections.abc import Sequence


def unit(vector: Sequence[float]) -> list[float]:
    """A vector of the same direction with length one; one of zeros stays as it is."""
    length = math.sqrt(sum(value * value for value in vector))
    return [float(value) / length for value in vector] if length else [float(value) for value in vector]


def cosine(distance: float) -> float:
    """The cosine of the angle between two vectors of length one, from their distance."""
    return 1.0 - distance * distance / 2.0
