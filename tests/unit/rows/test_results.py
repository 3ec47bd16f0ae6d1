"""Result cells are JSON values as the reference shows them."""

import json
import math
from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from omnigraph.rows.write.results import result_rows

UTC_MS = pa.timestamp("ms", tz="UTC")

CELLS = [
    (pa.utf8(), "x", "x"),
    (pa.large_utf8(), "x", "x"),
    (pa.bool_(), True, True),
    (pa.int64(), 2**63 - 1, 2**63 - 1),
    (pa.uint64(), 2**64 - 1, 2**64 - 1),
    (pa.float32(), 0.1, 0.10000000149011612),
    (pa.float64(), 0.1, 0.1),
    (pa.float64(), math.nan, "NaN"),
    (pa.float32(), math.inf, "Infinity"),
    (pa.float64(), -math.inf, "-Infinity"),
    (pa.date32(), date(2020, 1, 2), "2020-01-02"),
    (pa.date32(), date(1, 1, 1), "0001-01-01"),
    (pa.date32(), 99_999_999, "+275760-09-12"),
    (pa.date32(), -719_163, "+000000-12-31"),
    (pa.date32(), -719_162 - 366 - 1, "-000001-12-31"),
    (UTC_MS, datetime(2020, 1, 2, 3, 4, 5), "2020-01-02T03:04:05.000Z"),
    (UTC_MS, -1, "1969-12-31T23:59:59.999Z"),
    (UTC_MS, 8_640_000_000_000_000, "+275760-09-13T00:00:00.000Z"),
    (pa.timestamp("us"), datetime(2020, 1, 2, 3, 4, 5, 6789), "2020-01-02T03:04:05.006Z"),
    (
        pa.timestamp("us", tz="Europe/Berlin"),
        datetime(2020, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=1))),
        "2020-01-02T02:04:05.000Z",
    ),
    (pa.date64(), datetime(2020, 1, 2), "2020-01-02T00:00:00.000Z"),
    (pa.list_(pa.utf8()), ["a", None], ["a", None]),
    (pa.list_(pa.date32()), [0, None], ["1970-01-01", None]),
    (pa.list_(pa.float32(), 2), [1.0, math.nan], [1.0, "NaN"]),
    (pa.large_list(pa.int64()), [], []),
    (pa.large_binary(), b"secret", None),
    (pa.struct([("d", pa.date32()), ("n", pa.int8())]), {"d": 0, "n": 1}, {"d": "1970-01-01", "n": 1}),
    (pa.null(), None, None),
]


@pytest.mark.parametrize(("type_", "value", "cell"), CELLS, ids=str)
def test_a_cell_is_encoded_by_its_type(type_: pa.DataType, value: object, cell: object) -> None:
    table = pa.table({"c": pa.array([None, value, None], type_)})
    rows = result_rows(table.slice(1))
    assert rows == [{"c": cell}, {"c": None}]
    json.dumps(rows, allow_nan=False)


def test_columns_keep_their_order_and_chunks_are_joined() -> None:
    table = pa.concat_tables([pa.table({"z": [1], "a": ["x"]}), pa.table({"z": [2], "a": ["y"]})])
    rows = result_rows(table)
    assert [list(row.items()) for row in rows] == [[("z", 1), ("a", "x")], [("z", 2), ("a", "y")]]
    assert result_rows(table.to_batches()[0]) == [{"z": 1, "a": "x"}]


def test_encoded_columns_are_decoded() -> None:
    assert result_rows(pa.table({"c": pa.array(["x", None, "x"]).dictionary_encode()})) == [
        {"c": "x"},
        {"c": None},
        {"c": "x"},
    ]


def test_no_rows_are_an_empty_list() -> None:
    assert result_rows(pa.table({"c": pa.array([], pa.int64())})) == []
