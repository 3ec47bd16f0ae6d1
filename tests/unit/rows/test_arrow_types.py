"""Tables have the columns of the data model, with the marks storage needs."""

import pyarrow as pa
import pytest

from omnigraph.rows.arrow_types import column_type, table_schema
from tests.unit.rows.schemas import CATALOG

EVERY = {
    "s": pa.utf8(),
    "b": pa.bool_(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "f32": pa.float32(),
    "f64": pa.float64(),
    "d": pa.date32(),
    "t": pa.timestamp("ms", tz="UTC"),
    "x": pa.large_binary(),
    "v": pa.list_(pa.float32(), 3),
    "e": pa.utf8(),
    "ls": pa.list_(pa.utf8()),
    "li": pa.list_(pa.int64()),
    "lf": pa.list_(pa.float32()),
    "ld": pa.list_(pa.date32()),
    "lt": pa.list_(pa.timestamp("ms", tz="UTC")),
    "lb": pa.list_(pa.bool_()),
}


@pytest.mark.parametrize(("name", "expected"), EVERY.items())
def test_every_property_type_has_its_column_type(name: str, expected: pa.DataType) -> None:
    assert column_type(CATALOG.nodes["Every"].properties[name].type) == expected


def test_a_node_table_has_the_id_and_then_the_properties_by_name() -> None:
    schema = table_schema(CATALOG.nodes["Every"])
    assert schema.names == ["id", *sorted(EVERY)]
    assert schema.field("id").type == pa.utf8()
    assert not schema.field("id").nullable
    assert schema.field("id").metadata == {b"lance-schema:unenforced-primary-key": b"true"}


def test_an_edge_table_has_its_ends_after_the_id() -> None:
    schema = table_schema(CATALOG.edges["Knows"])
    assert schema.names == ["id", "src", "dst", "since"]
    assert [field.nullable for field in schema] == [False, False, False, True]


def test_columns_carry_the_stable_id_of_their_property_and_the_blob_mark() -> None:
    node = CATALOG.nodes["Every"]
    for field in table_schema(node):
        if field.name == "id":
            continue
        expected = {b"omnigraph:property-id": str(node.properties[field.name].id).encode()}
        if field.name == "x":
            expected[b"omnigraph:blob"] = b"true"
        assert field.metadata == expected


def test_nullability_follows_the_declaration() -> None:
    assert [field.nullable for field in table_schema(CATALOG.nodes["Strict"])] == [False, False, False, False]
