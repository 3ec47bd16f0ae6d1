"""Pseudo-random numbers as a function of integers: equal on every engine, for any division of the nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from omnigraph.exec.analytics.vectors import Array

Bits = npt.NDArray[np.uint64]

_STEP, _FIRST, _SECOND = (np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def mixed(*keys: int | Array) -> Bits:
    """64 random bits for every combination of keys: the finalizer of SplitMix64 over one key after the other."""
    bits = np.zeros(1, np.uint64)
    for key in keys:
        bits = bits + _STEP + np.asarray(key).astype(np.uint64)
        bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
        bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
        bits = bits ^ (bits >> np.uint64(31))
    return bits


def below(limits: Array, *keys: int | Array) -> npt.NDArray[np.int64]:
    """A random integer from 0 below every limit. Limits are below 2^32, so that the bias is negligible."""
    # The upper 32 bits as a fraction of the limit: a product of two 32-bit numbers is exact.
    drawn: npt.NDArray[np.int64] = (
        ((mixed(*keys) >> np.uint64(32)) * limits.astype(np.uint64)) >> np.uint64(32)
    ).astype(np.int64)
    return drawn


def shares(*keys: int | Array) -> npt.NDArray[np.float64]:
    """A random number from 0 below 1 for every combination of keys."""
    return (mixed(*keys) >> np.uint64(11)).astype(np.float64) * 2.0**-53
