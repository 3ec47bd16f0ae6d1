"""Ids by hash: the same id has the same hash wherever it stands, and a map finds what a filter finds."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.engine.graph import Graph, create, open_graph
from omnigraph.exec import id_map, tables
from omnigraph.exec.id_map import IdMap, IdMaps, hashes
from omnigraph.rows.keys import hash_text
from tests.support.tuning import retuned

TEXTS = [
    "",
    "a",
    "b",
    "ab",
    "ba",
    "abcdefgh",
    "abcdefghi",
    "abcdefgh\0",
    "\0",
    "\0\0",
    "ü",
    "日本語",
    "x" * 1000,
    "a" * 999,
]


def test_equal_texts_have_equal_hashes_wherever_they_stand() -> None:
    whole = hashes(pa.array(TEXTS))
    assert len(set(whole.tolist())) == len(TEXTS)
    assert [hash_text(text) for text in TEXTS] == whole.tolist()
    for place, text in enumerate(TEXTS):
        assert hashes(pa.array([text])).tolist() == [whole[place]]
        assert hashes(pa.array(["before", *TEXTS, "after"]).slice(place + 1, 1)).tolist() == [whole[place]]
    assert hashes(pa.array([], pa.string())).tolist() == []


def test_hashes_of_many_ids_differ() -> None:
    ids = pa.array([f"person-{number}" for number in range(200_000)])
    assert len(np.unique(hashes(ids))) == len(ids)


def test_ids_with_one_hash_are_told_apart(tmp_path: Path) -> None:
    graph = grown(tmp_path)
    with (
        retuned(graph, mapped_rows_min=0),
        patch.object(tables, "hash_text", lambda _: 7),
        patch("omnigraph.exec.cells.ids.hash_text", lambda _: 7),
        patch.object(id_map, "hashes", lambda texts: np.full(len(texts), 7, np.uint64)),
    ):
        assert ages(graph, ["n1", "n39", "n40", "nobody"]) == [1, 39]


def grown(path: Path) -> Graph:
    graph = create(path / "g", "node N { name: String @key age: I32 }", durability="os")
    graph.load([{"type": "N", "data": {"name": f"n{number}", "age": number}} for number in range(40)])
    return graph


def ages(graph: Graph, names: list[str]) -> list[int]:
    text = "query q($names: [String]) { match { $n: N  $n.name in $names } return { $n.age } order { $n.age } }"
    one = "query q($name: String) { match { $n: N { name: $name } } return { $n.age } }"
    found = [row["n.age"] for name in names for row in graph.query(one, {"name": name}).to_pylist()]
    assert [row["n.age"] for row in graph.query(text, {"names": names}).to_pylist()] == sorted(found)
    return found


@pytest.mark.parametrize("rows_min", [0, 2, 30, 1000])
def test_a_map_finds_what_is_there_now(rows_min: int, tmp_path: Path) -> None:
    graph = grown(tmp_path)
    with retuned(graph, mapped_rows_min=rows_min):
        assert ages(graph, ["n3", "n4"]) == [3, 4]
        graph.mutate('query d() { delete N where name = "n3" }')
        graph.mutate('query u() { update N set { age: 44 } where name = "n4" }')
        graph.load([{"type": "N", "data": {"name": "n40", "age": 40}}])
        assert ages(graph, ["n3", "n4", "n40", "n41"]) == [44, 40]
        graph.load([{"type": "N", "data": {"name": "n3", "age": -3}}])
        assert ages(open_graph(graph.uri, tuning=graph.tuning), ["n3", "n4", "n40"]) == [-3, 44, 40]


def test_a_map_is_kept_beside_the_graph_and_may_go(tmp_path: Path) -> None:
    graph = grown(tmp_path)
    with retuned(graph, mapped_rows_min=0):
        assert ages(graph, ["n5"]) == [5]
        files = list(Path(graph.uri).glob("cache/ids-*/*/hashes.npy"))
        assert files
        with patch.object(IdMaps, "_made", side_effect=AssertionError("it is there")):
            assert ages(open_graph(graph.uri, tuning=graph.tuning), ["n5"]) == [5]
        files[0].write_bytes(b"damaged")
        assert ages(open_graph(graph.uri, tuning=graph.tuning), ["n5"]) == [5]


def test_every_offset_that_has_the_hash_may_be_meant() -> None:
    found = IdMap(np.array([1, 5, 5, 2**64 - 1], np.uint64), np.array([3, 0, 2, 1], np.int32))
    assert [found.offsets_of(hashed) for hashed in (5, 2, 2**64 - 1, 0)] == [[0, 2], [], [1], []]
