"""What a vector must be before anybody compares with it: of the right length, finite, and of length one.

The arithmetic is that of 32-bit floats with a norm summed in 64 bits, one number after the other, so that the same text
gives the same bytes as in the reference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omnigraph.errors import EmbeddingError

Floats = npt.NDArray[np.float32]


def unit_vector(numbers: object, dimension: int, model: str) -> tuple[float, ...]:
    """The numbers of an answer as a vector of length one; raises EmbeddingError if they cannot be."""
    if not isinstance(numbers, Sequence) or isinstance(numbers, str):
        raise EmbeddingError(f"model {model!r} answered without a vector", model=model)
    if len(numbers) != dimension:
        raise EmbeddingError(
            f"model {model!r} answered with {len(numbers)} numbers where {dimension} were asked for",
            hint="the model must be able to give vectors of the property's dimension",
            model=model,
            dimension=dimension,
        )
    if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers):
        raise EmbeddingError(f"model {model!r} answered with something that is not a number", model=model)
    try:
        values = np.array([float(number) for number in numbers], np.float64)
    except OverflowError:
        values = np.array([np.inf])
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    if not np.isfinite(narrow).all():
        raise EmbeddingError(f"model {model!r} answered with a number that is not finite", model=model)
    return normalized(narrow, model)


def normalized(values: Floats, model: str) -> tuple[float, ...]:
    """The vector of length one in the same direction."""
    wide = values.astype(np.float64)
    # A running sum, because the usual one adds in pairs and rounds differently.
    squares = np.cumsum(wide * wide)
    with np.errstate(over="ignore"):
        norm = np.sqrt(squares[-1]).astype(np.float32)
    if not np.isfinite(norm) or norm == 0:
        raise EmbeddingError(f"model {model!r} answered with a vector that has no direction", model=model)
    numbers: list[float] = (values / norm).tolist()
    return tuple(numbers)
