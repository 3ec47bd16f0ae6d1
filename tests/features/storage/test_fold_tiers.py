"""Tiers of small fragments: how many there are, how much a write folds, and how often a row is rewritten."""

import math
import random

import pytest

from omnigraph.core.tuning import Tuning
from omnigraph.storage.stage.fold import fold_choice

TIERS = Tuning().fold_tiers
LARGEST = TIERS[-1][0]


def step(sizes: list[int], rows: int) -> tuple[list[int], int]:
    """The sizes of fragments after one write, and the rows it wrote."""
    folded = set(fold_choice(sizes, rows, TIERS))
    size = rows + sum(sizes[place] for place in folded)
    return [old for place, old in enumerate(sizes) if place not in folded] + [size], size


@pytest.mark.parametrize(
    ("sizes", "new_rows", "folded"),
    [
        ([], 1, []),
        ([1] * 15, 1, []),
        ([1] * 16, 1, list(range(16))),
        ([*[1] * 16, 17], 1, list(range(16))),
        ([*[1] * 16, 17, 17], 1, list(range(18))),
        ([*[1] * 16, 17, 17, 300, 300], 1, list(range(20))),
        ([*[1] * 16, 130, 130, 300, 300], 1, list(range(20))),
        ([300, 300], 300, [0, 1]),
        ([1] * 16, 16, []),
        ([5000, 1, 5000], 1, []),
        ([LARGEST] * 9, 1, []),
    ],
)
def test_a_tier_is_folded_when_the_write_would_overfill_it(sizes: list[int], new_rows: int, folded: list[int]) -> None:
    assert fold_choice(sizes, new_rows, TIERS) == folded


@pytest.mark.parametrize("rows", [1, 3, 15, 16, 100, 256, 1000])
def test_no_tier_ever_holds_more_fragments_than_it_may(rows: int) -> None:
    sizes: list[int] = []
    for _ in range(2_000):
        sizes, _ = step(sizes, rows)
        lower = 0
        for bound, fragments_max in TIERS:
            assert sum(lower <= size < bound for size in sizes) <= fragments_max
            lower = bound


def test_a_write_rewrites_a_bounded_number_of_rows_and_loses_none() -> None:
    random_ = random.Random(7)
    sizes: list[int] = []
    total = 0
    for _ in range(5_000):
        rows = random_.choice([1, 1, 1, 2, 20, 300])
        sizes, written = step(sizes, rows)
        total += rows
        assert written < rows + sum(bound * fragments for bound, fragments in TIERS)
    assert sum(sizes) == total


def test_rows_are_rewritten_about_as_often_as_there_are_tiers_and_fragments_grow_slowly() -> None:
    writes = 50_000
    sizes: list[int] = []
    total = 0
    for _ in range(writes):
        sizes, written = step(sizes, 1)
        total += written
    small = [size for size in sizes if size < LARGEST]
    assert len(small) <= sum(fragments for _, fragments in TIERS)
    assert len(sizes) - len(small) <= writes / (LARGEST / 2)
    assert total / writes < 2 * math.log2(writes)
