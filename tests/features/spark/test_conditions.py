"""The option ``where`` of the data source: the rows that Spark would find, read by storage alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import CompileError
from omnigraph.spark.cluster.spark_types import spark_schema
from omnigraph.spark.source.data_source import SourceReader
from omnigraph.spark.source.options import parse_options
from omnigraph.storage.tables.filters import filter_sql
from omnigraph.storage.tables.io_meter import IoMeter
from omnigraph.storage.tables.scan import fragment_rows
from tests.support.tuning import EAGER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = """
node Every {
    s: String @key
    b: Bool?
    i: I32? @index
    j: I64? @index
    u: U32? @index
    w: U64? @index
    f: F32? @index
    d: F64? @index
    day: Date? @index
    t: DateTime? @index
    x: Blob?
    v: Vector(2)?
    e: enum(red, green)?
    n: String? @index
    ls: [String]?
    lu: [U64]?
}
"""
_FLOATS = [0.0, -0.0, 0.1, -1.5, 2.0**24, 3.4028234663852886e38, None]
_TEXTS = [
    "", "a", "ab", "abc", "b%", "b_", "it's", 'say "a"', "back\\slash", "line\nbreak",
    "é", "日本", "日本語", "🙂", "\ud7ff", "\ue000", None,
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "b": [True, False, None],
    "i": [0, 1, -1, 7, 2**31 - 1, -(2**31), None],
    "j": [0, 2, -3, 2**53 + 1, 2**63 - 1, -(2**63), None],
    "u": [0, 1, 2**31, 2**32 - 1, None],
    "w": [0, 3, 2**53, 2**63, 2**64 - 1, None],
    "f": _FLOATS,
    "d": _FLOATS,
    "day": [date(1970, 1, 1), date(1969, 12, 31), date(2020, 2, 29), date(9999, 12, 31), date(1, 1, 1), None],
    "t": [
        datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
        datetime(2020, 2, 29, 12, 30, 0, 1_000, tzinfo=UTC), None,
    ],
    "e": ["red", "green", None],
    "n": _TEXTS,
    "ls": [["a", "b"], [], None],
    "lu": [[2**64 - 1], None],
}  # fmt: skip
ROWS = 97
"""No number of values divides it or is divided: every value of a column meets many of every other."""

CONDITIONS = Path(__file__).with_name("conditions.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A table of several fragments, one of them with indexes, some rows deleted."""
    types = {"b": pa.bool_(), "f": pa.float32(), "d": pa.float64(), "ls": pa.list_(pa.string())}
    types |= {"lu": pa.list_(pa.uint64()), "w": pa.uint64()}
    columns = {name: pa.array(list(islice(cycle(held), ROWS)), types.get(name)) for name, held in VALUES.items()}
    table = pa.table({"s": [f"k{number}" for number in range(ROWS)], **columns})
    graph = create(tmp_path_factory.mktemp("conditions") / "graph", SCHEMA, durability="os", tuning=EAGER)
    graph.load({"Every": table.slice(0, 60)}, "append")
    graph.optimize()
    graph.load({"Every": table.slice(60)}, "append")
    graph.mutate('query drop() { delete Every where s = "k70" }')
    return graph


def reader(graph: Graph, where: str, columns: Sequence[str] = ("s",)) -> SourceReader:
    snapshot = graph.snapshot()
    options = parse_options({"store": graph.uri, "type": "Every", "where": where})
    entity = options.entity(snapshot.catalog)
    schema = spark_schema(entity, columns)
    return SourceReader(snapshot.store, snapshot.state.tables["node:Every"], schema, options.filter(entity))


def found(graph: Graph, where: str) -> set[str]:
    reading = reader(graph, where)
    names = [name for part in reading.partitions() for batch in reading.read(part) for name in batch["s"].to_pylist()]
    assert len(names) == len(set(names))
    return set(names)


@pytest.fixture(scope="module")
def everything(graph: Graph, spark: SparkSession) -> Iterator[DataFrame]:
    frame = spark.read.format("omnigraph").options(store=graph.uri, type="Every").load().cache()
    assert frame.count() == ROWS - 1
    yield frame
    frame.unpersist()


def expected(everything: DataFrame, texts: Sequence[str]) -> list[set[str]]:
    """What Spark finds, for many conditions in one job."""
    from pyspark.sql import functions as f

    rows = everything.select("s", *(f.expr(text).alias(f"c{number}") for number, text in enumerate(texts))).collect()
    return [{row.s for row in rows if row[number + 1] is True} for number in range(len(texts))]


