"""Comparison of two versions of a table: matching rows and differing values.

Equality of stored values: null equals only null; floats and vectors are compared bit for bit, except that any NaN
equals any NaN in a float column; lists are compared item by item, in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

_BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}


@dataclass(frozen=True, slots=True)
class Matched:
    """Positions in two arrays of ids: common ids in the same order, and ids of only one array."""

    before: pa.Array
    after: pa.Array
    only_before: pa.Array
    only_after: pa.Array


def match(before: pa.Array, after: pa.Array) -> Matched:
    """Join two arrays of distinct ids. All results are in the order of the ids.

    For ids ``[c, a, b]`` and ``[b, d, c]``: ``before`` is 2, 0 and ``after`` is 0, 2 (b and c), ``only_before`` is 1
    (a) and ``only_after`` is 1 (d).
    """
    order_before, order_after = pc.sort_indices(before), pc.sort_indices(after)
    old, new = before.take(order_before), after.take(order_after)
    found = pc.index_in(new, value_set=old)
    is_found = pc.is_valid(found)
    return Matched(
        before=order_before.take(found.filter(is_found)),
        after=order_after.filter(is_found),
        only_before=order_before.filter(pc.invert(pc.is_in(old, value_set=new))),
        only_after=order_after.filter(pc.invert(is_found)),
    )


def differs(before: pa.Array, after: pa.Array) -> pa.BooleanArray:
    """A mask of the rows at which two columns of one type differ."""
    one_null = pc.xor(pc.is_null(before), pc.is_null(after))
    return pc.or_(one_null, pc.fill_null(_unequal(before, after), False))


def _unequal(before: pa.Array, after: pa.Array) -> pa.Array:
    """A mask of differing values, null where one is null."""
    type_ = before.type
    if pa.types.is_fixed_size_list(type_) or pa.types.is_list(type_):
        return _unequal_lists(before, after)
    if pa.types.is_floating(type_):
        both_nan = pc.and_(pc.is_nan(before), pc.is_nan(after))
        return pc.and_not(_other_bits(before, after), both_nan)
    return pc.not_equal(before, after)


def _other_bits(before: pa.Array, after: pa.Array) -> pa.Array:
    bits = _BITS[before.type]
    return pc.not_equal(before.view(bits), after.view(bits))


def _unequal_lists(before: pa.Array, after: pa.Array) -> pa.Array:
    """Lists of different length differ; the items of all others are compared in one pass.

    ======  ======  =========  =====================================
    before  after   same size  result
    ======  ======  =========  =====================================
    [1, 2]  [1, 3]  yes        item 1 of row 0 differs: true
    [4]     [4]     yes        false
    [5]     [5, 6]  no         true
    null    [7]     null       null
    []      []      yes        no items: false
    ======  ======  =========  =====================================

    Wrong items are mapped back to their rows by ``list_parent_indices``.
    """
    is_other = pc.not_equal(pc.list_value_length(before), pc.list_value_length(after))
    rows = pc.indices_nonzero(pc.fill_null(pc.invert(is_other), False))
    if not len(rows):
        return is_other
    old, new = before.take(rows), after.take(rows)
    old_items, new_items = pc.list_flatten(old), pc.list_flatten(new)
    if pa.types.is_fixed_size_list(before.type):
        wrong = pc.fill_null(_other_bits(old_items, new_items), False)
    else:
        wrong = differs(old_items, new_items)
    parents = pc.list_parent_indices(old).filter(wrong)
    return pc.or_(
        is_other, pc.is_in(pa.array(range(len(before)), pa.int64()), value_set=rows.cast(pa.int64()).take(parents))
    )
