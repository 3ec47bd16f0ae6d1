"""History of external types: branches, merges, reverts, diffs, feeds, cleanup, verification and copies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import ChangeFeedGap, MergeConflicts, SchemaConflict, SourceChanged
from tests.features.external.shop import Shop, write_rows


def _refreshed_on_both(shop: Shop) -> None:
    """Branch `dev` with orders 6, and main with orders 6 and 7."""
    shop.graph.create_branch("dev")
    shop.write("b", 6)
    shop.graph.refresh_external(branch="dev")
    shop.write("c", 7)
    shop.graph.refresh_external()


def test_an_unchanged_pin_is_nothing_and_the_moved_one_is_taken(shop: Shop) -> None:
    graph = shop.graph
    graph.create_branch("dev")
    graph.load([{"type": "Person", "data": {"name": "cy"}}])
    shop.write("b", 6)
    graph.refresh_external(branch="dev")
    graph.load([{"edge": "Likes", "from": "ann", "to": "6"}], branch="dev")
    result = graph.merge("dev")
    assert [(item.key, item.inserted) for item in result.tables] == [("edge:Likes", 1), ("node:Order", 1)]
    assert shop.numbers() == [1, 2, 3, 4, 5, 6]
    assert graph.counts() == {"Order": 6, "Person": 3, "Likes": 3}
    graph.load([{"type": "Person", "data": {"name": "dan"}}], branch="dev")
    assert [item.key for item in graph.merge("dev").tables] == ["node:Person"]


def test_equal_seals_of_two_branches_are_one_pin(shop: Shop) -> None:
    shop.graph.create_branch("dev")
    shop.write("b", 6)
    shop.graph.refresh_external(branch="dev")
    shop.graph.refresh_external()
    pins = [shop.graph.snapshot(name).state.tables["node:Order"].lance_version for name in ("main", "dev")]
    assert pins[0] == pins[1]
    assert shop.graph.merge("dev").commit is not None


@pytest.mark.parametrize(
    ("settled", "numbers"),
    [
        ({"policy": "source"}, [1, 2, 3, 4, 5, 6]),
        ({"policy": "target"}, [1, 2, 3, 4, 5, 6, 7]),
        ({"policy": {"Order": "source"}}, [1, 2, 3, 4, 5, 6]),
        ({"resolutions": [{"type": "Order", "take": "source"}]}, [1, 2, 3, 4, 5, 6]),
        ({"resolutions": [{"kind": "divergent_source", "take": "target"}]}, [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_two_refreshes_are_a_conflict_that_a_side_settles(shop: Shop, settled: dict, numbers: list[int]) -> None:  # type: ignore[type-arg] # arguments of merge
    _refreshed_on_both(shop)
    with pytest.raises(MergeConflicts, match="divergent_source") as caught:
        shop.graph.merge("dev")
    [conflict] = caught.value.conflicts
    assert (conflict.table, conflict.id, conflict.kind.value) == ("node:Order", None, "divergent_source")
    assert [side["rows"] for side in (conflict.base, conflict.source, conflict.target)] == [5, 6, 7]
    assert [item.kind.value for item in shop.graph.merge_preview("dev").conflicts] == ["divergent_source"]
    assert shop.graph.merge("dev", **settled).commit is not None
    assert shop.numbers() == numbers


def test_edges_to_nodes_of_the_side_that_was_not_taken_are_conflicts(shop: Shop) -> None:
    _refreshed_on_both(shop)
    shop.graph.load([{"edge": "Likes", "from": "ann", "to": "7", "data": {"id": "l7"}}])
    with pytest.raises(MergeConflicts, match="orphan_edge") as caught:
        shop.graph.merge("dev", policy="source")
    assert [(conflict.table, conflict.id) for conflict in caught.value.conflicts] == [("edge:Likes", "l7")]
    resolution = {"kind": "orphan_edge", "take": "delete"}
    shop.graph.merge("dev", policy="source", resolutions=[resolution])
    assert shop.numbers() == [1, 2, 3, 4, 5, 6]
    assert shop.graph.counts()["Likes"] == 2


def test_a_merged_schema_that_reads_a_type_differently_is_refused(shop: Shop) -> None:
    graph = shop.graph
    graph.create_branch("dev")
    text = graph.schema_text()
    graph.apply_schema(text.replace("note: String?", "note: String? more: String?"), branch="dev")
    graph.apply_schema(text.replace("note: String?", "note: String? other: String?"))
    with pytest.raises(SchemaConflict, match="reads the external type Order differently"):
        graph.merge("dev", policy="source")


def test_a_revert_goes_back_to_the_earlier_files_while_they_exist(shop: Shop) -> None:
    shop.write("b", 6)
    shop.graph.refresh_external()
    shop.graph.revert("HEAD")
    assert shop.numbers() == [1, 2, 3, 4, 5]
    shop.graph.refresh_external()
    shop.write("b", 6, 7)
    shop.graph.refresh_external()
    with pytest.raises(SourceChanged, match="the earlier version of the external type Order cannot be read"):
        shop.graph.revert("HEAD")
    assert shop.numbers() == [1, 2, 3, 4, 5, 6, 7]


def test_the_feed_delivers_rows_of_refreshes_and_a_gap_where_files_are_gone(shop: Shop) -> None:
    graph = shop.graph
    cursor = graph.changes("now").cursor
    shop.write("b", 6)
    graph.refresh_external()
    page = graph.changes(cursor)
    assert [(change.type_name, change.id, str(change.op)) for block in page.blocks for change in block] == [
        ("Order", "6", "insert")
    ]
    shop.write("b", 6, 7)
    graph.refresh_external()
    fresh = omnigraph.open(graph.uri)
    with pytest.raises(ChangeFeedGap, match="files of the external type node:Order changed or are gone"):
        fresh.changes(page.cursor)
    assert fresh.changes("beginning", type="Person").caught_up, "other types are delivered"
    baseline = fresh.change_baseline()
    assert fresh.changes(baseline.cursor).caught_up


def test_cleanup_deletes_seals_that_no_commit_needs_and_nothing_of_the_source(shop: Shop) -> None:
    graph = shop.graph
    for number in (6, 7, 8):
        shop.write("b", number)
        graph.refresh_external()
    files = sorted(path.name for path in shop.orders.iterdir())
    seals = list(Path(graph.uri).glob("external/nodes/*/*.json"))
    assert len(seals) == 4
    graph.cleanup(keep=1, grace="0s")
    assert len(list(Path(graph.uri).glob("external/nodes/*/*.json"))) == 1
    assert sorted(path.name for path in shop.orders.iterdir()) == files
    assert omnigraph.open(graph.uri).verify().is_clean
    assert shop.numbers() == [1, 2, 3, 4, 5, 8]


def test_verify_names_sealed_files_of_heads_and_remarks_those_of_earlier_commits(shop: Shop) -> None:
    shop.write("b", 6)
    shop.graph.refresh_external()
    shop.write("b", 6, 7)
    report = shop.graph.verify(deep=False)
    assert [(Path(problem.path).name, problem.commits) for problem in report.problems] == [
        ("b.parquet", (shop.graph.snapshot().commit_id,))
    ]
    shop.graph.refresh_external()
    report = shop.graph.verify()
    assert report.is_clean
    assert [Path(remark.path).name for remark in report.remarks] == ["b.parquet"]
    [seal] = [path for path in Path(shop.graph.uri).glob("external/nodes/*/*.json") if path.stat().st_size][:1]
    seal.write_bytes(seal.read_bytes().replace(b"parquet", b"Parquet", 1))
    assert not omnigraph.open(shop.graph.uri).verify().is_clean


def test_copies_have_the_pins_and_read_the_same_files(shop: Shop, tmp_path: Path) -> None:
    shop.write("b", 6)
    shop.graph.refresh_external()
    for name, copy in (("heads", shop.graph.copy), ("all", shop.graph.backup)):
        copy(tmp_path / name)
        shutil.copytree(tmp_path / name, tmp_path / f"{name}-moved")
        moved = omnigraph.open(tmp_path / f"{name}-moved")
        assert moved.counts() == shop.graph.counts()
        assert Shop(moved, shop.orders).numbers() == [1, 2, 3, 4, 5, 6]
        assert moved.refresh_external().commit is None
    assert Shop(moved, shop.orders).numbers(at="main~1") == [1, 2, 3, 4, 5]
    # A backup of a graph whose source moved on is complete all the same.
    shop.write("b", 9)
    shop.graph.backup(tmp_path / "all")


def test_an_external_type_can_be_dropped_and_merged(shop: Shop) -> None:
    graph = shop.graph
    graph.create_branch("dev")
    graph.apply_schema("node Person { name: String @key }", branch="dev", allow_data_loss=True)
    graph.merge("dev")
    assert graph.counts() == {"Person": 2}
    assert graph.external_types() == []
    assert shop.numbers(at="main~1") == [1, 2, 3, 4, 5]
    write_rows(shop.orders / "unused.parquet", [{"no": 1}])
    assert graph.refresh_external().commit is None
