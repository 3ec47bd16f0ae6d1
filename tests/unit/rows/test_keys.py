"""The id of a keyed node depends on the stored key alone, and one key has one text."""

import json
import math
import struct
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.rows.arrow_types import column_type
from omnigraph.rows.keys import derived_ids, key_id, key_text, key_texts
from omnigraph.schema.types import PropertyType
from tests.unit.rows.schemas import catalog

CASES = [
    (Scalar.STRING, "Alice", "Alice"),
    (Scalar.STRING, "", ""),
    (Scalar.STRING, 'quo"te\n\0é😀', 'quo"te\n\0é😀'),
    (Scalar.BOOL, True, "true"),
    (Scalar.BOOL, False, "false"),
    (Scalar.I32, -(2**31), "-2147483648"),
    (Scalar.I64, 2**63 - 1, "9223372036854775807"),
    (Scalar.U32, 2**32 - 1, "4294967295"),
    (Scalar.U64, 2**64 - 1, "18446744073709551615"),
    (Scalar.I32, 0, "0"),
    (Scalar.DATE, date(1970, 1, 2), "1"),
    (Scalar.DATE, date(1969, 12, 31), "-1"),
    (Scalar.DATETIME, datetime(1970, 1, 1, 0, 0, 1, 5000, tzinfo=UTC), "1005"),
    (Scalar.DATETIME, datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC), "-1"),
    (Scalar.F64, 0.0, "0"),
    (Scalar.F64, -0.0, "0"),
    (Scalar.F64, 1.0, "1"),
    (Scalar.F64, -2.5, "-2.5"),
    (Scalar.F64, 0.1, "0.1"),
    (Scalar.F64, 1e22, "10000000000000000000000"),
    (Scalar.F64, 1.5e-7, "0.00000015"),
    (Scalar.F64, 5e-324, "0." + "0" * 323 + "5"),
    (Scalar.F64, 1e15 + 0.5, "1000000000000000.5"),
    (Scalar.F32, 0.5, "0.5"),
    (Scalar.F32, struct.unpack("f", struct.pack("f", 0.1))[0], "0.1"),
    (Scalar.F32, 16777216.0, "16777216"),
    (Scalar.F32, -0.0, "0"),
    (Scalar.F32, struct.unpack("f", struct.pack("f", 1e10))[0], "10000000000"),
]
WITHOUT_TEXT = [(Scalar.STRING, None)] + [
    (scalar, value) for scalar in (Scalar.F32, Scalar.F64) for value in (None, math.nan, math.inf, -math.inf)
]


@pytest.mark.parametrize(("scalar", "value", "text"), CASES)
def test_a_value_and_a_column_give_the_same_canonical_text(scalar: Scalar, value: object, text: str) -> None:
    type_ = PropertyType(scalar)
    assert key_text(value, type_) == text
    assert key_texts(pa.array([value], column_type(type_)), type_).to_pylist() == [text]


@pytest.mark.parametrize(("scalar", "value"), WITHOUT_TEXT)
def test_null_and_numbers_that_are_not_finite_have_no_text(scalar: Scalar, value: object) -> None:
    type_ = PropertyType(scalar)
    assert key_text(value, type_) is None
    assert key_texts(pa.array([value], column_type(type_)), type_).to_pylist() == [None]


@pytest.mark.parametrize("scalar", [Scalar.DATE, Scalar.DATETIME, *INTEGER_RANGES])
def test_stored_numbers_are_their_own_text(scalar: Scalar) -> None:
    assert key_text(12345, PropertyType(scalar)) == "12345"


def test_a_value_that_no_key_can_hold_is_a_programming_error() -> None:
    with pytest.raises(TypeError, match="list"):
        key_text([1], PropertyType(Scalar.I32))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_double_is_positional_and_reads_back(value: float) -> None:
    text = key_text(value, PropertyType(Scalar.F64))
    assert text is not None
    assert set(text) <= set("-.0123456789")
    assert float(text) == value
    assert not text.endswith(".0")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_text_of_a_narrow_float_is_no_longer_than_needed(value: float) -> None:
    text = key_text(value, PropertyType(Scalar.F32))
    assert text is not None
    assert struct.pack("f", float(text)) == struct.pack("f", value + 0.0)
    assert len(Decimal(text).as_tuple().digits) - (len(text) - len(text.rstrip("0")) if "." not in text else 0) <= 9


PAIRS = catalog("node Pair { tenant: String number: I64 @key(tenant, number) }").nodes["Pair"]


@pytest.mark.parametrize(
    ("number", "tenant", "expected"),
    [
        (7, "acme", '["7","acme"]'),
        (7, 'a"b', '["7","a\\"b"]'),
        (7, "a\\b\n\0", '["7","a\\\\b\\n\\u0000"]'),
        (7, "é😀", '["7","é😀"]'),
        (7, "", '["7",""]'),
        (7, None, None),
        (None, "a", None),
    ],
)
def test_several_keys_are_a_compact_array_of_texts_in_property_order(
    number: int | None, tenant: str | None, expected: str | None
) -> None:
    batch = pa.record_batch({"tenant": pa.array([tenant], pa.utf8()), "number": pa.array([number], pa.int64())})
    assert derived_ids(PAIRS, batch).to_pylist() == [expected]


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.text()), min_size=1, max_size=20))
def test_composite_ids_are_equal_exactly_when_the_keys_are(rows: list[tuple[int, str]]) -> None:
    batch = pa.record_batch({"number": [row[0] for row in rows], "tenant": [row[1] for row in rows]})
    ids = derived_ids(PAIRS, batch).to_pylist()
    assert [json.loads(found) for found in ids] == [[str(number), tenant] for number, tenant in rows]
    assert ids == [key_id([str(number), tenant]) for number, tenant in rows]


def test_ids_are_made_of_tables_and_slices_as_of_batches() -> None:
    table = pa.table({"number": [1, 2, 3], "tenant": ["a", "b", "c"]})
    assert derived_ids(PAIRS, table).to_pylist() == ['["1","a"]', '["2","b"]', '["3","c"]']
    assert derived_ids(PAIRS, table.to_batches()[0].slice(1, 1)).to_pylist() == ['["2","b"]']
