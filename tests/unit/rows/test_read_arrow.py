"""Arrow data of any honest type is taken, and what cannot be stored is located by row."""

import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import table_schema
from omnigraph.rows.read.arrow import as_reader, from_arrow, reference_ids
from omnigraph.rows.violations import ViolationCode, Violations
from tests.unit.rows.schemas import CATALOG, good_rows, minting


def _read(name: str, data: object, **options: int) -> tuple[list[dict[str, object]], list[int], Violations]:
    entity = CATALOG.nodes.get(name) or CATALOG.edges[name]
    violations = Violations()
    rows, lines = [], []
    given = list(from_arrow(entity, data, source="t", mint_ids=minting(), violations=violations, **options))
    for piece in good_rows(given, violations):
        assert piece.batch.schema.equals(table_schema(entity), check_metadata=True)
        piece.batch.validate(full=True)
        rows += piece.batch.to_pylist()
        lines += piece.lines.to_pylist()
    return rows, lines, violations


NOON = datetime(2020, 1, 2, 12, 0, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=1))
IN_BERLIN = pa.timestamp("us", tz="Europe/Berlin")
CASTS = [
    ("s", pa.array(["x"], pa.large_utf8()), "x"),
    ("s", pa.array(["x"], pa.string_view()), "x"),
    ("s", pa.array(["x"]).dictionary_encode(), "x"),
    ("b", pa.array([True]), True),
    ("i32", pa.array([7], pa.int64()), 7),
    ("i32", pa.array([7], pa.uint8()), 7),
    ("i32", pa.array([7.0]), 7),
    ("i64", pa.array([Decimal("7")], pa.decimal128(10, 0)), 7),
    ("u64", pa.array([2**64 - 1], pa.uint64()), 2**64 - 1),
    ("f64", pa.array([2**53 + 1], pa.int64()), float(2**53)),
    ("f64", pa.array([Decimal("1.5")]), 1.5),
    ("f32", pa.array([0.1]), 0.10000000149011612),
    ("d", pa.array(["2020-1-2"]), date(2020, 1, 2)),
    ("d", pa.array([date(2020, 1, 2)], pa.date64()), date(2020, 1, 2)),
    (
        "d",
        pa.array([datetime(2020, 1, 3, 0, 30, tzinfo=BERLIN)], pa.timestamp("us", tz="Europe/Berlin")),
        date(2020, 1, 2),
    ),
    ("d", pa.array([datetime(1969, 12, 31, 12)], pa.timestamp("ns")), date(1969, 12, 31)),
    ("d", pa.array([-1], pa.int64()), date(1969, 12, 31)),
    ("t", pa.array([NOON], pa.timestamp("s", tz="UTC")), NOON),
    ("t", pa.array([NOON.replace(tzinfo=None)], pa.timestamp("ns")), NOON),
    ("t", pa.array([datetime(2020, 1, 2, 13, tzinfo=BERLIN)], IN_BERLIN), NOON),
    ("t", pa.array([-1], pa.timestamp("us")), datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)),
    ("t", pa.array([date(2020, 1, 2)]), NOON.replace(hour=0)),
    ("t", pa.array(["2020-01-02T13:00:00+01:00"]), NOON),
    ("t", pa.array([1577966400000]), NOON),
    ("x", pa.array([b"hi"]), b"hi"),
    ("x", pa.array([b"hi"], pa.binary(2)), b"hi"),
    ("x", pa.array(["base64:aGk="]), b"hi"),
    ("v", pa.array([[1, 2, 3]], pa.list_(pa.float64(), 3)), [1.0, 2.0, 3.0]),
    ("v", pa.array([[1, 2, 3]], pa.list_(pa.int64())), [1.0, 2.0, 3.0]),
    ("v", pa.array([[1, 2, 3]], pa.large_list(pa.float32())), [1.0, 2.0, 3.0]),
    ("v", pa.array([struct.pack("<3f", 1, 2, 3)]), [1.0, 2.0, 3.0]),
    ("v", pa.array([struct.pack("<3f", 1, 2, 3)], pa.binary(12)), [1.0, 2.0, 3.0]),
    ("v", pa.array([struct.pack("<3f", 1, 2, 3)], pa.large_binary()), [1.0, 2.0, 3.0]),
    ("ls", pa.array([["a", "b"]], pa.large_list(pa.large_utf8())), ["a", "b"]),
    ("ls", pa.array([["a"]], pa.list_(pa.dictionary(pa.int8(), pa.utf8()))), ["a"]),
    ("ls", pa.array([[]], pa.list_(pa.null())), []),
    ("li", pa.array([[1, 2]], pa.list_(pa.int8(), 2)), [1, 2]),
    ("ld", pa.array([["2020-01-02"]]), [date(2020, 1, 2)]),
    ("e", pa.array(["red"]).dictionary_encode(), "red"),
    ("s", pa.nulls(1), None),
    ("v", pa.nulls(1), None),
]