def test_storage_finds_the_rows_that_spark_would_find(graph: Graph, everything: DataFrame) -> None:
    wrong = [
        (text, sorted(found(graph, text) ^ rows))
        for text, rows in zip(CONDITIONS, expected(everything, CONDITIONS), strict=True)
        if found(graph, text) != rows
    ]
    assert not wrong


def columns_of(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from([name, name.upper(), f"`{name}`"])


def _texts(values: Sequence[str]) -> st.SearchStrategy[str]:
    quoted = [value.replace("\\", "\\\\").replace("'", "''") for value in values]
    return st.sampled_from([f"'{value}'" for value in quoted])


_WHOLE = ["0", "1", "-1", "2.5", "-0.5", "7", "3", "2147483647", "-2147483648", "2147483648", "-7e0", "1.5D", "NULL"]
_DOUBLES = [
    "0", "-0.0", "0.1", "0.1F", "0.1D", "-1.5", "16777217", "1e39", "-1e-46", "'NaN'",
    "'Infinity'", "'-inf'", "'0.1'", "NULL",
]  # fmt: skip
CONSTANTS: dict[str, st.SearchStrategy[str]] = {
    "b": st.sampled_from(["TRUE", "false", "'true'", "NULL"]),
    "i": st.sampled_from([*_WHOLE, "'7'"]),
    "j": st.sampled_from([*_WHOLE, "9007199254740993", "-9223372036854775808", "9223372036854775807", "'-3'"]),
    "u": st.sampled_from([*_WHOLE, "4294967295", "4294967296", "'1'"]),
    "w": st.sampled_from([*_WHOLE, "18446744073709551615", "18446744073709551616", "9007199254740992", "'3'"]),
    "f": st.sampled_from(_DOUBLES),
    "d": st.sampled_from(_DOUBLES),
    "day": st.sampled_from(["'1970-01-01'", "DATE '2020-02-29'", "'0001-1-1'", "'9999-12-31'", "'2001-09-09'", "NULL"]),
    "t": st.sampled_from(
        ["'1970-01-01T00:00:00Z'", "TIMESTAMP '2020-02-29 14:30:00.001+02:00'", "'1969-12-31T23:59:59.9990001Z'",
         "'1969-12-31 23:59:59.998001Z'", "NULL"]
    ),
    "e": st.sampled_from(["'red'", "'blue'", "NULL"]),
    "n": _texts([value for value in VALUES["n"] if value is not None]),
}  # fmt: skip


def _kind(constant: str) -> str:
    """Values of a list are of one kind: whole numbers of any size do not go together with doubles."""
    if constant[0] == "'":
        return "text"
    if constant in ("NULL", "TRUE", "false") or constant[:4] in ("DATE", "TIME"):
        return constant[:4]
    return "double" if constant[-1] in "DF" or "e" in constant else "exact"


@st.composite
def about_a_column(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from([*CONSTANTS, "ls"]))
    column = draw(columns_of(name))
    if name == "ls" or draw(st.integers(0, 9)) == 0:
        return f"{column} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    constant = CONSTANTS[name]
    negated = draw(st.sampled_from(["", "NOT "]))
    match draw(st.integers(0, 5)):
        case 0:
            first = draw(constant)
            others = draw(st.lists(constant.filter(lambda other: _kind(other) in (_kind(first), "NULL")), max_size=3))
            return f"{column} {negated}IN ({', '.join([first, *others])})"
        case 1:
            return f"{column} {negated}BETWEEN {draw(constant)} AND {draw(constant)}"
        case 2 if name in ("n", "e"):
            start, end = draw(st.sampled_from([("", "%"), ("%", ""), ("%", "%"), ("", "")]))
            text = draw(st.sampled_from(["a", "ab", "b", "日本", "''s", "🙂", "", "\ud7ff"]))
            return f"{column} {negated}LIKE '{start}{text}{end}'"
        case 3 if name in ("n", "e"):
            function = draw(st.sampled_from(["startswith", "endswith", "contains"]))
            return f"{negated}{function}({column}, {draw(constant.filter(lambda text: text != 'NULL'))})"
        case 4 if name == "b":
            return f"{negated}{column}"
        case _:
            operator = draw(st.sampled_from(["=", "==", "<>", "!=", "<=>", "<", "<=", ">", ">="]))
            sides = [column, draw(constant)]
            return f" {operator} ".join(sides if draw(st.booleans()) else sides[::-1])


def composed(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.tuples(parts, st.sampled_from(["AND", "or"]), parts).map(" ".join)
    return joined | st.tuples(st.sampled_from(["NOT (", "("]), parts).map(lambda pair: f"{pair[0]}{pair[1]})")


def test_storage_finds_them_for_generated_conditions(graph: Graph, everything: DataFrame) -> None:
    @settings(max_examples=4)
    @given(st.lists(st.recursive(about_a_column(), composed, max_leaves=6), min_size=60, max_size=60))
    def check(texts: list[str]) -> None:
        for text, rows in zip(texts, expected(everything, texts), strict=True):
            assert found(graph, text) == rows, text

    check()


def test_a_frame_with_a_condition_has_the_rows_of_the_condition(
    graph: Graph, everything: DataFrame, spark: SparkSession
) -> None:
    where = "d >= 0 AND (NOT b OR n LIKE '日本%') OR w IN (3, 18446744073709551615) AND u <> 0"
    source = spark.read.format("omnigraph").options(store=graph.uri, type="Every", columns="s", where=where)
    names = sorted(row.s for row in source.load().collect())
    assert names == sorted(row.s for row in everything.where(where).collect())
    assert 0 < len(names) < ROWS - 1
    with pytest.raises(PySparkException, match=r"where:1:11: error.*two columns cannot be compared"):
        source.option("where", "b and i = j").load()


@pytest.mark.parametrize(
    ("where", "meant"),
    [
        ("s = k7", "s = 'k7'"),
        ("s >= k7 and s != k9 and i > 0", "s >= 'k7' AND s <> 'k9' AND i > 0"),
        ("n = it's", "n = 'it''s'"),
        ("n = ", "n = ''"),
        ("n = rock and roll", "n = 'rock and roll'"),
        ("day < 1970-01-02", "day < '1970-01-02'"),
        ("t >= 1970-01-01 and i > 0", "t >= '1970-01-01T00:00:00Z' and i > 0"),
        ("t = 2020-02-29T12:30:00.001Z", "t = '2020-02-29T12:30:00.001Z'"),
        ("d = NaN", "d = 'NaN'"),
    ],
)
def test_quotes_may_be_left_out_where_spark_would_see_nothing(graph: Graph, where: str, meant: str) -> None:
    assert found(graph, where) == found(graph, meant)


@pytest.mark.parametrize(
    ("where", "place", "message"),
    [
        ("", 1, "expected a column, found the end"),
        ("dai > '2020-01-01'", 1, "there is no column 'dai'\n.*\n.*\n.*\n.*did you mean `day`"),
        ("i = 1 and", 10, "expected a column, found the end"),
        ("i = 1 and s", 12, "expected a comparison of `s`, found the end"),
        ("i = 1 and j ~ 2", 13, "expected a comparison of `j`, found `~`"),
        ("i = many", 5, "'many' does not fit I32"),
        ("i = j", 5, "two columns cannot be compared"),
        ("i = 1 + 1", 7, "found `\\+`\n.*\n.*\n.*\n.*load\\(\\).where"),
        ("i = (1)", 5, "expected a constant, found `\\(`"),
        ("upper(n) = 'A'", 1, "unknown function 'upper'"),
        ("(b or i = 1", 12, "expected `\\)`"),
        ("b)", 2, "expected `and`, `or` or the end, found `\\)`"),
        ("b is true", 6, "expected `null` after `is`, found `true`"),
        ("n not = 'a'", 7, "expected `in`, `between` or `like`"),
        ("n = 'it's'", 9, "found `s`"),
        ("n = 'a", 5, "this quote is never closed"),
        ("n = 'a' 'b'", 9, "found `'b'`"),
        (r"n = '\u0061'", 6, "unknown escape"),
        ("n like 'a%c'", 8, "no other wildcard"),
        ("n like 'a_'", 8, "no other wildcard"),
        ("i like '1%'", 1, "`i` \\(I32\\?\\) is not a text"),
        ("n = a or b", 5, "expected a constant"),
        ("n = a and b", 5, "expected a constant"),
        ("n = 5.", 5, "expected a constant"),
        ("f < 16777217.", 5, "expected a constant"),
        ("i = 0.1L", 5, "expected a constant"),
        ("n = current_user", 5, "expected a constant"),
        ("n = 5", 5, "this is a number, and `n` is String\\?\n.*\n.*\n.*\n.*single quotes"),
        ("b = 1", 5, "this is a number, and `b` is Bool"),
        ("i = '1.5'", 5, "'1.5' is a text, and `i` is I32"),
        ("i < 'NaN'", 5, "'NaN' is a text, and `i` is I32"),
        ("i < 3000000000.5", 5, "outside the range of I32"),
        ("j < 99999999999999999999", 5, "outside the range of I64"),
        ("j = 1e18", 5, "compares numbers of this size as doubles"),
        ("w = '18446744073709551615'", 5, "'18446744073709551615' is a text"),
        ("w = '9007199254740993'", 5, "compares numbers of this size as doubles"),
        ("j = 0.1234567890123456789", 5, "more than 18 digits"),
        ("d = 1e400", 5, "too large"),
        ("i in (1, '2')", 10, "different types"),
        ("i in ()", 7, "expected a constant, found `\\)`"),
        ("day = '20200101'", 7, "write a day like '2024-01-31'"),
        ("day = '2020-02-30'", 7, "write a day like '2024-01-31'"),
        ("day > TIMESTAMP '2020-01-01 00:00:00Z'", 7, "is a timestamp, and `day` is Date"),
        ("t > '2020-01-01'", 5, "write a time with its zone"),
        ("t > TIMESTAMP '2020-01-01 00:00:00'", 5, "write a time with its zone"),
        ("ls = 'a'", 1, "`ls` \\(\\[String\\]\\?\\) cannot be compared"),
        ("v = 1", 1, "cannot be compared"),
        ("x is null", 1, "`x` \\(Blob\\?\\) cannot be tested"),
        ("(" * 40 + "b" + ")" * 40, 34, "nested deeper than 32 levels"),
        (" or ".join(["b"] * 1001), 5001, "more than 1000 predicates"),
    ],
)
def test_what_storage_cannot_test_as_spark_would_is_refused(graph: Graph, where: str, place: int, message: str) -> None:
    with pytest.raises(CompileError, match=message) as raised:
        reader(graph, where)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.render().startswith(f"where:1:{place}: error[W001]: ")


def test_as_many_conditions_as_are_taken_can_be_tested(graph: Graph) -> None:
    assert found(graph, " or ".join(f"d < {number}" for number in range(1_000))) == found(graph, "d < 999")
    assert found(graph, "(b and d < 2 or " * 15 + "d >= 1" + ")" * 15) == found(graph, "d >= 1 or b and d < 2")
    assert found(graph, "not (" * 16 + "b" + ")" * 16) == found(graph, "b")
    assert found(graph, f"s in ({', '.join(repr(f'k{number}') for number in range(10_000))})") == found(graph, "true")


def test_indexes_are_asked(graph: Graph) -> None:
    snapshot = graph.snapshot()
    pin = snapshot.state.tables["node:Every"]
    dataset = snapshot.store.open(pin.location, pin.lance_version)
    for where in (
        "i = 7",
        "u > 1.5",
        "id like 'k1%'",
        "d > 1",
        "day in ('1970-01-01')",
        "w < 4 or t is null",
        "j <> 2",
    ):
        options = parse_options({"store": graph.uri, "type": "Every", "where": where})
        pushed = options.filter(snapshot.catalog.nodes["Every"])
        assert pushed is not None
        assert "ScalarIndexQuery" in dataset.scanner(filter=filter_sql(pushed)).explain_plan(), where


def test_what_does_not_satisfy_a_condition_is_not_read(tmp_path: Path) -> None:
    schema = "node Every { s: String @key size: I32 @index body: String }"
    graph = create(tmp_path / "graph", schema, durability="os", tuning=EAGER)
    draw = Random(7)
    for start in range(0, 20_000, 5_000):
        numbers = range(start, start + 5_000)
        bodies = [f"{draw.getrandbits(800):x}" for _ in numbers]
        table = pa.table({"s": [f"k{number:05d}" for number in numbers], "size": numbers, "body": bodies})
        graph.load({"Every": table}, "append")

    def read(where: str) -> tuple[int, int]:
        reading = reader(graph, where, ["s", "body"])
        parts = reading.partitions()
        snapshot = graph.snapshot()
        fragments = fragment_rows(snapshot.store, snapshot.state.tables["node:Every"])
        assert [number for part in parts for number in part.fragments] == [number for number, _ in fragments]
        meter = IoMeter(snapshot.store)
        rows = sum(batch.num_rows for part in parts for batch in reading.read(part))
        return rows, meter.read()[1]

    everything, few = read("true"), read("size between 5 and 8")
    assert (everything[0], few[0]) == (20_000, 4)
    assert everything[1] > 2_000_000
    assert few[1] * 10 < everything[1]
    graph.optimize()
    assert read("size between 5 and 8")[0] == 4
    assert read("size between 5 and 8")[1] * 2 < few[1], "the index says where they are"


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
def test_numbers_that_no_property_holds_can_be_compared_with_and_without_quotes(graph: Graph, number: str) -> None:
    assert found(graph, f"d < {number}") == found(graph, f"d < '{number}'")
    assert found(graph, f"d < {number}")
