"""The graph of two teams as its owner and as an actor of one team use it."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from omnigraph import Graph
from tests.features.policy.teams import KNOWS, PEOPLE, SCHEMA, bundle


@pytest.fixture
def plain(tmp_path: Path) -> Graph:
    graph = omnigraph.create(tmp_path / "g.omni", SCHEMA)
    people = [
        {
            "name": name,
            "team": team,
            "age": age,
            "salary": 1013 * age,
            "photo": f"base64:{'AAAA'}",
            "bio": f"likes {name}",
        }
        for name, team, age in PEOPLE
    ]
    graph.load(
        {
            "Person": people,
            "City": [{"name": "Rome"}],
            "Knows": [{"src": source, "dst": target, "since": since} for source, target, since in KNOWS],
            "LivesIn": [{"src": "ann", "dst": "Rome"}, {"src": "cleo", "dst": "Rome"}],
        }
    )
    return graph


@pytest.fixture
def ann(plain: Graph, tmp_path: Path) -> Graph:
    return omnigraph.open(plain.uri, policy=bundle(tmp_path / "policy"), actor="ann")
