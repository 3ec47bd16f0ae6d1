"""Schema changes of external types: they are sealed again in the same commit, with the checks of a load."""

from __future__ import annotations

import pytest

from omnigraph.errors import MigrationRefused, ViolationError
from omnigraph.wire.schemas import schema_result_json
from tests.features.external.shop import Shop


def test_a_property_is_added_renamed_retyped_and_dropped_by_reading_again(shop: Shop) -> None:
    graph = shop.graph
    text = graph.schema_text()
    changed = text.replace("total: F64? note: String?", 'price: F32? @column("total") remark: String @column("note")')
    result = graph.apply_schema(changed)
    assert [step["kind"] for step in schema_result_json(result)["steps"]] == [
        "add_property",
        "add_property",
        "drop_property",
        "drop_property",
    ]
    rows = graph.query("query q() { match { $o: Order { no: 2 } } return { $o.price $o.remark } }").to_pylist()
    assert rows == [{"o.price": 3.0, "o.remark": "gift number 2"}]
    graph.apply_schema(changed.replace("F32?", "String?").replace('@column("total")', '@column("note")'))
    rows = graph.query("query q() { match { $o: Order { no: 2 } } return { $o.price $o.remark } }").to_pylist()
    assert rows == [{"o.price": "gift number 2", "o.remark": "gift number 2"}]
    assert graph.query("query q() { match { $o: Order { no: 2 } } return { $o.total } }", at="main~2").to_pylist()


def test_a_change_of_the_source_is_one_step_and_one_commit(shop: Shop) -> None:
    shop.write("b", 6)
    text = shop.graph.schema_text()
    plan = shop.graph.plan_schema(text.replace("*.parquet", "a.parquet"))
    orders = shop.orders
    assert plan.render() == (
        f'- read node Order from @external("{orders}/a.parquet") instead of @external("{orders}/*.parquet")'
    )
    result = shop.graph.apply_schema(text.replace("*.parquet", "?.parquet"))
    assert result.commit is not None
    assert [(item.key, item.inserted) for item in result.commit.tables] == [("node:Order", 1)]


def test_new_constraints_are_checked_over_the_newest_rows(shop: Shop) -> None:
    text = shop.graph.schema_text()
    with pytest.raises(ViolationError, match=r"@range violation on Order\.total"):
        shop.graph.apply_schema(text.replace("note: String?", "note: String? @range(total, 0..5)"))
    shop.write("b", 6, 7, total=1.0)
    with pytest.raises(ViolationError, match=r"@unique violation on Order\.total"):
        shop.graph.apply_schema(text.replace("total: F64?", "total: F64? @unique"))
    assert shop.numbers() == [1, 2, 3, 4, 5]


def test_descriptions_and_indexes_leave_the_pin(shop: Shop) -> None:
    shop.write("b", 6)
    text = shop.graph.schema_text()
    shop.graph.apply_schema(text.replace("note: String?", 'note: String? @index @description("free text")'))
    assert shop.numbers() == [1, 2, 3, 4, 5]


def test_a_renamed_type_keeps_its_pin_and_its_edges(shop: Shop) -> None:
    text = shop.graph.schema_text().replace("node Order", 'node Purchase @rename_from("Order")')
    shop.graph.apply_schema(text.replace("-> Order", "-> Purchase"))
    walk = 'query q() { match { $p: Person { name: "ann" } $p likes $o } return { $o.note } }'
    assert shop.graph.query(walk).to_pylist() == [{"o.note": "gift number 1"}]
    assert [item.name for item in shop.graph.external_types()] == ["Purchase"]


@pytest.mark.parametrize("is_external", [True, False])
def test_a_type_stays_stored_or_external(shop: Shop, is_external: bool) -> None:
    text = shop.graph.schema_text()
    annotation = f'@external("{shop.orders}/*.parquet")'
    changed = text.replace(annotation, "") if is_external else text.replace("node Person", f"node Person {annotation}")
    with pytest.raises(MigrationRefused, match="is not supported: add it under a new name"):
        shop.graph.apply_schema(changed)


def test_types_are_added_with_their_rows(shop: Shop) -> None:
    shop.write("b", 6)
    added = f'node Copy @external("{shop.orders}/b.parquet") {{ no: I64 @key }}'
    result = shop.graph.apply_schema(f"{shop.graph.schema_text()}\n{added}")
    assert result.commit is not None
    assert [(item.key, item.inserted) for item in result.commit.tables] == [("node:Copy", 1)]
    assert shop.graph.counts()["Copy"] == 1
    assert shop.graph.counts()["Order"] == 5, "another type is not refreshed"
