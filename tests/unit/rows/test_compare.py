"""Equality of what is stored, against a plain definition."""

import math
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.rows.compare import differs, match

FLOATS = st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf])
TYPES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): st.sampled_from(["", "a", "b"]),
    pa.bool_(): st.booleans(),
    pa.int32(): st.integers(0, 2),
    pa.uint64(): st.sampled_from([0, 2**64 - 1]),
    pa.float32(): FLOATS,
    pa.float64(): FLOATS,
    pa.date32(): st.integers(0, 2),
    pa.timestamp("ms", tz="UTC"): st.integers(0, 2),
    pa.large_binary(): st.sampled_from([b"", b"a"]),
    pa.list_(pa.string()): st.lists(st.sampled_from([None, "", "a"]), max_size=3),
    pa.list_(pa.float64()): st.lists(st.none() | FLOATS, max_size=3),
    pa.list_(pa.float32(), 2): st.lists(FLOATS, min_size=2, max_size=2),
}


def same(left: Any, right: Any, *, by_bits: bool = False) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, list):
        return len(left) == len(right) and all(same(*pair, by_bits=by_bits) for pair in zip(left, right, strict=True))
    if isinstance(left, float):
        both_nan = math.isnan(left) and math.isnan(right) and not by_bits
        return both_nan or struct.pack("d", left) == struct.pack("d", right)
    return bool(left == right)


@pytest.mark.parametrize("type_", TYPES, ids=str)
@given(data=st.data())
def test_values_differ_exactly_where_the_definition_says(type_: pa.DataType, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(*[st.none() | TYPES[type_]] * 2), max_size=8))
    before, after = (pa.array([pair[side] for pair in pairs], type_) for side in (0, 1))
    by_bits = pa.types.is_fixed_size_list(type_)
    assert differs(before, after).to_pylist() == [not same(*pair, by_bits=by_bits) for pair in pairs]
    # Part of a larger array is compared as that part.
    longer = pa.concat_arrays([before, before, after])
    assert differs(longer.slice(len(pairs), len(pairs)), after).to_pylist() == differs(before, after).to_pylist()


def test_vectors_with_another_kind_of_nan_differ() -> None:
    bits = pa.array([0x7FC00000, 0x7FC00001], pa.int32()).view(pa.float32())
    vectors = [pa.FixedSizeListArray.from_arrays(bits.take(pa.array([index])), 1) for index in (0, 1)]
    assert differs(vectors[0], vectors[1]).to_pylist() == [True]
    assert differs(vectors[0], vectors[0]).to_pylist() == [False]
    assert differs(bits.slice(0, 1), bits.slice(1, 1)).to_pylist() == [False]


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")), st.randoms())
def test_equal_ids_are_found_in_their_order(old: set[str], new: set[str], random: Any) -> None:
    before, after = (random.sample(sorted(ids), len(ids)) for ids in (old, new))
    found = match(pa.array(before, pa.string()), pa.array(after, pa.string()))
    assert [before[i] for i in found.before.to_pylist()] == sorted(old & new)
    assert [after[i] for i in found.after.to_pylist()] == sorted(old & new)
    assert [before[i] for i in found.only_before.to_pylist()] == sorted(old - new)
    assert [after[i] for i in found.only_after.to_pylist()] == sorted(new - old)
