"""Rows of external types are never written: every writer refuses, and names the way."""

from __future__ import annotations

from collections.abc import Callable

import lance_namespace
import pytest

import omnigraph
from omnigraph.errors import ExternalTypeError
from omnigraph.namespace import OmnigraphNamespace
from omnigraph.write.adopt.versions import OfferedVersion
from tests.features.external.shop import Shop, write_rows

RECORD = {"type": "Order", "data": {"no": 9}}

WRITES: dict[str, Callable[[omnigraph.Graph], object]] = {
    "insert": lambda graph: graph.mutate("query q() { insert Order { no: 9 } }"),
    "upsert": lambda graph: graph.mutate("query q() { upsert Order { no: 9 } }"),
    "update": lambda graph: graph.mutate('query q() { update Order set { note: "x" } where no = 1 }'),
    "update of nothing": lambda graph: graph.mutate('query q() { update Order set { note: "x" } where no = 99 }'),
    "delete": lambda graph: graph.mutate("query q() { delete Order where no = 1 }"),
    "preview": lambda graph: graph.mutate_preview("query q() { delete Order where no = 1 }"),
    "load": lambda graph: graph.load([RECORD]),
    "overwrite": lambda graph: graph.load([RECORD], "overwrite"),
    "load preview": lambda graph: graph.load_preview([RECORD]),
    "versions": lambda graph: graph.commit_versions({"node:Order": OfferedVersion(1 << 63, None)}),
    "optimize": lambda graph: graph.optimize(types=["Order"]),
    "write back": lambda graph: graph.analyze.pagerank("Likes").write("total"),
}


@pytest.mark.parametrize("write", [pytest.param(write, id=name) for name, write in WRITES.items()])
def test_a_write_of_rows_is_refused_with_the_way_to_change_them(
    graph: omnigraph.Graph, write: Callable[[omnigraph.Graph], object]
) -> None:
    before = graph.snapshot().commit_id
    with pytest.raises(ExternalTypeError, match="Order is external") as caught:
        write(graph)
    assert caught.value.facts["type"] == "Order"
    assert caught.value.hint == "change that table, then call graph.refresh_external('Order')"
    assert caught.value.command_hint == "change that table, then run omnigraph external refresh --type Order"
    assert graph.snapshot().commit_id == before


def test_a_load_through_disk_is_refused_too(shop: Shop) -> None:
    graph = omnigraph.open(shop.graph.uri, tuning=omnigraph.Tuning(buffered_rows_max=0))
    with pytest.raises(ExternalTypeError, match="Order is external"):
        graph.load([RECORD])


def test_a_node_with_external_edges_cannot_be_deleted(shop: Shop) -> None:
    placed = shop.orders.parent / "placed.parquet"
    write_rows(placed, [{"from": "ann", "to": 1}, {"from": "ann", "to": 2}])
    schema = f'{shop.graph.schema_text()}\nedge Placed: Person -> Order @external("{placed}")'
    shop.graph.apply_schema(schema)
    with pytest.raises(ExternalTypeError, match="2 edges of the external type Placed would lose a node"):
        shop.graph.mutate('query q() { delete Person where name = "ann" }')
    shop.graph.mutate('query q() { delete Person where name = "bob" }')
    assert shop.graph.counts() == {"Order": 5, "Person": 1, "Likes": 1, "Placed": 2}


def test_lance_clients_see_no_table_and_the_reason(graph: omnigraph.Graph) -> None:
    namespace = OmnigraphNamespace(graph)
    listed = namespace.list_tables(lance_namespace.ListTablesRequest(id=["main"]))
    assert listed.tables == ["Likes", "Person"]
    with pytest.raises(lance_namespace.UnsupportedOperationError, match="Order is external: its rows are in"):
        namespace.describe_table(lance_namespace.DescribeTableRequest(id=["main", "Order"]))
    stored = [row["object_type"] for row in _manifest_rows(graph) if row["table_key"] == "node:Order"]
    assert stored == ["external"], "Lance's own directory namespace lists rows of the type table"


def _manifest_rows(graph: omnigraph.Graph) -> list[dict[str, object]]:
    import lance

    return lance.dataset(f"{graph.uri}/__manifest").to_table().to_pylist()  # type: ignore[no-any-return] # untyped


def test_a_mirror_leaves_external_types_out_and_says_so(shop: Shop) -> None:
    for result in (shop.graph.mirror(shop.orders.parent / "mirror"), shop.graph.mirror(in_place=True)):
        assert [table.name for table in result.tables] == ["Likes", "Person"]
        assert result.skipped == ("Order",)
    assert shop.graph.verify().is_clean
