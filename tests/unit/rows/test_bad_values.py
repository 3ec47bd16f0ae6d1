"""A value that cannot be printed, compared or written again is refused on every path into a table, with its place."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from omnigraph.core.temporal import DAYS_RANGE, MILLISECONDS_RANGE, format_date, format_datetime
from omnigraph.rows.read.arrow import from_arrow
from omnigraph.rows.violations import ViolationCode, Violations
from tests.unit.rows.schemas import CATALOG, minting, read, read_dicts, read_exactly

DAY = 86_400_000
FIRST_DAY, LAST_DAY = DAYS_RANGE
FIRST_MS, LAST_MS = MILLISECONDS_RANGE
NOT_FINITE = [float("nan"), float("inf"), float("-inf")]

# Property, a good value, a bad one; both as in JSON.
BAD = [
    *(("d", 0, day) for day in (FIRST_DAY - 1, LAST_DAY + 1, -(2**31), 2**31 - 1)),
    *(("t", 0, moment) for moment in (FIRST_MS - 1, LAST_MS + 1, -(2**63), 2**63 - 1)),
    ("ld", [0], [0, LAST_DAY + 1]),
    ("lt", [0], [FIRST_MS - 1]),
    *(("f64", 1.0, number) for number in NOT_FINITE),
    *(("f32", 1.0, number) for number in NOT_FINITE),
    *(("lf", [1.0], [1.0, number]) for number in NOT_FINITE),
    *(("v", [1.0, 2.0, 3.0], [1.0, number, 3.0]) for number in NOT_FINITE),
    ("ls", ["a"], ["a", None]),
    ("ls", ["a"], [None]),
    ("li", [1], [None, 1]),
    ("lf", [1.0], [None]),
    ("ld", [0], [0, None]),
    ("lt", [0], [None]),
    ("lb", [True], [True, None]),
]


def _lines(prop: str, values: list[object]) -> bytes:
    return "".join(json.dumps({"type": "Every", "data": {prop: value}}) + "\n" for value in values).encode()


def _from_lines(prop: str, values: list[object]) -> Violations:
    return read(_lines(prop, values))[1]


def _from_lines_one_by_one(prop: str, values: list[object]) -> Violations:
    return read_exactly(_lines(prop, values))[1]


def _from_records(prop: str, values: list[object]) -> Violations:
    return read_dicts([{"type": "Every", "data": {prop: value}} for value in values])[1]


def _from_arrow(prop: str, values: list[object]) -> Violations:
    return _arrow(pa.table({prop: pa.array(values)}))


def _from_texts(prop: str, values: list[object]) -> Violations:
    is_nested = isinstance(values[0], list)
    texts = [json.dumps(value) if is_nested else str(value) for value in values]
    return _arrow(pa.table({prop: texts}), from_texts=True)


def _arrow(table: pa.Table, **options: bool) -> Violations:
    violations = Violations()
    every = CATALOG.nodes["Every"]
    for piece in from_arrow(every, table, source="f.jsonl", mint_ids=minting(), violations=violations, **options):
        piece.batch.validate(full=True)
    return violations


PATHS: list[Callable[[str, list[object]], Violations]] = [
    _from_lines,
    _from_lines_one_by_one,
    _from_records,
    _from_arrow,
    _from_texts,
]


def _refused(found: Violations, prop: str) -> None:
    [violation] = found.samples
    place = violation.place and violation.place.line
    # NaN and infinities are no JSON, so the line is wrong as a whole.
    assert violation.code in (ViolationCode.TYPE, ViolationCode.MALFORMED)
    assert place == 2
    if violation.code is ViolationCode.TYPE:
        assert violation.property == prop
        assert f"Every.{prop}" in violation.message


def _cases() -> Iterator[object]:
    for path in PATHS:
        for prop, good, bad in BAD:
            # Texts are read as ISO dates, not as numbers of days or milliseconds.
            if path is not _from_texts or prop not in ("d", "t"):
                yield pytest.param(path, prop, good, bad, id=f"{path.__name__}-{prop}-{bad}")


@pytest.mark.parametrize(("path", "prop", "good", "bad"), list(_cases()))
def test_no_path_takes_what_another_refuses(
    path: Callable[[str, list[object]], Violations], prop: str, good: object, bad: object
) -> None:
    assert path(prop, [good, good]).samples == ()
    _refused(path(prop, [good, bad, good]), prop)


EDGES = [("d", FIRST_DAY), ("d", LAST_DAY), ("t", FIRST_MS), ("t", LAST_MS), ("ld", [LAST_DAY]), ("lt", [FIRST_MS])]


@pytest.mark.parametrize("path", PATHS[:-1])
@pytest.mark.parametrize(("prop", "value"), EDGES)
def test_the_first_and_the_last_day_and_moment_are_values(
    path: Callable[[str, list[object]], Violations], prop: str, value: object
) -> None:
    assert path(prop, [value]).samples == ()


def test_the_range_is_what_can_be_printed() -> None:
    assert (format_date(FIRST_DAY), format_date(LAST_DAY)) == ("0001-01-01", "9999-12-31")
    assert format_datetime(FIRST_MS) == "0001-01-01T00:00:00.000Z"
    assert format_datetime(LAST_MS) == "9999-12-31T23:59:59.999Z"
    for format_, value in ((format_date, FIRST_DAY - 1), (format_date, LAST_DAY + 1), (format_datetime, LAST_MS + 1)):
        with pytest.raises(OverflowError):
            format_(value)


EAST, WEST = timezone(timedelta(hours=1)), timezone(timedelta(hours=-1))


@pytest.mark.parametrize("prop", ["d", "t"])
@pytest.mark.parametrize(
    "value", [datetime(1, 1, 1, tzinfo=EAST), datetime(9999, 12, 31, 23, 30, tzinfo=WEST)], ids=str
)
def test_a_python_time_that_its_zone_moves_out_of_range_is_refused(prop: str, value: datetime) -> None:
    _refused(_from_records(prop, [datetime(2020, 1, 1, tzinfo=UTC), value, date(2020, 1, 1)]), prop)


ARROW_TIMES = [
    ("d", pa.array([0, LAST_DAY + 1, 1], pa.date32())),
    ("d", pa.array([0, (LAST_DAY + 1) * DAY, DAY], pa.int64()).view(pa.date64())),
    ("d", pa.array([0, FIRST_MS - 1, 1], pa.timestamp("ms"))),
    ("d", pa.array([0, 2**62, 1], pa.timestamp("ms"))),
    ("d", pa.array([0, LAST_MS * 1000 + 1000, 1], pa.timestamp("us", tz="UTC"))),
    ("t", pa.array([0, LAST_DAY + 1, 1], pa.date32())),
    ("t", pa.array([0, 2**31 - 1, 1], pa.int32()).view(pa.date32())),
    ("t", pa.array([0, FIRST_MS - DAY, 0], pa.int64()).view(pa.date64())),
    ("t", pa.array([0, LAST_MS // 1000 + 1, 1], pa.timestamp("s"))),
    ("t", pa.array([0, -(2**63), 1], pa.timestamp("us", tz="UTC"))),
    ("ld", pa.array([[0], [LAST_DAY + 1], [1]], pa.list_(pa.date32()))),
    ("lt", pa.array([[0], [LAST_MS + 1], [1]], pa.list_(pa.timestamp("ms")))),
]


@pytest.mark.parametrize(("prop", "array"), ARROW_TIMES, ids=str)
def test_dates_and_times_of_every_arrow_type_have_the_same_range(prop: str, array: pa.Array) -> None:
    _refused(_arrow(pa.table({prop: array})), prop)


def _invalid(*texts: bytes) -> pa.Array:
    """Texts without a check of their bytes, as a foreign writer makes them."""
    raw = pa.array(texts, pa.binary())
    return pa.Array.from_buffers(pa.utf8(), len(raw), raw.buffers())


BROKEN = _invalid(b"a", b"caf\xe9", b"b")
IN_LISTS = pa.ListArray.from_arrays([0, 1, 2, 3], BROKEN)
INVALID_TEXTS = [
    ("s", BROKEN),
    ("s", BROKEN.cast(pa.large_utf8())),
    ("s", BROKEN.cast(pa.string_view())),
    ("s", BROKEN.dictionary_encode()),
    ("e", BROKEN),
    ("ls", IN_LISTS),
    ("ls", IN_LISTS.cast(pa.large_list(pa.large_utf8()))),
    ("d", _invalid(b"2020-01-01", b"2020\xff", b"2020-01-02")),
    ("t", _invalid(b"2020-01-01", b"2020\xff", b"2020-01-02")),
    ("x", _invalid(b"base64:", b"base64:\xff", b"base64:")),
    ("id", BROKEN),
]


@pytest.mark.parametrize("from_texts", [False, True], ids=["typed", "from_texts"])
@pytest.mark.parametrize(("prop", "array"), INVALID_TEXTS, ids=lambda value: str(getattr(value, "type", value)))
def test_bytes_that_are_no_utf8_are_a_violation_with_their_row(prop: str, array: pa.Array, from_texts: bool) -> None:
    [found] = _arrow(pa.table({prop: array}), from_texts=from_texts and prop != "ls").samples
    assert (found.code, found.property, found.place and found.place.line) == (ViolationCode.TYPE, prop, 2)
    assert "UTF-8" in found.message


@pytest.mark.parametrize("prop", ["b", "i32", "f64", "v", "li"])
def test_bytes_that_are_no_utf8_are_no_number_either(prop: str) -> None:
    good = {"b": b"true", "v": b"[1,2,3]", "li": b"[1]"}.get(prop, b"1")
    [found] = _arrow(pa.table({prop: _invalid(good, good + b"\xff", good)}), from_texts=True).samples
    assert (found.code, found.place and found.place.line) == (ViolationCode.TYPE, 2)


def test_bytes_under_a_null_are_not_looked_at() -> None:
    nulled = pa.Array.from_buffers(pa.utf8(), 3, [pa.py_buffer(b"\x05"), *BROKEN.buffers()[1:]])
    assert _arrow(pa.table({"s": nulled})).samples == ()
    hidden = pa.ListArray.from_arrays([0, 1, 3], pa.array(["a", None, "b"]), mask=pa.array([False, True]))
    assert _arrow(pa.table({"ls": hidden})).samples == ()
