"""Every value that its property does not allow is found, whatever its column, with its row and its place."""

import math

import pyarrow as pa
import pytest

from omnigraph.rows.arrow_types import table_schema
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from tests.unit.rows.schemas import catalog

CATALOG = catalog(
    """
    node Thing {
        i32: I32?
        u32: U32?
        i64: I64?
        u64: U64?
        f32: F32?
        f64: F64?
        code: String?
        colour: enum(red, green)?
        name: String?
        @range(i32, 0..10)
        @range(u32, -5..5000000000)
        @range(i64, -9007199254740993..)
        @range(u64, 0.5..1.5)
        @range(f32, ..0.5)
        @range(f64, 0.0..1.0)
        @check(code, "^[A-Z]{3}$")
    }
    node Strict { n: I32 s: String }
    edge Tie: Thing -> Thing { colour: enum(red, green) }
    """
)


def _check(entity_name: str, **columns: list[object]) -> list[Violation]:
    entity = CATALOG.nodes.get(entity_name) or CATALOG.edges[entity_name]
    schema = table_schema(entity)
    size = len(next(iter(columns.values())))
    columns.setdefault("id", [f"id{n}" for n in range(size)])
    for end in ("src", "dst"):
        if end in schema.names:
            columns.setdefault(end, ["a"] * size)
    arrays = [pa.array(columns.get(field.name, [None] * size), field.type) for field in schema]
    violations = Violations()
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    check_values(entity, batch, lambda row: Place("f", row + 10), violations)
    assert violations.total == len(violations.samples)
    return list(violations.samples)


BROKEN = [
    ("i32", -1, "@range violation on Thing.i32: value -1 < min 0"),
    ("i32", 11, "@range violation on Thing.i32: value 11 > max 10"),
    ("i64", -9007199254740994, "value -9007199254740994 < min -9007199254740993"),
    ("u64", 0, "value 0 < min 0.5"),
    ("u64", 2, "value 2 > max 1.5"),
    ("f32", 0.75, "value 0.75 > max 0.5"),
    ("f32", math.nan, "value NaN is not a number"),
    ("f64", -0.1, "value -0.1 < min 0"),
    ("f64", math.inf, "value inf > max 1"),
    ("f64", math.nan, "value NaN is not a number"),
    ("code", "abc", "@check violation on Thing.code: value 'abc' does not match pattern ^[A-Z]{3}$"),
    ("code", "ABC\n", "does not match"),
    ("code", "", "does not match"),
    ("colour", "blue", "invalid enum value 'blue' for Thing.colour (expected: green, red)"),
    ("colour", "Red", "invalid enum value 'Red'"),
]
KEPT = [
    ("i32", 0),
    ("i32", 10),
    ("u32", 0),
    ("u32", 2**32 - 1),
    ("i64", -9007199254740993),
    ("i64", 2**63 - 1),
    ("u64", 1),
    ("f32", 0.5),
    ("f32", -math.inf),
    ("f64", 0.0),
    ("f64", -0.0),
    ("f64", 1.0),
    ("code", "ABC"),
    ("colour", "red"),
    ("name", "anything\0"),
]


@pytest.mark.parametrize(("prop", "value", "gist"), BROKEN)
def test_a_value_that_breaks_a_rule_is_reported_with_row_and_place(prop: str, value: object, gist: str) -> None:
    [found] = _check("Thing", **{prop: [None, value]})
    assert gist in found.message
    assert (found.table_key, found.entity_id, found.property) == ("node:Thing", "id1", prop)
    assert found.place == Place("f", 11)


@pytest.mark.parametrize(("prop", "value"), KEPT)
def test_values_within_the_rules_and_nulls_pass(prop: str, value: object) -> None:
    assert _check("Thing", **{prop: [value, None]}) == []


def test_nulls_in_required_columns_are_found() -> None:
    found = _check("Strict", n=[1, None], s=[None, "x"], id=["a", "b"])
    assert [(item.code, item.property, item.entity_id) for item in found] == [
        (ViolationCode.REQUIRED, "n", "b"),
        (ViolationCode.REQUIRED, "s", "a"),
    ]


def test_enums_of_edges_are_checked_too() -> None:
    [found] = _check("Tie", colour=["red", "pink"])
    assert (found.code, found.table_key) == (ViolationCode.ENUM, "edge:Tie")


def test_a_slice_of_a_batch_is_checked_with_its_own_rows() -> None:
    node = CATALOG.nodes["Thing"]
    schema = table_schema(node)
    arrays = [pa.nulls(4, field.type) for field in schema]
    arrays[0] = pa.array(["a", "b", "c", "d"])
    arrays[schema.get_field_index("i32")] = pa.array([-1, 5, -1, 5], pa.int32())
    violations = Violations()
    check_values(node, pa.RecordBatch.from_arrays(arrays, schema=schema).slice(1), lambda row: None, violations)
    assert [item.entity_id for item in violations.samples] == ["c"]


def test_many_violations_are_counted_and_few_are_kept() -> None:
    node = CATALOG.nodes["Thing"]
    schema = table_schema(node)
    arrays = [pa.nulls(1000, field.type) for field in schema]
    arrays[0] = pa.array([str(n) for n in range(1000)])
    arrays[schema.get_field_index("i32")] = pa.array([-1] * 1000, pa.int32())
    violations = Violations()
    check_values(node, pa.RecordBatch.from_arrays(arrays, schema=schema), lambda row: None, violations)
    assert violations.counts == {(ViolationCode.RANGE, "node:Thing", "i32"): 1000}
    assert len(violations.samples) == 20
