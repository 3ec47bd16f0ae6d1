"""Pictures: their data, limits, escaping and layout. What they look like is checked by eye."""

from __future__ import annotations

import dataclasses
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph
from omnigraph.engine.picture import positions as kept
from omnigraph.engine.picture.grid_forces import grid_repulsion
from omnigraph.engine.picture.layout import _repulsion, layout
from tests.support.interop_graph import interop_graph

HOSTILE = '</script><img src=x onerror=alert(1)>"&\u2028%%DATA%%'


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    return interop_graph(tmp_path_factory.mktemp("pictures"))


def _data(picture: omnigraph.Picture) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', picture.html(), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def _signs(picture: omnigraph.Picture) -> dict[str, str]:
    return {node[3]: node[6] for node in _data(picture)["nodes"]}


def _names(picture: omnigraph.Picture) -> list[str]:
    return [node[3] for node in _data(picture)["nodes"]]


def test_a_picture_shows_every_node_and_edge_with_type_caption_and_properties(graph: omnigraph.Graph) -> None:
    picture = graph.draw()
    data = _data(picture)
    assert repr(picture) == "<Picture: 5 nodes, 5 edges shown>"
    assert data["nodeTypes"] == [{"name": "City", "count": 2}, {"name": "Person", "count": 3}]
    assert data["edgeTypes"] == [{"name": "Knows", "count": 3}, {"name": "LivesIn", "count": 2}]
    ann = next(node for node in data["nodes"] if node[3] == "ann")
    assert dict(ann[5]) == {
        "id": "ann",
        "name": "ann",
        "zip": "1",
        "age": "30",
        "score": "0.1",
        "vector": "[0.1, 0.2, 0.3]",
    }
    ends = {
        (data["nodes"][edge[0]][3], data["edgeTypes"][edge[2]]["name"], data["nodes"][edge[1]][3])
        for edge in data["edges"]
    }
    assert ends == {
        ("ann", "Knows", "bob"),
        ("bob", "Knows", "ann"),
        ("ann", "LivesIn", "paris"),
        ("paris", "LivesIn", "oslo"),
    }


def test_above_the_limit_the_nodes_with_most_edges_are_shown(graph: omnigraph.Graph) -> None:
    picture = graph.draw(limit=2)
    assert _names(picture) == ["ann", "bob"]
    assert picture.shown == "2 of 5 nodes, 3 of 5 edges shown"
    assert picture.shown in picture.html()


def test_the_same_graph_gives_the_same_page(graph: omnigraph.Graph) -> None:
    assert graph.draw().html() == graph.draw().html()


def test_no_text_of_the_graph_can_leave_its_place_in_the_page(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", "node Person { name: String @key }\nedge Knows: Person -> Person\n")
    graph.load([{"type": "Person", "data": {"name": HOSTILE}}], "append")
    page = graph.draw().html()
    assert _names(graph.draw()) == [HOSTILE]
    assert page.count("</script>") == 2
    assert "<img" not in page
    frame = graph.draw()._repr_html_()
    assert 'sandbox="allow-scripts"' in frame
    document = re.search(r'srcdoc="([^"]*)"', frame)
    assert document is not None
    assert html.unescape(document[1]) == page


def test_a_page_loads_nothing_and_has_tables_for_readers_without_a_canvas(
    graph: omnigraph.Graph, tmp_path: Path
) -> None:
    graph.draw().save(tmp_path / "graph.html")
    page = (tmp_path / "graph.html").read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href)\s*=|https?://(?!www\.w3\.org/2000/svg)|@import|fetch\(""", page)
    assert re.search(r">ann</td><td[^>]*>Knows</td><td[^>]*>bob</td>", page)


def test_a_result_draws_its_nodes_and_the_edges_it_followed(graph: omnigraph.Graph) -> None:
    text = "query q() { match { $p: Person  $p livesIn $c } return { $p, $c.name } }"
    picture = graph.query(text).draw()
    assert sorted(_names(picture)) == ["ann", "oslo", "paris", "paris"]
    assert [item["name"] for item in _data(picture)["edgeTypes"]] == ["LivesIn"]
    first = graph.query(text + " ")[:1]
    assert len(_names(first.draw())) == 2
    alone = graph.query("query q() { match { $p: Person } return { $p.name as who } }").draw()
    assert alone.shown == "3 nodes, 3 edges shown"


def test_an_analysis_draws_its_nodes(graph: omnigraph.Graph) -> None:
    pytest.importorskip("scipy")
    assert sorted(_names(graph.analyze.degrees("LivesIn").top(2).draw())) == ["oslo", "paris"]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda graph: graph.sql("select 1 as x").draw(), "the rows name no nodes"),
        (lambda graph: graph.query("query q() { match { $p: Person } return { $p.age } }").draw(), "name no nodes"),
        (lambda graph: graph.draw("Persn"), "there is no type 'Persn'"),
        (lambda graph: graph.draw(limit=0), "1 to 20,000 nodes"),
        (lambda graph: graph.draw(caption="nme"), "'nme'"),
        (lambda graph: graph.draw(caption={"Person": "nme"}), "Person has no property 'nme'"),
    ],
)
def test_what_cannot_be_drawn_is_explained(graph: omnigraph.Graph, draw: Any, message: str) -> None:
    with pytest.raises(omnigraph.OmnigraphError, match=message):
        draw(graph)


