"""Rounding to 32-bit and 64-bit floats, and the neighbours of a number that a width cannot represent."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from omnigraph.core.scalars import Scalar


def round_f32(number: float) -> float:
    """The nearest F32; infinite on overflow."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    return rounded


def round_float(value: int | float, scalar: Scalar) -> float:
    """The nearest float of that width; infinite on overflow."""
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return round_f32(number) if scalar is Scalar.F32 else number


def round_vector(values: Sequence[object]) -> tuple[float, ...] | None:
    """The nearest F32 of each number; None if an item is no plain number, or not finite as an F32."""
    if not {float, int}.issuperset(map(type, values)):
        return None
    try:
        rounded: tuple[float, ...] = struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values))
    except (OverflowError, struct.error):
        return None
    return rounded if all(map(math.isfinite, rounded)) else None


def neighbours(value: int | float, scalar: Scalar) -> tuple[float | None, float | None]:
    """The largest finite float <= the value and the smallest one >= it; equal if the value is representable.

    None where no such finite float exists. Relies on Python comparing int and float exactly.
    """
    nearest = round_float(value, scalar)
    if nearest == value and math.isfinite(nearest):
        return nearest, nearest
    if nearest < value:
        below, above = nearest, next_float(nearest, scalar, math.inf)
    else:
        below, above = next_float(nearest, scalar, -math.inf), nearest
    return _finite(below), _finite(above)


def next_float(number: float, scalar: Scalar, towards: float) -> float:
    """The adjacent float of that width in one direction."""
    if scalar is not Scalar.F32:
        return math.nextafter(number, towards)
    if number == 0:
        return math.copysign(2.0**-149, towards)
    # The bit patterns of floats of one sign are ordered like their magnitudes, so the neighbour is one bit pattern on.
    (bits,) = struct.unpack("<i", struct.pack("<f", number))
    away_from_zero = (number > 0) == (towards > 0)
    stepped: float = struct.unpack("<f", struct.pack("<i", bits + (1 if away_from_zero else -1)))[0]
    return stepped


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
