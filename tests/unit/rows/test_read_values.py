"""Every type accepts exactly the JSON values it should, and stores what they mean."""

import json
from datetime import UTC, date, datetime

import pytest

from omnigraph.rows.violations import ViolationCode
from tests.unit.rows.schemas import CATALOG, one, read_dicts, refused

NOON = datetime(2020, 1, 2, 12, 0, tzinfo=UTC)

ACCEPTED = [
    ("s", '"x"', "x"),
    ("s", '""', ""),
    ("s", '"\\u0000\\ud83d\\ude00\\"\\/"', '\0😀"/'),
    ("b", "true", True),
    ("b", "false", False),
    ("i32", "2147483647", 2**31 - 1),
    ("i32", "-2147483648", -(2**31)),
    ("i32", "-0", 0),
    ("i64", "-9223372036854775808", -(2**63)),
    ("u32", "4294967295", 2**32 - 1),
    ("u32", "-0", 0),
    ("u64", "18446744073709551615", 2**64 - 1),
    ("f64", "1", 1.0),
    ("f64", "1e2", 100.0),
    ("f64", "1e-400", 0.0),
    ("f64", "18446744073709551617", 2.0**64),
    ("f64", "1.7976931348623157e308", 1.7976931348623157e308),
    ("f32", "16777217", 16777216.0),
    ("f32", "3.4028235e38", 3.4028234663852886e38),
    ("d", '"2020-01-02"', date(2020, 1, 2)),
    ("d", '"20200102"', date(2020, 1, 2)),
    ("d", '"2020-1-2"', date(2020, 1, 2)),
    ("d", '"2020-01-03T01:00:00+02:00"', date(2020, 1, 2)),
    ("d", "-1", date(1969, 12, 31)),
    ("t", '"2020-01-02T12:00:00Z"', NOON),
    ("t", '"2020-01-02 12:00:00"', NOON),
    ("t", '"2020-01-02T14:00:00.0009+02:00"', NOON),
    ("t", '"2020-01-02"', datetime(2020, 1, 2, tzinfo=UTC)),
    ("t", "1577966400000", NOON),
    ("x", '"base64:aGk="', b"hi"),
    ("x", '"base64:"', b""),
    ("v", "[1, 2.5, -3e0]", [1.0, 2.5, -3.0]),
    ("e", '"red"', "red"),
    ("e", '"no member"', "no member"),
    ("ls", "[]", []),
    ("ls", '["a", "b"]', ["a", "b"]),
    ("li", "[1, -2]", [1, -2]),
    ("lf", "[1, 0.5]", [1.0, 0.5]),
    ("ld", '["2020-01-02", 0]', [date(2020, 1, 2), date(1970, 1, 1)]),
    ("lt", "[0]", [datetime(1970, 1, 1, tzinfo=UTC)]),
    ("lb", "[true, false]", [True, False]),
]
REFUSED = [
    ("s", ["1", "true", "[]", "{}", '"\\ud800"', '"\\udc00x"']),
    ("b", ["0", '"true"', "[]"]),
    ("i32", ["2147483648", "-2147483649", "1.0", "1e2", '"1"', "true", "[1]", "9" * 5000]),
    ("i64", ["9223372036854775808", "1.5"]),
    ("u32", ["-1", "4294967296"]),
    ("u64", ["-1", "18446744073709551616"]),
    ("f64", ["1e400", "-1e400", '"1"', "true", "9" * 400, "9" * 5000]),
    ("f32", ["3.5e38", "-1e39", '"0"']),
    ("d", ['"2020-02-30"', '"tomorrow"', '"0000-01-01"', "1.5", "true", "2147483648", '""', "-719163", "2932897"]),
    (
        "t",
        ['"2020-01-02T25:00:00Z"', '"x"', "1.5", "9223372036854775808", "false", "-62135596800001", "253402300800000"],
    ),
    ("x", ['"base64:a"', '"base64:aGk"', '"base64:a GK="', '"base64:aGk=="', '""', "1", '"s3://b/k"']),
    ("v", ["[1,2]", "[1,2,3,4]", "[1,2,null]", '[1,2,"3"]', "[1,2,1e39]", "[1,2,true]", '"x"', "{}", "[]"]),
    ("e", ["1", "[]"]),
    ("ls", ['"a"', "[1]", "{}", '[["a"]]', '["a", null]']),
    ("li", ["[1.0]", '["1"]', "[true]", "[null]"]),
    ("ld", ['["x"]', "[1.5]"]),
]


