"""Filters: which values are exact, which types work, when an index is used."""

import datetime as dt
from decimal import Decimal

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest

HOSTILE = [
    "x' OR '1'='1",
    "'",
    "''",
    '"',
    "\\",
    "\\'",
    "a\nb",
    "a\tb",
    "\x00",
    "; DROP TABLE t",
    "--",
    "%",
    "_",
    "$1",
    "`",
    "{}",
    "é",
    "🙂",
    " ",
    "",
]

FILTERABLE = {
    pa.bool_(): True,
    pa.int8(): 5,
    pa.int16(): 5,
    pa.int32(): 5,
    pa.int64(): 5,
    pa.float32(): 5.5,
    pa.float64(): 5.5,
    pa.string(): "five",
    pa.binary(): b"five",
    pa.date32(): dt.date(2020, 1, 5),
    pa.timestamp("us"): dt.datetime(2020, 1, 5),
    pa.timestamp("us", "UTC"): dt.datetime(2020, 1, 5, tzinfo=dt.UTC),
    pa.decimal128(10, 2): Decimal("5.00"),
}


@pytest.fixture
def hostile(place):
    return lance.write_dataset(pa.table({"id": HOSTILE}), place.uri("t"))


@pytest.mark.parametrize("value", HOSTILE)
def test_an_expression_matches_exactly_the_hostile_value(hostile, value):
    """Values of users reach filters as expressions, which have no syntax to break out of."""
    assert hostile.to_table(filter=pc.field("id") == pa.scalar(value))["id"].to_pylist() == [value]
    assert hostile.to_table(filter=pc.field("id").isin([value]))["id"].to_pylist() == [value]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_string_filter_with_doubled_quotes_matches_exactly_the_hostile_value(hostile, value):
    """The way out for column types expressions cannot name: doubling the quote is the whole escaping."""
    quoted = "'" + value.replace("'", "''") + "'"
    assert hostile.to_table(filter=f"id = {quoted}")["id"].to_pylist() == [value]


def test_a_string_filter_built_without_escaping_can_match_everything(hostile):
    """The danger the filter module exists for."""
    assert hostile.to_table(filter="id = 'x' OR '1'='1'").num_rows == len(HOSTILE)


def test_a_hostile_key_upserts_exactly_one_row(place, people):
    """Keys go to `merge_insert` as data, never as text."""
    base = people.create(place.uri("p"), dict.fromkeys(HOSTILE, 0))
    for value in HOSTILE:
        ages = people.ages(people.upsert(base, {value: 1}))
        assert [name for name, age in ages.items() if age == 1] == [value]
        assert value not in people.ages(people.delete(base, [value]))


@pytest.mark.parametrize(("data_type", "value"), FILTERABLE.items(), ids=str)
def test_a_typed_literal_matches_and_uses_the_index(place, data_type, value):
    """The storage types of properties are chosen among these."""
    table = pa.table({"c": pa.array([value, None], data_type), "other": [1, 2]})
    dataset = lance.write_dataset(table, place.uri("t"))
    dataset.create_scalar_index("c", "BTREE")
    for condition, rows in (
        (pc.field("c") == pa.scalar(value, data_type), 1),
        (pc.field("c").isin(pa.array([value], data_type)), 1),
        (pc.field("c").is_null(), 1),
    ):
        assert dataset.to_table(filter=condition).num_rows == rows
    assert uses_index(dataset, pc.field("c") == pa.scalar(value, data_type))


@pytest.mark.parametrize("data_type", [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.large_string()], ids=str)
def test_expressions_cannot_name_columns_of_some_types(place, data_type):
    """Properties are not stored as unsigned integers or large strings: filters on them would need text."""
    dataset = lance.write_dataset(
        pa.table({"c": pa.array([5], pa.int64()).cast(data_type), "other": [1]}), place.uri("t")
    )
    with pytest.raises(ValueError, match="not yet supported"):
        dataset.to_table(filter=pc.field("c") == pa.scalar("5" if data_type == pa.large_string() else 5, data_type))
    assert dataset.to_table(filter=pc.field("other") == 1).num_rows == 1


@pytest.mark.parametrize(
    ("data_type", "value"), [(pa.time64("us"), dt.time(1)), (pa.duration("us"), dt.timedelta(1))], ids=str
)
def test_a_column_of_time_or_duration_breaks_every_expression_on_its_table(place, data_type, value):
    """Such properties are stored as integers: one column would take expression filters from the whole table."""
    dataset = lance.write_dataset(pa.table({"c": pa.array([value], data_type), "other": [1]}), place.uri("t"))
    with pytest.raises((ValueError, NotImplementedError)):
        dataset.to_table(filter=pc.field("other") == 1)
    assert dataset.to_table(filter="other = 1").num_rows == 1


def uses_index(dataset, condition) -> bool:
    return "ScalarIndexQuery" in dataset.scanner(filter=condition).explain_plan()


@pytest.fixture
def numbers(place):
    dataset = lance.write_dataset(pa.table({"small": pa.array(range(100), pa.int32())}), place.uri("n"))
    dataset.create_scalar_index("small", "BTREE")
    return dataset


def test_a_literal_of_a_wider_integer_type_still_uses_the_index(numbers):
    """A literal that fits is brought to the column's type, so an int64 from a query text is as fast as an int32."""
    for condition in (
        "small = 5",
        pc.field("small") == 5,
        pc.field("small") == pa.scalar(5, pa.int64()),
        pc.field("small") == pa.scalar(5, pa.int32()),
    ):
        assert uses_index(numbers, condition)
        assert numbers.to_table(filter=condition).num_rows == 1


@pytest.mark.parametrize("literal", ["5000000000", "5.0", "5.5", "'5'"])
def test_a_literal_that_does_not_fit_the_column_is_an_error_not_an_empty_answer(numbers, literal):
    """So the filter module casts literals itself and answers "matches nothing" before it asks Lance."""
    with pytest.raises(ValueError, match="literal"):
        numbers.to_table(filter=f"small = {literal}")


def test_an_expression_whose_literal_does_not_fit_is_an_error_too(numbers):
    """The same rule for both ways of writing a filter."""
    for literal in (5_000_000_000, 5.5):
        with pytest.raises(ValueError, match="cast"):
            numbers.to_table(filter=pc.field("small") == literal)


def test_arithmetic_on_the_column_scans(numbers):
    """Rewrites keep the bare column on one side of a comparison."""
    assert not uses_index(numbers, "small + 0 = 5")
    assert numbers.to_table(filter="small + 0 = 5").num_rows == 1
