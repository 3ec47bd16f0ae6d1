"""One server with one graph and its page, and one browser, shared by the tests of a module."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.types import ASGIApp

import omnigraph
from omnigraph import Graph
from omnigraph.policy.actions import Resource
from omnigraph.policy.decide import Policy
from omnigraph.policy.read_bundle import read_bundle
from omnigraph.server.access.states import State
from omnigraph.server.page import PREFIX, Page
from tests.features.server.live import Live, queries_of, running, serving_of

TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob", "eve": "token-of-eve"}
POLICY = """
version: 1
groups: {admins: [ann], readers: [bob]}
rules:
  - id: all
    allow: {actors: {group: admins}, actions: [read, admin, export, branch_merge, change, invoke_query]}
  - id: reads
    allow: {actors: {group: readers}, actions: [read, invoke_query]}
"""
SCHEMA = """
node Person {
  name: String @key
  age: I32?
  city: String?
}
node Doc { title: String @key }
edge Knows: Person -> Person
edge Wrote: Person -> Doc
"""
HOSTILE = "<img src=x onerror=document.title='taken'>"
STORED = ('query check_no_draft() { match { $d: Doc {title: "draft"} } return { $d.title } }',)


def small_graph(path: Path) -> Graph:
    """People who know each other, documents, and branches to review."""
    graph = omnigraph.create(path, SCHEMA, durability="os")
    people = [{"type": "Person", "data": {"name": f"p{i}", "age": 20 + i, "city": f"c{i % 3}"}} for i in range(30)]
    people.append({"type": "Person", "data": {"name": HOSTILE}})
    edges = [{"edge": "Knows", "from": f"p{i}", "to": f"p{i + 1}", "data": {"id": f"k{i}"}} for i in range(20)]
    graph.load([*people, *edges], actor="ann", message="the first people")
    for name in ("conflict", "checked", "large"):
        graph.create_branch(name)
    graph.mutate('query q() { update Person set {city: "west", age: 50} where name = "p2" }', branch="conflict")
    graph.mutate('query q() { insert Doc {title: "plan"} insert Wrote {from: "p1", to: "plan"} }', branch="conflict")
    graph.mutate('query q() { update Person set {city: "east"} where name = "p2" }', actor="bot-7", message="moved p2")
    graph.mutate('query q() { insert Doc {title: "draft"} }', branch="checked")
    graph.load([{"type": "Doc", "data": {"title": f"doc{i:04}"}} for i in range(2000)], branch="large")
    return graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return small_graph(tmp_path_factory.mktemp("page") / "kb.omni")


@pytest.fixture(scope="module")
def live(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server with tokens, a policy and the page."""
    bundle = tmp_path_factory.mktemp("policy") / "policy.yaml"
    bundle.write_text(POLICY, encoding="utf-8")
    policy = Policy(read_bundle(bundle, Resource.GRAPH), "kb")
    queries = queries_of(graph, *STORED)
    serving = serving_of(graph, tokens=TOKENS, authorizer=policy, state=State.POLICY_ENABLED, queries=queries)
    mounts: dict[str, ASGIApp] = {}
    with running(serving, mounts=mounts) as server:
        page = Page(lambda: server.app.serving)
        mounts.update({"": page, PREFIX: page})
        yield server


def hash_of(screen: str, **params: object) -> str:
    """The fragment of a screen."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in params.items()}
    return f"#/kb/{screen}?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in texts.items())
