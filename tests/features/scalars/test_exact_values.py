"""Decimals, times of day, durations, UUIDs and JSON values keep their values through loads, queries and exports."""

from __future__ import annotations

from collections.abc import Callable
from datetime import time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.engine.graph import Graph
from omnigraph.errors import CompileError, InputError, MergeConflicts, OmnigraphError, ParameterError, ViolationError
from omnigraph.rows.write.results import result_rows
from tests.features.scalars.products import CODES, QUESTIONS, RECORDS, SCHEMA, Question

BAD: list[tuple[str, Any]] = [
    ("price", "12.345"),
    ("price", 12.345),
    ("price", 1e7),
    ("price", Decimal("1.005")),
    ("price", "x"),
    ("price", True),
    ("price", float("nan")),
    ("opens", "24:00"),
    ("opens", "12:30+01:00"),
    ("opens", 86_400_000),
    ("opens", -1),
    ("took", "P1M"),
    ("took", "soon"),
    ("took", 10**16),
    ("took", True),
    ("code", "zz"),
    ("code", 5),
    ("details", float("nan")),
    ("details", {1: 2}),
    ("details", b"x"),
    ("prices", ["1.2345"]),
    ("times", [None]),
    ("others", ["q"]),
]
"""Values that their properties refuse."""

Make = Callable[[], Graph]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    numbers = iter(range(10))
    return lambda: omnigraph.create(tmp_path / f"g{next(numbers)}", SCHEMA, durability="os")


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = omnigraph.create(tmp_path_factory.mktemp("products") / "g", SCHEMA, durability="os")
    graph.load(RECORDS, "append")
    return graph


def nodes(graph: Graph) -> list[str]:
    """The exported nodes: the ids of edges are made anew by every load."""
    return [line for line in b"".join(graph.export()).decode().splitlines() if '"edge"' not in line]


def answer(graph: Graph, question: Question) -> list[list[Any]]:
    table = graph.query(question.text, question.params).table
    # Columns without an alias may share a name.
    rows = result_rows(table.rename_columns([str(place) for place in range(table.num_columns)]))
    return [list(row.values()) for row in rows]


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_has_its_answer(products: Graph, question: Question) -> None:
    found = answer(products, question)
    assert (found if "order" in question.text else sorted(found, key=str)) == (
        question.answer if "order" in question.text else sorted(question.answer, key=str)
    )


def test_indexes_find_the_same_entities(make: Make) -> None:
    graph = make()
    graph.load(RECORDS, "append")
    before = [sorted(answer(graph, question), key=str) for question in QUESTIONS.values()]
    graph.optimize()
    assert [sorted(answer(graph, question), key=str) for question in QUESTIONS.values()] == before


def test_python_gets_values_of_the_standard_library(products: Graph) -> None:
    text = 'match { $p: Product { name: "a" } } return { $p.price, $p.opens, $p.took, $p.details.size as size }'
    assert products.query(text).to_dicts() == [
        {"p.price": Decimal("12.30"), "p.opens": time(12, 30), "p.took": timedelta(minutes=90), "size": 1}
    ]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_an_export_loads_to_the_same_graph(products: Graph, make: Make, tmp_path: Path, kind: str) -> None:
    if kind == "jsonl":
        place = tmp_path / "all.jsonl"
        place.write_bytes(b"".join(products.export()))
    else:
        place = tmp_path / "files"
        products.export_files(place, kind)
    graph = make()
    graph.load(place, "append")
    assert nodes(graph) == nodes(products)


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_tables_of_other_tools_have_the_values(products: Graph, tmp_path: Path, kind: str) -> None:
    from deltalake import DeltaTable
    from pyiceberg.table import StaticTable

    products.export_files(tmp_path / "lake", kind)
    place = str(tmp_path / "lake" / "Product")
    if kind == "iceberg":
        table = StaticTable.from_metadata(place).scan().to_arrow()
    else:
        table = DeltaTable(place).to_pyarrow_table()
    row = next(row for row in table.to_pylist() if row["name"] == "a")
    assert (row["price"], row["opens"], row["took"]) == (Decimal("12.30"), "12:30:00.000", 5_400_000)


def test_columns_of_arrow_are_read_by_their_types(make: Make) -> None:
    graph = make()
    columns = {
        "code": pa.array([UUID(CODES[0]).bytes, UUID(CODES[1]).bytes], pa.binary(16)),
        "name": ["a", "b"],
        "price": pa.array([Decimal("1.5000"), None], pa.decimal128(20, 4)),
        "opens": pa.array([time(1), None], pa.time64("us")),
        "took": pa.array([timedelta(hours=1), None], pa.duration("ns")),
        "details": pa.array([{"a": 1, "b": [1.5, None]}, None]),
        "prices": [[1.5], [2.0]],
    }
    graph.load(pa.table(columns), "append", type_name="Product")
    text = (
        "match { $p: Product } return { $p.code, $p.price, $p.opens, $p.took, $p.details, $p.prices } order { $p.name }"
    )
    assert [list(row.values()) for row in graph.query(text).rows] == [
        [CODES[0], "1.50", "01:00:00.000", "PT1H", {"a": 1, "b": [1.5, None]}, ["1.500"]],
        [CODES[1], None, None, None, None, ["2.000"]],
    ]


