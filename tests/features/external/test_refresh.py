"""A refresh pins the newest version of a source as one commit, after the checks of a load."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import ReadSetConflict, SourceChanged, UsageError, ViolationError
from tests.features.external.shop import ORDERS, Shop, order, write_rows


def test_a_refresh_pins_the_newest_files_and_earlier_commits_keep_theirs(shop: Shop) -> None:
    graph, before = shop.graph, shop.graph.snapshot().commit_id
    shop.write("b", 6, 7)
    assert shop.numbers() == [1, 2, 3, 4, 5]
    assert [(item.key, item.inserted) for item in graph.refresh_external_preview().tables] == [("node:Order", 2)]
    result = graph.refresh_external(actor="ann", message="new orders")
    assert result.commit is not None
    assert (result.commit.kind.value, result.commit.actor, result.commit.message) == ("refresh", "ann", "new orders")
    assert [(item.inserted, item.updated, item.deleted) for item in result.commit.tables] == [(2, 0, 0)]
    assert shop.numbers() == [1, 2, 3, 4, 5, 6, 7]
    assert shop.numbers(at=before) == [1, 2, 3, 4, 5]
    assert graph.refresh_external().commit is None, "nothing is newer"


def test_the_counts_of_a_refresh_are_those_of_its_rows(shop: Shop) -> None:
    shop.write("b", 6, 7)
    shop.graph.refresh_external()
    # The rows of `a` move to another file, one of them changed; `b` stays.
    rows = [order(number, total=0.0 if number == 3 else None) for number in (5, 1, 2, 3, 8)]
    write_rows(shop.orders / "c.parquet", rows, ORDERS)
    (shop.orders / "a.parquet").rename(shop.orders.parent / "a.parquet")
    commit = shop.graph.refresh_external().commit
    assert commit is not None
    # The version before is gone with its file, so every row counts as new.
    assert [(item.inserted, item.updated, item.deleted) for item in commit.tables] == [(7, 0, 7)]
    (shop.orders.parent / "a.parquet").rename(shop.orders / "a.parquet")
    (shop.orders / "c.parquet").rename(shop.orders.parent / "c.parquet")
    shop.graph.refresh_external()
    (shop.orders.parent / "c.parquet").rename(shop.orders / "c2.parquet")
    with pytest.raises(ViolationError, match="is given twice"):
        shop.graph.refresh_external()


def test_files_that_stay_are_compared_by_rows(shop: Shop) -> None:
    schema = shop.graph.schema_text().replace("*.parquet", "[a-b].parquet")
    shop.write("b", 6, 7)
    shop.graph.apply_schema(schema)
    write_rows(shop.orders / "c.parquet", [order(6), order(7, total=0.0), order(8)], ORDERS)
    result = shop.graph.apply_schema(schema.replace("[a-b]", "[ac]"))
    assert result.commit is not None
    assert [(item.inserted, item.updated, item.deleted) for item in result.commit.tables] == [(1, 1, 0)]
    assert [(str(change.op), change.id) for change in shop.graph.diff("main~1", "main").changes()] == [
        ("update", "7"),
        ("insert", "8"),
    ]


@pytest.mark.parametrize("how", ["rewritten", "same size", "deleted"])
def test_a_file_that_changed_is_an_error_and_never_other_rows(shop: Shop, how: str) -> None:
    path = shop.orders / "a.parquet"
    if how == "rewritten":
        shop.write("a", 1, 2, 3)
    elif how == "same size":
        status = path.stat()
        path.write_bytes(path.read_bytes())
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    else:
        path.unlink()
    fresh = omnigraph.open(shop.graph.uri)
    text = "query q() { match { $o: Order } return { $o.note } }"
    what = "does not exist" if how == "deleted" else "changed after it was sealed for node:Order"
    for read in (
        lambda: fresh.query(text),
        lambda: list(fresh.export()),
        lambda: fresh.nodes("Order").df(),
        lambda: fresh.sql('select note from "Order"'),
        lambda: fresh.load([{"edge": "Likes", "from": "ann", "to": "3"}]),
    ):
        with pytest.raises(SourceChanged, match=what) as caught:
            read()
        assert "refresh_external" in str(caught.value.hint)
        assert caught.value.facts["path"] == str(path)
    [info] = fresh.external_types(check=True)
    assert info.problem is not None
    assert fresh.query("query q() { match { $p: Person } return { $p.name } }").to_pylist(), "other types are read"


def test_a_key_that_an_edge_uses_must_stay(shop: Shop) -> None:
    shop.write("a", 1, 3)
    with pytest.raises(ViolationError, match="Likes 'l2' would lose its node: dst '2' not found in Order") as caught:
        shop.graph.refresh_external()
    assert caught.value.hint == "delete these edges first, or refresh their type too if it is external"
    assert caught.value.total == 1
    with pytest.raises(ViolationError, match="would lose its node"):
        shop.graph.refresh_external_preview()
    shop.graph.mutate('query q() { delete Likes where from = "bob" }')
    assert shop.graph.refresh_external().commit is not None
    assert shop.numbers() == [1, 3]


def test_ends_of_edges_are_looked_up_in_the_pinned_rows(shop: Shop) -> None:
    graph = shop.graph
    shop.write("b", 6)
    like = 'query q($n: String) { insert Likes { from: "ann", to: $n } }'
    with pytest.raises(ViolationError, match="dst '6' not found in Order"):
        graph.mutate(like, {"n": "6"})
    graph.refresh_external()
    graph.mutate(like, {"n": "6"})
    with pytest.raises(ViolationError, match="dst '9' not found in Order"):
        graph.load([{"edge": "Likes", "from": "ann", "to": "9"}])


def test_external_edges_wait_for_nodes_and_are_checked_against_them(tmp_path: Path) -> None:
    write_rows(tmp_path / "knows.parquet", [{"from": "ann", "to": "bob"}, {"from": "bob", "to": "cy"}])
    schema = f"""node Person {{ name: String @key }}
