"""Neighbouring floats of both widths, against numpy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.numbers import neighbours, round_f32, round_float
from omnigraph.core.scalars import Scalar

numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.floats(allow_nan=False))
def test_rounding_is_what_numpy_does(number: float) -> None:
    with np.errstate(over="ignore"):
        assert round_f32(number) == float(np.float32(number))


@given(numbers, st.sampled_from([Scalar.F32, Scalar.F64]))
def test_neighbours_enclose_the_number_and_nothing_lies_between_them(number: float, scalar: Scalar) -> None:
    below, above = neighbours(number, scalar)
    kind = np.float32 if scalar is Scalar.F32 else np.float64
    largest = float(np.finfo(kind).max)
    assert (below is None) == (number < -largest)
    assert (above is None) == (number > largest)
    if below is not None and above is not None:
        assert below <= number <= above
        if below != above:
            with np.errstate(over="ignore", under="ignore"):
                assert float(np.nextafter(kind(below), kind(np.inf))) == above


def test_numbers_beyond_every_float_round_to_infinity() -> None:
    assert round_float(10**400, Scalar.F64) == float("inf")
    assert round_float(-(10**400), Scalar.F32) == float("-inf")
    assert neighbours(10**400, Scalar.F64) == (float(np.finfo(np.float64).max), None)