@pytest.mark.parametrize(("name", "value"), BAD, ids=[f"{name}-{value!r}" for name, value in BAD])
def test_a_wrong_value_is_a_violation_with_its_place(products: Graph, name: str, value: object) -> None:
    before = products.snapshot().commit_id
    record = {"code": CODES[5], "name": "x", name: value}
    with pytest.raises(ViolationError, match=rf"<records>:1: wrong value for Product\.{name}") as caught:
        products.load([{"type": "Product", "data": record}], "append")
    assert caught.value.total == 1
    assert products.snapshot().commit_id == before


def test_wrong_texts_of_a_csv_file_are_violations_with_their_line(make: Make, tmp_path: Path) -> None:
    place = tmp_path / "products.csv"
    place.write_text(f"code,name,price,opens,took,details\n{CODES[0]},q,1.505,25:00,x,{{bad\nzz,r,,,,\n")
    with pytest.raises(ViolationError) as caught:
        make().load(place, "append", type_name="Product")
    assert sorted(str(sample).split("products.csv:")[1].split(" (")[0] for sample in caught.value.samples) == [
        "2: wrong value for Product.details",
        "2: wrong value for Product.opens",
        "2: wrong value for Product.price",
        "2: wrong value for Product.took",
        "3: wrong value for Product.code",
    ]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"code": CODES[0]}, "exists already"),
        ({"code": CODES[5], "opens": "12:30"}, "@unique violation on Product.opens"),
        ({"code": CODES[5], "price": "1000.01"}, "@range violation on Product.price: value 1000.01 > max 1000"),
        ({"code": CODES[5], "price": "0.09"}, "@range violation on Product.price: value 0.09 < min 0.1"),
    ],
)
def test_constraints_hold_for_exact_values(products: Graph, record: dict[str, Any], problem: str) -> None:
    with pytest.raises(OmnigraphError, match=problem):
        products.load([{"type": "Product", "data": {"name": "x", **record}}], "append")


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("Decimal(4, 2)", "1.234"),
        ("Decimal(4, 2)", 100),
        ("Decimal(4, 2)", [1]),
        ("Time", "25:00"),
        ("Duration", "P1Y"),
        ("Uuid", "x"),
        ("Json", {1: 1}),
    ],
)
def test_a_parameter_has_a_value_of_its_type(products: Graph, type_: str, value: object) -> None:
    with pytest.raises(ParameterError, match="param 'x'"):
        products.query(f"query q($x: {type_}) {{ match {{ $p: Product }} return {{ $x as x }} }}", {"x": value})


@pytest.mark.parametrize(
    "expression",
    [
        '$p.price + "1"',
        "$p.opens + 1",
        "$p.took + $p.price",
        "$p.opens * 2",
        "$p.details + 1",
        "$p.details.a + 1",
        "$p.name.a",
        "sum($p.opens)",
        "max($p.details)",
        'time("25:00")',
        'uuid("x")',
        'decimal("x")',
        "cast($p.opens as I64)",
    ],
)
def test_an_expression_without_a_meaning_is_refused(products: Graph, expression: str) -> None:
    with pytest.raises(CompileError):
        products.query(f"match {{ $p: Product }} return {{ {expression} as x }}")


def test_a_result_with_too_many_digits_is_an_error(products: Graph) -> None:
    wide = 'decimal("99999999999999999999999999999999999999")'
    with pytest.raises(InputError, match="does not fit Decimal"):
        products.query(f"match {{ $p: Product $p.price > 1 }} return {{ {wide} + $p.price as x }}")
    with pytest.raises(InputError, match="longer than a Duration"):
        products.query("match { $p: Product } return { $p.took * 1000000000 as x }")


def test_a_mutation_sets_parts_of_json_and_keeps_the_others(make: Make) -> None:
    graph = make()
    graph.load(RECORDS, "append")
    done = graph.mutate(
        'query q() { update Product set { details.place.city: "Bergen", details.new.deep: [1, "x"], '
        'details.size: null, price: price * 2, took: took + duration("1h") } where name = "a" '
        "returning { details, price, took } }"
    )
    assert done.returned is not None
    (row,) = done.returned.rows
    assert row == {
        "details": {
            "exact": 0.12345678901234567,
            "new": {"deep": [1, "x"]},
            "place": {"city": "Bergen", "tags": ["x", "y"]},
        },
        "price": "24.60",
        "took": "PT2H30M",
    }
    with pytest.raises(ViolationError, match="cannot be set"):
        graph.mutate('query q() { update Product set { details.a: 3 } where name = "b" }')
    with pytest.raises(CompileError, match=r"12\.345 does not fit"):
        graph.mutate('query q() { update Product set { price: 12.345 } where name = "a" }')