@pytest.mark.parametrize(("prop", "array", "stored"), CASTS, ids=str)
def test_a_column_that_means_the_same_is_cast(prop: str, array: pa.Array, stored: object) -> None:
    both = pa.concat_arrays([array, pa.nulls(1, array.type), array])
    # A slice of a chunked table, as real data arrives.
    rows, lines, violations = _read("Every", pa.table({prop: both}).slice(1))
    assert violations.samples == ()
    assert [row[prop] for row in rows] == [None, stored]
    assert lines == [1, 2]


def test_a_message_without_any_vector_has_no_memory_for_their_numbers() -> None:
    none = pa.record_batch({"v": pa.array([None, None], pa.list_(pa.float32()))})
    sent = pa.BufferOutputStream()
    with pa.ipc.new_stream(sent, none.schema) as stream:
        stream.write_batch(none)
    rows, _, violations = _read("Every", pa.ipc.open_stream(sent.getvalue()))
    assert violations.samples == ()
    assert [row["v"] for row in rows] == [None, None]


BAD_VALUES = [
    ("i32", pa.array([1, 2**31, 3], pa.int64())),
    ("i32", pa.array([1.0, 1.5, 2.0])),
    ("i32", pa.array([1.0, float("nan"), 2.0])),
    ("u32", pa.array([1, -1, 3])),
    ("f32", pa.array([1.0, 1e39, 2.0])),
    ("d", pa.array(["2020-01-01", "x", "2020-01-02"])),
    ("t", pa.array(["2020-01-01", "2020-13-01", "2020-01-02"])),
    ("t", pa.array([0, 2**62, 1], pa.timestamp("s"))),
    ("v", pa.array([[1, 2, 3], [1, 2], [1, 2, 3]], pa.list_(pa.float32()))),
    ("v", pa.array([[1, 2, 3], [1, None, 3], [1, 2, 3]], pa.list_(pa.float32()))),
    ("v", pa.array([[1, 2, 3], [1, float("nan"), 3], [1, 2, 3]], pa.list_(pa.float32()))),
    ("v", pa.array([bytes(12), bytes(13), bytes(12)])),
    ("v", pa.array([bytes(12), struct.pack("<3f", 1, float("nan"), 3), bytes(12)])),
    ("x", pa.array(["base64:", "s3://b/k", "base64:"])),
    ("li", pa.array([[1], [2.5], [3]], pa.list_(pa.float64()))),
]


