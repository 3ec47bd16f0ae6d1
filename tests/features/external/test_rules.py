"""Data rules hold for external types as for stored ones, and what they cannot filter is denied."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import NotFoundError, PolicyDenied
from tests.features.policy.conftest import ann, plain
from tests.features.policy.teams import LINES, bundle, rows
from tests.support.external import external_copy

__all__ = ["ann", "plain"]

QUESTIONS = (
    LINES,
    'match { $p: Person { name: "cleo" } } return { $p.name }',
    "match { $p: Person } return { count($p) as n, max($p.age) as m }",
    "match { $p: Person $p knows $q } return { $p.name, $q.name } order { $p.name, $q.name }",
    'match { $p: Person { name: "ann" } $p knows{1,4} $q } return { $q.name } order { $q.name }',
    'match { $p: Person search($p.bio, "likes") } return { $p.name } order { $p.name }',
    'match { $p: Person } return { $p.name } order { bm25($p.bio, "cleo ann") } limit 5',
)


@pytest.fixture
def external(plain: omnigraph.Graph, tmp_path: Path) -> omnigraph.Graph:
    """The graph of the teams with external types, as an actor of one team opens it."""
    graph = external_copy(plain, tmp_path / "copy")
    return omnigraph.open(graph.uri, policy=bundle(tmp_path / "rules"), actor="ann")


def test_an_actor_finds_the_same_entities(ann: omnigraph.Graph, external: omnigraph.Graph) -> None:
    for text in QUESTIONS:
        assert rows(external, text) == rows(ann, text), text
    views = [graph.nodes("Person").df().to_dict("records") for graph in (ann, external)]
    assert [sorted(row["name"] for row in view) for view in views] == [["ann", "bob", "dan"]] * 2
    assert external.read_blob("Person", "bob", "photo").read() == b"\x00\x00\x00"
    with pytest.raises(NotFoundError):
        external.read_blob("Person", "cleo", "photo")


def test_what_a_rule_cannot_filter_is_denied(external: omnigraph.Graph) -> None:
    for call in (
        external.refresh_external,
        external.refresh_external_preview,
        external.external_types,
    ):
        with pytest.raises(PolicyDenied):
            call()


def test_counts_and_sql_see_the_entities_of_the_rule_only(ann: omnigraph.Graph, external: omnigraph.Graph) -> None:
    assert external.counts() == ann.counts()
    found = [graph.sql('select name from "Person"').to_pylist() for graph in (ann, external)]
    assert [sorted(row["name"] for row in rows_) for rows_ in found] == [["ann", "bob", "dan"]] * 2


def test_an_actor_without_the_right_to_change_cannot_refresh(external: omnigraph.Graph, tmp_path: Path) -> None:
    zoe = omnigraph.open(external.uri, policy=tmp_path / "rules" / "policy.yaml", actor="zoe")
    with pytest.raises(PolicyDenied):
        zoe.refresh_external()
    root = omnigraph.open(external.uri, policy=tmp_path / "rules" / "policy.yaml", actor="root")
    assert root.refresh_external().commit is None