def test_branches_merge_json_by_member_and_report_the_path_of_a_conflict(make: Make) -> None:
    graph = make()
    graph.load(RECORDS, "append")
    graph.create_branch("work")
    update = 'query q() {{ update Product set {{ details.{} }} where name = "a" }}'
    graph.mutate(update.format("size: 7"), branch="work")
    graph.mutate(update.format('place.city: "Rome"'))
    changed = graph.diff("main", "work").changes()
    assert any(change.id == CODES[0] for change in changed)
    graph.merge("work", into="main")
    text = 'match { $p: Product { name: "a" } } return { $p.details.size as size, $p.details.place.city as city }'
    assert graph.query(text).rows == [{"size": 7, "city": "Rome"}]
    graph.mutate(update.format("size: 8"), branch="work")
    graph.mutate(update.format("size: 9"))
    with pytest.raises(MergeConflicts, match="at size"):
        graph.merge("work", into="main")


@pytest.mark.parametrize("part", ["order { $p.details.size }", "", "sum", "max"])
def test_a_json_value_without_a_type_is_refused_with_the_cast_that_gives_it_one(products: Graph, part: str) -> None:
    is_order = part.startswith("order")
    column = f"{part}($p.details.size)" if part and not is_order else "$p.details.size as size"
    order = part if is_order else "order { size }" if not part else ""
    with pytest.raises(CompileError, match=r"`cast\(value as F64\)`"):
        products.query(f"match {{ $p: Product }} return {{ {column} }} {order}")


def test_columns_of_parts_are_named_after_them(products: Graph) -> None:
    found = products.query('match { $p: Product } return { $p.details.size, $p.details.tags[0], $p.details["a b"].c }')
    assert found.columns == ["p.details.size", "p.details.tags[0]", 'p.details["a b"].c']


@pytest.mark.parametrize(
    ("assignment", "details"),
    [
        ("details: $a.details.place", {"city": "Oslo"}),
        ("details.copy: $a.details.place.city", {"copy": "Oslo"}),
        ("details: coalesce($a.details.none, $a.details.place)", {"city": "Oslo"}),
    ],
)
def test_a_mutation_assigns_parts_of_json_that_its_pattern_read(
    tmp_path: Path, assignment: str, details: dict[str, Any]
) -> None:
    graph = omnigraph.create(tmp_path / "g", "node P { name: String @key  details: Json? }", durability="os")
    graph.load(
        [
            {"type": "P", "data": {"name": "a", "details": {"place": {"city": "Oslo"}}}},
            {"type": "P", "data": {"name": "b"}},
        ],
        "append",
    )
    graph.mutate(
        f'query q() {{ match {{ $a: P {{ name: "a" }} $b: P {{ name: "b" }} }} update $b set {{ {assignment} }} }}'
    )
    assert graph.query('match { $p: P { name: "b" } } return { $p.details }').to_dicts() == [{"p.details": details}]


def test_the_mean_of_durations_is_the_same_however_often_a_query_runs(tmp_path: Path) -> None:
    graph = omnigraph.create(
        tmp_path / "g", "node P { name: String @key  took: Duration? }\nedge To: P -> P", durability="os"
    )
    nodes = [{"type": "P", "data": {"name": name, "took": took}} for name, took in (("a", 0), ("b", 1))]
    graph.load([*nodes, *({"edge": "To", "from": "a", "to": name} for name in "ab")], "append")
    text = 'match { $a: P { name: "a" } $a to $z } return { avg($z.took) as mean }'
    # Queries that run again are compiled to closures.
    assert [graph.query(text).to_dicts() for _ in range(3)] == [[{"mean": timedelta(milliseconds=1)}]] * 3


@pytest.mark.parametrize(
    "where",
    ["name = 'a'", "took > interval 1 second", "price > 1 and opens > time '00:00:01'", "name <> 'a' or took is null"],
)
def test_sql_filters_types_with_exact_values_as_a_table_in_memory_does(products: Graph, where: str) -> None:
    import duckdb

    Product = products.snapshot().to_arrow("node:Product")  # noqa: F841, N806 # DuckDB finds the table by its name
    expected = duckdb.sql(f'select name from "Product" where {where} order by name').fetchall()
    found = products.sql(f"select name from Product where {where} order by name").rows
    assert [(row["name"],) for row in found] == expected