@pytest.mark.parametrize(("prop", "value", "stored"), ACCEPTED)
def test_a_value_that_fits_is_stored_as_what_it_means(prop: str, value: str, stored: object) -> None:
    row = one(f'{{"type":"Every","data":{{"{prop}":{value}}}}}')
    assert row[prop] == stored
    # Next to another record written in another way, so that no path reads all of them at once.
    row = one(f'{{"data":{{"{prop}":{value}}},"type":"Every"}}')
    assert row[prop] == stored


@pytest.mark.parametrize(("prop", "value"), [(prop, value) for prop, values in REFUSED for value in values])
def test_a_value_that_does_not_fit_is_a_violation_that_names_the_property(prop: str, value: str) -> None:
    [found] = refused(f'\n{{"type":"Every","data":{{"{prop}":{value}}}}}')
    assert (found.code, found.table_key, found.property) == (ViolationCode.TYPE, "node:Every", prop)
    assert found.place is not None
    assert found.place.line == 2
    assert f"Every.{prop}" in found.message
    assert len(found.message) < 400


@pytest.mark.parametrize("prop", sorted(CATALOG.nodes["Every"].properties))
def test_null_and_missing_are_the_same_in_a_nullable_property(prop: str) -> None:
    assert one(f'{{"type":"Every","data":{{"{prop}":null}}}}')[prop] is None
    assert one('{"type":"Every"}')[prop] is None


@pytest.mark.parametrize("missing", ["", '"n":null,', '"zero":0,'])
def test_a_required_property_may_be_neither_null_nor_missing(missing: str) -> None:
    found = refused(f'{{"type":"Strict","data":{{{missing}"v":[1,2],"l":[]}}}}')
    [required] = [item for item in found if item.code is ViolationCode.REQUIRED]
    assert required.property == "n"


def test_an_outside_blob_is_refused_with_a_way_out() -> None:
    [found] = refused('{"type":"Every","data":{"x":"https://example.org/a"}}')
    assert "https://example.org/a" in found.message
    assert "base64:" in found.message


def test_python_dates_times_and_bytes_are_values_of_records() -> None:
    data: dict[str, object] = {"d": date(2020, 1, 2), "t": NOON, "x": b"hi", "lt": (NOON, NOON), "v": (1, 2, 3)}
    rows, violations = read_dicts([{"type": "Every", "data": data}])
    assert not violations.total
    [row] = rows[0].batch.to_pylist()
    assert (row["d"], row["t"], row["x"]) == (date(2020, 1, 2), NOON, b"hi")
    assert (row["lt"], row["v"]) == ([NOON, NOON], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("prop", "value"), [("f64", float("nan")), ("f32", float("inf")), ("s", b"x"), ("i32", 1.0), ("s", "\ud800")]
)
def test_python_values_are_judged_as_strictly_as_json(prop: str, value: object) -> None:
    rows, violations = read_dicts([{"type": "Every"}, {"type": "Every", "data": {prop: value}}])
    assert sum(piece.batch.num_rows for piece in rows) == 1
    [found] = violations.samples
    assert (found.code, found.property, found.place and found.place.line) == (ViolationCode.TYPE, prop, 2)


@pytest.mark.parametrize(("prop", "value", "stored"), ACCEPTED)
def test_records_give_what_their_lines_give(prop: str, value: str, stored: object) -> None:
    rows, violations = read_dicts([{"type": "Every", "data": {prop: json.loads(value)}}])
    assert not violations.total
    assert rows[0].batch.to_pylist()[0][prop] == stored
