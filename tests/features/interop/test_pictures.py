"""Pictures: their data, limits, escaping and layout. What they look like is checked by eye."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph
from omnigraph.engine.picture.layout import layout
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
        (lambda graph: graph.draw(limit=0), "1 to 2,000 nodes"),
        (lambda graph: graph.draw(caption="nme"), "'nme'"),
        (lambda graph: graph.draw(caption={"Person": "nme"}), "Person has no property 'nme'"),
    ],
)
def test_what_cannot_be_drawn_is_explained(graph: omnigraph.Graph, draw: Any, message: str) -> None:
    with pytest.raises(omnigraph.OmnigraphError, match=message):
        draw(graph)


def test_captions_are_the_property_that_is_named(graph: omnigraph.Graph) -> None:
    assert sorted(_names(graph.draw("Knows", caption="age"))) == ["30", "40", "50"]


def test_a_layout_keeps_nodes_apart_and_connected_ones_together() -> None:
    sources, targets = np.array([0, 1, 3, 4, 0]), np.array([1, 2, 4, 5, 0])
    points = layout(7, sources, targets)
    assert np.isfinite(points).all()
    apart = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    assert apart[~np.eye(7, dtype=bool)].min() > 0.3
    assert apart[0, 1] < apart[0, 3]
    assert layout(0, sources[:0], targets[:0]).shape == (0, 2)
