"""Checks and normalisation of vectors: right dimension, finite numbers, unit length.

Values are 32-bit floats, and the norm is a sequential sum in 64 bits, so that the same text gives the same bytes as in
Omnigraph 0.10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omnigraph.errors import EmbeddingError

Floats = npt.NDArray[np.float32]


def unit_vector(numbers: object, dimension: int, model: str) -> tuple[float, ...]:
    """The numbers of a response as a unit vector; raises EmbeddingError if they are no valid vector."""
    if not isinstance(numbers, Sequence) or isinstance(numbers, str):
        raise EmbeddingError(f"model {model!r} returned no vector", model=model)
    if len(numbers) != dimension:
        raise EmbeddingError(
            f"model {model!r} returned {len(numbers)} numbers instead of {dimension}",
            hint="choose a model that supports the dimension of the property",
            model=model,
            dimension=dimension,
        )
    if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers):
        raise EmbeddingError(f"model {model!r} returned a value that is not a number", model=model)
    try:
        values = np.array([float(number) for number in numbers], np.float64)
    except OverflowError:
        values = np.array([np.inf])
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    if not np.isfinite(narrow).all():
        raise EmbeddingError(f"model {model!r} returned a number that is not finite", model=model)
    return normalized(narrow, model)


def normalized(values: Floats, model: str) -> tuple[float, ...]:
    """The unit vector of the same direction."""
    wide = values.astype(np.float64)
    # A running sum: numpy's sum adds in pairs and rounds differently.
    squares = np.cumsum(wide * wide)
    with np.errstate(over="ignore"):
        norm = np.sqrt(squares[-1]).astype(np.float32)
    if not np.isfinite(norm) or norm == 0:
        raise EmbeddingError(
            f"model {model!r} returned a vector without direction (norm zero or infinite)", model=model
        )
    numbers: list[float] = (values / norm).tolist()
    return tuple(numbers)
