"""Rows that are written from Arrow columns are those that are made value by value."""

import json
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.rows.write.results import result_rows
from omnigraph.wire.http.row_texts import FEW_ROWS_MAX, few_rows, row_texts
from tests.support.examples import examples

TIMES = st.integers(-(2**62), 2**62)
VALUES = {
    pa.string(): st.text(max_size=8),
    pa.large_string(): st.text(max_size=8),
    pa.bool_(): st.booleans(),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.date32(): st.integers(-(2**31), 2**31 - 1),
    pa.timestamp("ms", tz="UTC"): TIMES,
    pa.timestamp("us"): TIMES,
    pa.binary(): st.binary(max_size=3),
    pa.list_(pa.string()): st.lists(st.none() | st.text(max_size=3), max_size=3),
    pa.list_(pa.float32(), 2): st.lists(st.floats(width=32), min_size=2, max_size=2),
    pa.list_(pa.date32()): st.lists(st.none() | st.integers(-800_000, 3_000_000), max_size=3),
    pa.struct([("a", pa.int32())]): st.fixed_dictionaries({"a": st.none() | st.integers(0, 3)}),
}


_STORED = {
    pa.date32(): pa.int32(),
    pa.list_(pa.date32()): pa.list_(pa.int32()),
    pa.timestamp("ms", tz="UTC"): pa.int64(),
    pa.timestamp("us"): pa.int64(),
}


def _flat(table: pa.Table) -> list[pa.Array]:
    return [column.combine_chunks() for column in table.columns]


def written(batches: list[pa.RecordBatch]) -> object:
    return json.loads(b"[" + b"".join(row_texts(batches)) + b"]")


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 5))
    columns = {}
    for number, kind in enumerate(draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4))):
        values = draw(st.lists(st.none() | VALUES[kind], min_size=rows, max_size=rows))
        columns[draw(st.text(max_size=2)) + str(number)] = pa.array(values, kind)
    return pa.table(columns)


@given(tables(), st.integers(1, 3))
@examples(300)
def test_the_text_of_columns_is_that_of_single_values(table: pa.Table, rows: int) -> None:
    wanted = json.loads(json.dumps(result_rows(table)))
    assert written(table.to_batches()) == wanted
    assert written(table.slice(1).to_batches(max_chunksize=rows)) == wanted[1:]


@given(tables())
@examples(300)
def test_a_few_stored_values_are_the_json_values_of_their_columns(table: pa.Table) -> None:
    stored = [column.view(_STORED[column.type]) if column.type in _STORED else column for column in _flat(table)]
    rows = list(zip(*(column.to_pylist() for column in stored), strict=True))
    found = few_rows(table.schema, rows)
    if found is None:
        # The columns are written instead.
        return
    assert json.loads(json.dumps(found)) == json.loads(json.dumps(result_rows(table)))


def test_types_and_numbers_of_another_form_in_json_are_left_to_columns() -> None:
    for kind, value in ((pa.date32(), 3), (pa.float32(), 0.5), (pa.float64(), float("nan")), (pa.binary(), b"x")):
        assert few_rows(pa.schema([("a", kind)]), [(value,)]) is None
    assert few_rows(pa.schema([("a", pa.float64())]), [(1.0,), (None,)]) == [{"a": 1.0}, {"a": None}]
    assert few_rows(pa.schema([("a", pa.int32())]), []) == []
    assert few_rows(pa.schema([("a", pa.int32())]), [(1,)] * (FEW_ROWS_MAX + 1)) is None


def test_numbers_dates_and_times_have_the_forms_of_the_specification() -> None:
    batch = pa.record_batch(
        {
            "whole": pa.array([1.0]),
            "narrow": pa.array([0.1], pa.float32()),
            "long": pa.array([2**63 - 1]),
            "day": pa.array([date(2020, 1, 31)]),
            "time": pa.array([datetime(2020, 1, 31, 12, 0, 0, 5000, UTC)], pa.timestamp("ms", tz="UTC")),
            "nan": pa.array([float("nan")]),
        }
    )
    assert b"".join(row_texts([batch])) == (
        b'{"whole":1.0,"narrow":0.10000000149011612,"long":9223372036854775807,"day":"2020-01-31",'
        b'"time":"2020-01-31T12:00:00.005Z","nan":"NaN"}'
    )


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_columns_of_one_name_are_one_member_with_the_last_value(rows: int) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1] * rows), pa.array([2] * rows)], names=["a", "a"])
    assert written([batch]) == [{"a": 2}] * rows


def test_no_rows_are_no_text() -> None:
    assert list(row_texts([])) == []
    assert list(row_texts([pa.record_batch({"a": pa.array([], pa.string())})])) == []
