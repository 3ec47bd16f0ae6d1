"""A vector is rounded to F32 in one step exactly as its numbers are one by one."""

from random import Random

import pytest

from omnigraph.core.numbers import round_f32, round_vector


def test_a_vector_is_rounded_like_its_numbers() -> None:
    rng = Random(2)
    for _ in range(200):
        numbers = [rng.choice([rng.uniform(-1e6, 1e6), rng.randrange(-(2**60), 2**60), 1e-46]) for _ in range(5)]
        assert round_vector(numbers) == tuple(round_f32(float(number)) for number in numbers)


@pytest.mark.parametrize("item", [True, "1", None, float("nan"), float("inf"), 1e39, 10**400])
def test_an_item_that_is_no_finite_f32_is_left_to_the_reader_of_single_numbers(item: object) -> None:
    assert round_vector([1.0, item]) is None
