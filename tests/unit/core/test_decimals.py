"""Decimals of all 38 digits are read, compared, rounded and added without loss."""

from decimal import Decimal

import pytest

from omnigraph.core.decimals import DIGITS_MAX, around, exact_sum, fitted, rounded

NINES = Decimal("9" * DIGITS_MAX)
PLACES = Decimal("0." + "9" * DIGITS_MAX)


@pytest.mark.parametrize("value", [NINES, NINES.copy_negate()])
def test_the_largest_numbers_fit_and_the_next_ones_do_not(value: Decimal) -> None:
    assert fitted(value, (DIGITS_MAX, 0)) == value
    assert fitted(value, (DIGITS_MAX - 1, 0)) is None
    assert fitted(exact_sum(value, 1 if value > 0 else -1), (DIGITS_MAX, 0)) is None
    assert rounded(PLACES, (DIGITS_MAX, DIGITS_MAX)) == PLACES
    assert rounded(PLACES, (DIGITS_MAX, 1)) == 1


def test_a_number_lies_between_its_neighbours() -> None:
    digits = (DIGITS_MAX, 0)
    assert around(Decimal("1.5"), digits) == (1, 2)
    assert around(NINES, digits) == (NINES, NINES)
    assert around(Decimal(f"{NINES}.5"), digits) == (NINES, None)
    assert around(Decimal(f"-{NINES}.5"), digits) == (None, NINES.copy_negate())


@pytest.mark.parametrize(
    ("value", "digits", "wanted"), [(0.1, (3, 2), "0.10"), (1e3, (4, 0), "1000"), (12, (3, 1), "12.0")]
)
def test_a_float_is_the_number_that_its_digits_denote(value: float, digits: tuple[int, int], wanted: str) -> None:
    assert str(fitted(value, digits)) == wanted


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("1e9999"), 0.125, 1000])
def test_a_number_that_does_not_fit_is_none(value: float | Decimal) -> None:
    assert fitted(value, (4, 2)) is None
