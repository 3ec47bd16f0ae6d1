"""Values that a policy makes of two: the same whichever side has which, and none where no value fits."""

import math
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.rows.compare import differs
from omnigraph.rows.merge import combine
from omnigraph.schema.ir import MergePolicy

MAX, MIN, SUM, UNION = MergePolicy.MAX, MergePolicy.MIN, MergePolicy.SUM, MergePolicy.UNION


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()])
@pytest.mark.parametrize(
    ("policy", "base", "one", "other", "made"),
    [
        (MAX, 5.0, 0.0, -0.0, 0.0),
        (MIN, 5.0, 0.0, -0.0, -0.0),
        (MAX, 5.0, math.nan, 1.0, 1.0),
        (MIN, None, None, -1.0, -1.0),
        (MAX, 5.0, math.inf, 1.0, math.inf),
        (SUM, 5.0, 6.0, 3.0, 4.0),
        (SUM, None, None, 3.0, 3.0),
        (SUM, 5.0, math.nan, 3.0, math.nan),
        (SUM, 5.0, math.inf, 3.0, math.inf),
    ],
)
def test_floats_are_combined_alike_in_both_directions(
    type_: pa.DataType, policy: MergePolicy, base: Any, one: Any, other: Any, made: float
) -> None:
    expected = pa.array([made, made], type_)
    sides = pa.array([one, other], type_), pa.array([other, one], type_)
    values, fits = combine(policy, pa.array([base, base], type_), *sides)
    assert differs(values, expected).to_pylist() == [False, False]
    assert fits.to_pylist() == [True, True]


@pytest.mark.parametrize(
    ("type_", "base", "one", "other"),
    [
        (pa.float64(), 0.0, 1.7e308, 1.6e308),
        (pa.float32(), 0.0, 3e38, 2.9e38),
        (pa.float64(), 1.0, math.inf, -math.inf),
        (pa.float64(), math.inf, 1.0, 2.0),
        (pa.int64(), 0, 2**62, 2**62),
        (pa.int32(), 0, -(2**31), -1),
        (pa.uint64(), 5, 0, 1),
        (pa.uint32(), 0, 2**31, 2**31),
    ],
)
def test_a_sum_beyond_its_type_fits_nowhere(type_: pa.DataType, base: Any, one: Any, other: Any) -> None:
    _, fits = combine(SUM, *(pa.array([value], type_) for value in (base, one, other)))
    assert fits.to_pylist() == [False]


@pytest.mark.parametrize(
    ("base", "one", "other", "made"),
    [
        (["a", "b"], ["a"], ["a", "b", "c"], ["a", "c"]),
        (None, ["x"], ["y"], ["y", "x"]),
        (["a"], None, ["a", "b"], ["b"]),
        (["a"], [], None, []),
        (["a", "a"], ["a", "b"], ["a", "a"], ["a", "b"]),
    ],
)
def test_a_union_has_the_additions_and_not_the_removals_each_item_once(
    base: Any, one: Any, other: Any, made: list[str]
) -> None:
    type_ = pa.list_(pa.string())
    values, _ = combine(UNION, *(pa.array([value], type_) for value in (base, one, other)))
    assert values.to_pylist() == [made]
