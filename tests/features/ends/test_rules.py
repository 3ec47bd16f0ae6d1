"""Data rules over edges with several ends: an edge to a hidden node does not exist, whatever its id is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import omnigraph
from omnigraph.engine.explore.neighbours import neighbours
from tests.features.ends.graphs import LIKED, liked, made
from tests.features.policy.teams import bundle

BUNDLE = """
version: 1
groups: {staff: [ann, zoe]}
rules:
  - id: staff
    allow: {actors: {group: staff}, actions: [read, export]}
"""
READS = """
permit (principal == Omnigraph::Actor::"ann", action == Omnigraph::Action::"read_entity", resource is Data::TYPE);
"""
COMMENTS = """
permit (principal == Omnigraph::Actor::"ann", action == Omnigraph::Action::"read_entity", resource is Data::Comment)
when { resource has slug && resource.slug == "3" };
"""
PROPERTIES = 'permit (principal, action == Omnigraph::Action::"read_property", resource);'


def seen(tmp_path: Path, types: list[str], more: str = "") -> omnigraph.Graph:
    rules = "".join(READS.replace("TYPE", name) for name in types) + more + PROPERTIES
    return omnigraph.open(made(tmp_path / "g").uri, policy=bundle(tmp_path / "rules", rules, BUNDLE), actor="ann")


@pytest.mark.parametrize("has_some", [False, True], ids=["no comment", "one comment"])
def test_every_way_shows_the_edges_to_visible_nodes(tmp_path: Path, has_some: bool) -> None:
    graph = seen(tmp_path, ["Person", "Post", "Likes"], COMMENTS if has_some else "")
    wanted = [LIKED[0], LIKED[2]] if has_some else LIKED[:1]
    ids = [row[0] for row in wanted]
    assert liked(graph) == wanted
    snapshot = graph.snapshot()
    shown = snapshot.to_arrow("Likes").to_pylist()
    assert [row["id"] for row in shown] == ids
    if has_some:
        assert [(row["dst_type"], row["dst"]) for row in shown] == [row[2:] for row in wanted]
    else:
        assert "dst_type" not in shown[0], "for the actor the end has one type"
    assert sorted(row["id"] for row in graph.edges("Likes")) == ids
    assert [row["id"] for row in graph.sql('select id from "Likes" order by id').to_dicts()] == ids
    lines = [json.loads(line) for line in b"".join(graph.export()).splitlines()]
    assert sorted(line["data"]["id"] for line in lines if line.get("edge") == "Likes") == ids
    around = neighbours(snapshot, {"Person": ["ann", "bob"]})
    assert sorted(item.id for item in around.edges) == ids
    copy = omnigraph.create(tmp_path / "copy", graph.schema_text(), durability="os")
    copy.load(lines)
    assert liked(copy) == wanted