@pytest.mark.parametrize(("prop", "array"), BAD_VALUES, ids=str)
def test_a_value_that_cannot_be_stored_is_located_and_its_row_left_out(prop: str, array: pa.Array) -> None:
    rows, lines, violations = _read("Every", pa.table({prop: array}))
    [found] = violations.samples
    assert (found.code, found.property, found.place and found.place.line) == (ViolationCode.TYPE, prop, 2)
    assert f"Every.{prop}" in found.message
    assert lines == [1, 3]
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("prop", "array"),
    [
        ("s", pa.array([1])),
        ("s", pa.array([b"x"])),
        ("b", pa.array([1])),
        ("i32", pa.array(["1"])),
        ("i32", pa.array([True])),
        ("f64", pa.array(["1.5"])),
        ("d", pa.array([1.5])),
        ("t", pa.array([True])),
        ("x", pa.array([1])),
        ("v", pa.array(["x"])),
        ("v", pa.array([["x"]])),
        ("ls", pa.array(["a"])),
        ("ls", pa.array([[1]])),
        ("s", pa.array([{"a": 1}])),
    ],
    ids=str,
)
def test_a_column_of_the_wrong_kind_is_one_violation(prop: str, array: pa.Array) -> None:
    rows, _, violations = _read("Every", pa.table({prop: pa.concat_arrays([array] * 5)}))
    assert rows == []
    [found] = violations.samples
    assert (found.code, found.property, found.place) == (ViolationCode.TYPE, prop, None)


TEXTS = [
    ("s", "7", "7"),
    ("b", "true", True),
    ("i32", " -7 ", -7),
    ("u64", str(2**64 - 1), 2**64 - 1),
    ("f64", "1e3", 1000.0),
    ("f32", "0.5", 0.5),
    ("d", "2020-01-02", date(2020, 1, 2)),
    ("t", "2020-01-02T12:00:00Z", NOON),
    ("x", "base64:aGk=", b"hi"),
    ("v", "[1, 2.5, 3]", [1.0, 2.5, 3.0]),
    ("ls", '["a", "b"]', ["a", "b"]),
    ("li", "[]", []),
    ("e", "red", "red"),
]


@pytest.mark.parametrize(("prop", "text", "stored"), TEXTS, ids=str)
def test_texts_are_read_as_what_they_say_where_that_is_asked_for(prop: str, text: str, stored: object) -> None:
    rows, _, violations = _read("Every", pa.table({prop: [text, None]}), from_texts=True)
    assert violations.samples == ()
    assert [row[prop] for row in rows] == [stored, None]


@pytest.mark.parametrize(
    ("prop", "text"),
    [
        ("b", "maybe"),
        ("i32", "1.5"),
        ("i32", str(2**31)),
        ("f64", "one"),
        ("v", "[1, 2]"),
        ("ls", "a"),
        ("li", '{"a": 1}'),
    ],
    ids=str,
)
def test_a_text_that_says_something_else_is_located(prop: str, text: str) -> None:
    good = {name: value for name, value, _ in TEXTS}[prop]
    _, lines, violations = _read("Every", pa.table({prop: [good, text, good]}), from_texts=True)
    [found] = violations.samples
    assert (found.code, found.place and found.place.line) == (ViolationCode.TYPE, 2)
    assert lines == [1, 3]


def test_references_are_made_from_the_key_of_the_node_they_lead_to() -> None:
    person, pair, every = (CATALOG.nodes[name] for name in ("Person", "Pair", "Every"))
    assert reference_ids(person, [pa.array(["a", None])]).to_pylist() == ["a", None]
    assert reference_ids(person, [pa.array([7])]).to_pylist() == ["7"]
    assert reference_ids(every, [pa.array([7, None])]).to_pylist() == ["7", None]
    structs = pa.array([{"a": 1}])
    assert reference_ids(person, [structs]).to_pylist() == [None]
    knows = pa.table({"from": reference_ids(every, [structs]), "to": ["a"]})
    assert [item.message for item in _read("Knows", knows)[2].samples] == [
        "src: expected a column of text, got struct<a: int64>"
    ]
    assert pair.key == ("number", "tenant")
    numbers = pa.array(["007", "x", "8"])
    assert reference_ids(pair, [numbers, pa.array(["t", "t", 'q"'])]).to_pylist() == ['["7","t"]', None, '["8","q\\""]']
    assert reference_ids(pair, [pa.array([7], pa.int32()), pa.array(["t"])]).to_pylist() == ['["7","t"]']