def test_captions_are_the_property_that_is_named(graph: omnigraph.Graph) -> None:
    assert sorted(_names(graph.draw("Knows", caption="age"))) == ["30", "40", "50"]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    """A branch that inserts, updates, deletes, and disagrees with main about one value."""
    graph = interop_graph(tmp_path_factory.mktemp("changes"))
    graph.create_branch("draft")
    graph.mutate('query q() { update Person set {age: 31} where name = "ann" }', branch="draft")
    graph.mutate('query q() { insert Person {name: "new"} insert Knows {from: "new", to: "ann"} }', branch="draft")
    graph.mutate('query q() { delete Person where name = "bob" }', branch="draft")
    graph.mutate('query q() { update Person set {age: 32} where name = "ann" }')
    return graph


def test_a_diff_draws_what_changed_with_signs_and_one_hop_of_neighbours(changed: omnigraph.Graph) -> None:
    picture = changed.diff("main~1", "draft").draw()
    assert _signs(picture) == {"ann": "~", "new": "+", "bob": "-", "paris": ""}
    ann = next(node for node in _data(picture)["nodes"] if node[3] == "ann")
    assert ann[5] == [["age", "30 → 31"]]
    signs = [(edge[4], _data(picture)["edgeTypes"][edge[2]]["name"]) for edge in _data(picture)["edges"]]
    assert sorted(signs) == [("", "LivesIn"), ("+", "Knows"), ("-", "Knows"), ("-", "Knows"), ("-", "Knows")]
    assert picture.shown == "3 nodes and 4 edges changed, 1 neighbour"
    assert "inserted (square)" in picture.html()


def test_a_merge_preview_draws_what_the_merge_brings_and_marks_conflicts(changed: omnigraph.Graph) -> None:
    preview = changed.merge_preview("draft")
    assert _signs(preview.draw()) == {"ann": "!", "new": "+", "bob": "-", "paris": ""}
    read = omnigraph.MergePreview(**{**_fields(preview), "diff": None})
    with pytest.raises(omnigraph.OmnigraphError, match="no graph to read"):
        read.draw()


def _fields(preview: omnigraph.MergePreview) -> dict[str, Any]:
    return {field.name: getattr(preview, field.name) for field in dataclasses.fields(preview)}


def test_a_large_change_is_drawn_by_type_with_numbers(changed: omnigraph.Graph) -> None:
    picture = changed.diff("main~1", "draft").draw(limit=2)
    assert _signs(picture) == {"Person +1 ~1 -1": "~"}
    assert [item["name"] for item in _data(picture)["edgeTypes"]] == ["Knows +1 -3"]
    with pytest.raises(omnigraph.OmnigraphError, match="1 to 2,000 changes"):
        changed.diff("main~1", "draft").draw(limit=0)


def test_a_layout_keeps_nodes_apart_and_connected_ones_together() -> None:
    sources, targets = np.array([0, 1, 3, 4, 0]), np.array([1, 2, 4, 5, 0])
    points = layout(7, sources, targets)
    assert np.isfinite(points).all()
    apart = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    assert apart[~np.eye(7, dtype=bool)].min() > 0.3
    assert apart[0, 1] < apart[0, 3]
    assert layout(0, sources[:0], targets[:0]).shape == (0, 2)


def test_parts_that_no_edge_connects_stand_side_by_side() -> None:
    stars = np.arange(1, 60) // 6 * 6
    points = layout(60, stars[stars != np.arange(1, 60)], np.arange(1, 60)[stars != np.arange(1, 60)])
    boxes = [(part.min(axis=0), part.max(axis=0)) for part in np.split(points, 10)]
    for index, (low, high) in enumerate(boxes):
        assert all((low > other_high).any() or (high < other_low).any() for other_low, other_high in boxes[:index])


def test_a_grid_pushes_many_nodes_as_pairs_would() -> None:
    rng = np.random.default_rng(7)
    points, masses = rng.normal(size=(500, 2)) * 20, rng.uniform(1, 5, 500)
    exact, grid = _repulsion(points, masses), grid_repulsion(points, masses)
    assert np.linalg.norm(grid - exact) < 0.1 * np.linalg.norm(exact)


def test_positions_are_kept_by_structure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = omnigraph.create(tmp_path / "g", "node Person { name: String @key }\nedge Knows: Person -> Person\n")
    people = [{"type": "Person", "data": {"name": f"p{i:03}"}} for i in range(250)]
    edges = [{"edge": "Knows", "from": f"p{i:03}", "to": f"p{(i * 7 + 1) % 250:03}"} for i in range(250)]
    graph.load([*people, *edges], "append")
    first = graph.draw()
    assert len(list((tmp_path / "g" / "cache" / "positions").iterdir())) == 1
    monkeypatch.setattr(kept, "layout", lambda *_: pytest.fail("the positions are known"))
    graph.mutate('query q() { insert Person {name: "z"} }')
    assert _data(graph.draw(limit=250))["nodes"] == _data(first)["nodes"]
