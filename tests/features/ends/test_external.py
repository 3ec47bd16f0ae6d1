"""Stored edges whose ends are of stored and of external types."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import ViolationError
from tests.features.ends.graphs import edge, node, rows
from tests.features.external.shop import ORDERS, order, write_rows


def order_of(id_: str) -> dict[str, str]:
    return {"type": "Order", "id": id_}


@pytest.fixture
def shop(tmp_path: Path) -> omnigraph.Graph:
    write_rows(tmp_path / "orders.parquet", [order(1), order(2)], ORDERS)
    schema = f"""
node Person {{ name: String @key }}
node Post {{ slug: String @key }}
node Order @external("{tmp_path}/orders.parquet") {{ no: I64 @key total: F64? }}
edge Likes: Person -> Order | Post
"""
    graph = omnigraph.create(tmp_path / "g.omni", schema, durability="os")
    likes = [edge("Likes", "ann", order_of("1"), id="l1"), edge("Likes", "ann", {"type": "Post", "id": "1"}, id="l2")]
    graph.load([node("Person", name="ann"), node("Post", slug="1"), *likes])
    return graph


LIKED = "match { $p likes $m } return { type($m) as t, id($m) } order { t }"


def test_queries_follow_edges_to_both(shop: omnigraph.Graph) -> None:
    assert rows(shop, LIKED) == [("Order", "1"), ("Post", "1")]
    with pytest.raises(ViolationError, match="dst '9' not found in Order"):
        shop.load([edge("Likes", "ann", order_of("9"))])


def test_a_refresh_keeps_the_nodes_of_edges_of_its_own_type_alone(shop: omnigraph.Graph, tmp_path: Path) -> None:
    write_rows(tmp_path / "orders.parquet", [order(2)], ORDERS)
    with pytest.raises(ViolationError, match="Likes 'l1' would lose its node: dst '1' not found in Order") as caught:
        shop.refresh_external()
    assert caught.value.total == 1
    shop.mutate('query q() { delete Likes where to_type = "Order" }')
    assert shop.refresh_external().commit is not None
    assert rows(shop, LIKED) == [("Post", "1")]