def test_unknown_doubled_and_missing_columns_are_reported_once() -> None:
    _, _, violations = _read("Person", pa.table({"nam": ["a"], "age": [1]}))
    assert [(item.code, item.property) for item in violations.samples] == [
        (ViolationCode.UNKNOWN_PROPERTY, "nam"),
        (ViolationCode.REQUIRED, "name"),
    ]
    _, _, violations = _read("Knows", pa.table({"from": ["a"], "src": ["a"], "to": ["b"]}))
    assert [item.code for item in violations.samples] == [ViolationCode.MALFORMED]


def test_ids_are_derived_given_or_minted() -> None:
    assert _read("Person", pa.table({"name": ["a"]}))[0][0]["id"] == "a"
    assert _read("Every", pa.table({"id": ["x", None]}))[0][1]["id"] == "minted-000001"
    assert _read("Every", pa.table({"s": ["x"]}))[0][0]["id"] == "minted-000001"
    pairs = pa.table({"tenant": ["t", "t"], "number": [1, 2], "id": ['["1","t"]', "other"]})
    rows, lines, violations = _read("Pair", pairs)
    assert (rows[0]["id"], lines) == ('["1","t"]', [1])
    assert [(item.code, item.entity_id) for item in violations.samples] == [(ViolationCode.KEY, "other")]


@pytest.mark.parametrize("names", [("from", "to"), ("src", "dst")])
def test_edges_are_found_by_either_name_of_their_ends(names: tuple[str, str]) -> None:
    rows, _, violations = _read("Knows", pa.table({names[0]: ["a", None], names[1]: ["b", "c"]}))
    assert [(row["src"], row["dst"]) for row in rows] == [("a", "b")]
    assert [(item.code, item.place and item.place.line) for item in violations.samples] == [(ViolationCode.REQUIRED, 2)]


def test_required_nulls_are_reported_with_their_rows() -> None:
    data = pa.table({"n": [1, None], "v": [[1, 2]] * 2, "l": [[1]] * 2})
    _, lines, violations = _read("Strict", data)
    assert lines == [1]
    assert [(item.property, item.place and item.place.line) for item in violations.samples] == [("n", 2)]


def test_frames_of_pandas_and_polars_are_taken() -> None:
    panda = pd.DataFrame({"name": ["a", "b"], "age": [1, None], "seen": pd.to_datetime(["2020-01-02T12:00:00"] * 2)})
    rows, _, violations = _read("Person", panda)
    assert not violations.total
    assert [(row["name"], row["age"], row["seen"]) for row in rows] == [("a", 1, NOON), ("b", None, NOON)]
    indexed = _read("Person", panda.set_index(pd.Index([5, 7])))
    assert not indexed[2].total
    polar = pl.DataFrame({"name": ["a", "b"], "born": [date(2020, 1, 2), None], "tags": [["x"], None]})
    rows, _, violations = _read("Person", polar)
    assert not violations.total
    assert [(row["born"], row["tags"]) for row in rows] == [(date(2020, 1, 2), ["x"]), (None, None)]


def test_readers_and_batches_stream_with_running_row_numbers() -> None:
    table = pa.table({"name": [str(n) for n in range(10)], "age": [1] * 7 + [2**40] + [1] * 2})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=3))
    _, lines, violations = _read("Person", reader, batch_rows=2)
    assert lines == [1, 2, 3, 4, 5, 6, 7, 9, 10]
    assert violations.samples[0].place is not None
    assert violations.samples[0].place.line == 8
    assert _read("Person", table.to_batches()[0])[1] == lines


def test_data_that_is_no_arrow_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="list is not Arrow data"):
        as_reader([1])
