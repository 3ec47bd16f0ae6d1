"""Random tables: the inferred schema compiles, the same data loads into it, and what is read back is what was given."""

import csv
import itertools
import json
import math
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.core.temporal import date_to_days, datetime_to_milliseconds, parse_date, parse_datetime

NAMES = ("name", "Full Name", "AGE", "2nd", "größe", "id2", "_rowid", "b c", "b-c", "type", "%", "start", "email")
TEXTS = (
    "007",
    "12",
    "-3",
    "1e5",
    "1.50",
    ".5",
    "nan",
    "true",
    "FALSE",
    "yes",
    "[]",
    "[1,2]",
    '["a"]',
    "[1,null]",
    "{}",
)
MORE_TEXTS = (
    "2020-01-31",
    "2020-02-31",
    "2020-1-2 10:00",
    "2020-01-01T10:00:00.123Z",
    "0000-01-01",
    "99999999999999999999",
)
Columns: TypeAlias = dict[str, list[str | None]]
"""Columns as texts, None for null."""

_letters = st.characters(exclude_categories=("Cs", "Cc"), max_codepoint=0x3000)
_text = st.one_of(st.sampled_from(TEXTS + MORE_TEXTS), st.text(_letters, min_size=1, max_size=6))
_column = st.one_of(
    st.lists(_text, min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from([*TEXTS, ""]), min_size=1, max_size=1),
    st.lists(st.integers(-(2**63), 2**63 - 1).map(str), min_size=1, max_size=4),
    st.lists(st.floats(allow_nan=False, allow_infinity=False).map(repr), min_size=1, max_size=4),
    st.lists(st.dates(date(2, 1, 1)).map(str), min_size=1, max_size=4),
    st.lists(
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=3).map(json.dumps), min_size=1
    ),
)


@st.composite
def _tables(draw: st.DrawFn) -> tuple[Columns, Columns]:
    """Columns of nodes as text, the key first, and of edges between them."""
    rows = draw(st.integers(1, 20))
    key = draw(st.sampled_from(["id", "person_id", "key", "ID"]))
    is_number = draw(st.booleans())
    keys: list[str | None] = [str(number * 7) if is_number else f"k {number}" for number in range(rows)]
    people: Columns = {key: keys}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4)):
        values: list[str | None] = [*draw(_column), *([None] if draw(st.booleans()) else [])]
        people[name] = [value or None for value in itertools.islice(itertools.cycle(values), rows)]
    pairs = draw(st.lists(st.tuples(st.sampled_from(keys), st.sampled_from(keys)), max_size=5))
    knows: Columns = {"src": [pair[0] for pair in pairs], "dst": [pair[1] for pair in pairs]}
    return people, knows


def _write(path: Path, columns: Columns) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def _means(stored: object, text: str | None) -> bool:
    """The stored value is what the text says."""
    match stored:
        case None:
            return text is None
        case str():
            return stored == text
        case bool():
            return str(stored).lower() == str(text).strip().lower()
        case int() | float():
            return math.isclose(float(str(text)), stored, rel_tol=0 if isinstance(stored, int) else 1e-15)
        case datetime():
            return datetime_to_milliseconds(stored.astimezone(UTC)) == parse_datetime(str(text))
        case date():
            return date_to_days(stored) == parse_date(str(text))
        case list():
            return list(stored) == json.loads(str(text))
    raise AssertionError(stored)


def _check(graph: omnigraph.Graph, inferred: omnigraph.InferredSchema, columns: Columns) -> None:
    person = inferred.types[0]
    key = next(name for name, column in person.columns.items() if column == next(iter(columns)))
    stored = {str(row[key]): row for row in graph.sql("SELECT * FROM Person").to_pylist()}
    assert len(stored) == len(next(iter(columns.values())))
    for number, text in enumerate(next(iter(columns.values()))):
        for name, column in person.columns.items():
            assert _means(stored[str(text)][name], columns[column][number]), (name, stored, columns)


def _round_trip(directory: Path, people: Columns, knows: Columns) -> None:
    files = {"Person": _write(directory / "p.csv", people), "Knows": _write(directory / "k.csv", knows)}
    frames = {"Person": pa.table({name: pa.array(values, pa.utf8()) for name, values in people.items()})}
    for number, data in enumerate((files, frames)):
        inferred = omnigraph.infer_schema(data)
        graph = omnigraph.create(directory / f"{number}.omni", data, durability="os")
        assert graph.schema_text() == inferred.text
        _check(graph, inferred, people)
    assert omnigraph.open(directory / "0.omni").snapshot().counts().get("edge:Knows", 0) == len(knows["src"])


@settings(max_examples=12)
@given(_tables())
def test_data_loads_into_its_inferred_schema_and_reads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, tables: tuple[Columns, Columns]
) -> None:
    _round_trip(tmp_path_factory.mktemp("inferred"), *tables)


@pytest.mark.long
@settings(max_examples=150)
@given(_tables())
def test_many_random_tables_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, tables: tuple[Columns, Columns]
) -> None:
    _round_trip(tmp_path_factory.mktemp("inferred"), *tables)
