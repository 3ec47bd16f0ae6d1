"""Sets of texts: "all of them" is exact for any texts, and the hashes decide nothing."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.rows.text_set import PROBES_MAX, TextBytes, TextSet

TEXTS = st.text(st.sampled_from("ab\0é日"), max_size=20)


def column(texts: list[str]) -> pa.Array:
    """The texts as a slice of a longer array."""
    return pa.array(["before", *texts, "behind"], pa.utf8()).slice(1, len(texts))


@given(held=st.lists(TEXTS, unique=True, min_size=1), more=st.lists(TEXTS), parts=st.integers(1, 3), data=st.data())
def test_a_set_holds_exactly_its_texts(held: list[str], more: list[str], parts: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(held)))
    wanted = data.draw(st.lists(st.sampled_from([*held, *more])))
    found = []
    for part in range(parts):
        made = TextSet.of([column(held[:cut]), column(held[cut:])], part, parts)
        if made is not None:
            found.append(made.holds_all(column(wanted)))
        else:
            found.append(all(int(mixed) % parts != part for mixed in TextBytes.of(column(wanted)).hashes()))
    assert all(found) == (set(wanted) <= set(held))


def test_texts_with_equal_hashes_are_told_apart() -> None:
    with patch.object(TextBytes, "hashes", lambda texts: np.full(len(texts.starts), 7, np.uint64)):
        made = TextSet.of([pa.array(["a"])])
        assert made is not None
        assert made.holds_all(pa.array(["a", "a"]))
        assert not made.holds_all(pa.array(["a", "b"]))


@pytest.mark.parametrize(("count", "is_made"), [(PROBES_MAX, True), (PROBES_MAX + 1, False)])
def test_texts_chosen_to_collide_make_no_set(count: int, is_made: bool) -> None:
    with patch.object(TextBytes, "hashes", lambda texts: np.full(len(texts.starts), 7, np.uint64)):
        made = TextSet.of([pa.array([f"text {number}" for number in range(count)])])
    assert (made is not None) == is_made


def test_nothing_is_no_set() -> None:
    assert TextSet.of([]) is None
    assert TextSet.of([pa.array([], pa.utf8())]) is None
