"""Blocking against the plain definition: pairs of records that share a key, each once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.exec.resolve.candidates import PAIRS, Blocks
from omnigraph.exec.resolve.keys import RecordKeys

RECORDS = st.lists(st.frozensets(st.integers(0, 6), max_size=4), max_size=14)


def keys_of(records: list[frozenset[int]]) -> RecordKeys:
    offsets = np.concatenate(([0], np.cumsum([len(keys) for keys in records]))).astype(np.int64)
    return RecordKeys(offsets, np.array([key for keys in records for key in sorted(keys)], np.uint64))


def found(blocks: Blocks, together: int = PAIRS) -> list[tuple[int, int]]:
    chunks = blocks.pairs(together)
    pairs = [pair for left, right in chunks for pair in zip(left.tolist(), right.tolist(), strict=True)]
    return sorted((min(pair), max(pair)) for pair in pairs)


def expected(records: list[frozenset[int]]) -> list[tuple[int, int]]:
    return [(one, other) for one, other in combinations(range(len(records)), 2) if records[one] & records[other]]


@pytest.mark.parametrize("together", [1, 3, PAIRS])
@given(RECORDS)
def test_every_pair_with_a_common_key_is_found_once(together: int, records: list[frozenset[int]]) -> None:
    assert found(Blocks(keys_of(records)), together) == expected(records)


@given(RECORDS, st.integers(1, 4))
def test_parts_of_the_keys_have_the_pairs_of_all_of_them_between_them(
    records: list[frozenset[int]], buckets: int
) -> None:
    keys = keys_of(records)
    parts = [found(Blocks(keys, keys.hashes % np.uint64(buckets) == bucket)) for bucket in range(buckets)]
    assert sorted(pair for part in parts for pair in part) == expected(records)


@given(RECORDS, st.data())
def test_later_rounds_have_the_pairs_of_fresh_records_and_reopened_keys(
    records: list[frozenset[int]], data: st.DataObject
) -> None:
    fresh = np.array([data.draw(st.booleans()) for _ in records], bool)
    reopened = data.draw(st.frozensets(st.integers(0, 6), max_size=2))
    pairs = found(Blocks(keys_of(records), None, fresh, np.array(sorted(reopened), np.uint64)))
    wanted = [
        (one, other)
        for one, other in expected(records)
        if fresh[one] or fresh[other] or min(records[one] & records[other]) in reopened
    ]
    assert pairs == wanted