edge Knows: Person -> Person @card(0..1) @external("{tmp_path}/knows.parquet")"""
    graph = omnigraph.create(tmp_path / "g.omni", schema, durability="os")
    assert graph.counts() == {"Person": 0, "Knows": 0}
    assert graph.refresh_external().remarks == ("Knows has no edges yet: load nodes of Person, then refresh it",)
    graph.load([{"type": "Person", "data": {"name": name}} for name in ("ann", "bob")])
    with pytest.raises(ViolationError, match="dst 'cy' not found in Person"):
        graph.refresh_external()
    graph.load([{"type": "Person", "data": {"name": "cy"}}])
    graph.refresh_external()
    walk = "query q() { match { $a: Person $a knows{1,2} $b } return { $a.name $b.name } order { $a.name, $b.name } }"
    assert [tuple(row.values()) for row in graph.query(walk).to_pylist()] == [
        ("ann", "bob"),
        ("ann", "cy"),
        ("bob", "cy"),
    ]
    write_rows(tmp_path / "knows.parquet", [{"from": "ann", "to": "bob"}, {"from": "ann", "to": "cy"}])
    with pytest.raises(ViolationError, match="@card violation on edge Knows: source 'ann' has 2 edges"):
        graph.refresh_external()


def test_nodes_and_edges_are_refreshed_together(tmp_path: Path) -> None:
    people, knows = tmp_path / "people.parquet", tmp_path / "knows.parquet"
    write_rows(people, [{"name": "ann"}, {"name": "bob"}])
    write_rows(knows, [{"from": "ann", "to": "bob"}])
    schema = f"""node Person @external("{people}") {{ name: String @key }}
edge Knows: Person -> Person @external("{knows}")"""
    graph = omnigraph.create(tmp_path / "g.omni", schema, durability="os")
    write_rows(people, [{"name": "ann"}, {"name": "cy"}])
    write_rows(knows, [{"from": "ann", "to": "cy"}])
    with pytest.raises(SourceChanged, match="changed after it was sealed for node:Person"):
        graph.refresh_external("Knows")
    assert graph.refresh_external().types == ("Knows", "Person")
    assert graph.counts() == {"Person": 2, "Knows": 1}


def test_a_refresh_names_external_types_and_only_those(shop: Shop) -> None:
    with pytest.raises(UsageError, match="Person is not external") as caught:
        shop.graph.refresh_external("Person")
    assert caught.value.hint == "the external types of this branch are: Order"
    with pytest.raises(UsageError, match="no type is named"):
        shop.graph.refresh_external([])
    assert shop.graph.refresh_external(["Order"]).types == ("Order",)


def test_a_repeated_refresh_with_one_key_is_one_commit(shop: Shop) -> None:
    shop.write("b", 6)
    first = shop.graph.refresh_external(idempotency_key="k")
    shop.write("c", 7)
    again = shop.graph.refresh_external(idempotency_key="k")
    assert again.repeated
    assert again.commit == first.commit
    assert shop.numbers() == [1, 2, 3, 4, 5, 6]


def test_a_refresh_and_a_concurrent_write_both_stand(shop: Shop) -> None:
    other = omnigraph.open(shop.graph.uri)
    shop.numbers()
    other.load([{"type": "Person", "data": {"name": "cy"}}])
    shop.write("b", 6)
    shop.graph.refresh_external()
    assert shop.graph.counts() == {"Order": 6, "Person": 3, "Likes": 2}
    # The edge is checked against the refreshed keys, although its writer saw the earlier ones.
    other.load([{"edge": "Likes", "from": "cy", "to": "6"}])
    other.apply_schema(other.schema_text().replace("note: String?", ""))
    with pytest.raises(ReadSetConflict):
        _refresh_under_an_old_schema(shop)


def _refresh_under_an_old_schema(shop: Shop) -> None:
    """A refresh that read its source before a schema change of another process."""
    from omnigraph.core.commit import CommitKind
    from omnigraph.write.attempt import commit
    from omnigraph.write.context import WriteOptions
    from omnigraph.write.external.refresh import refreshing
    from omnigraph.write.type_tables import external_entities

    context, options = shop.graph._context, WriteOptions()
    shop.write("c", 7)
    info = options.info(context, CommitKind.REFRESH)
    with refreshing(context, shop.graph.id, external_entities, info, options) as (_, job):
        omnigraph.open(shop.graph.uri).apply_schema(shop.graph.schema_text().replace("total: F64?", ""))
        commit(context, job)
