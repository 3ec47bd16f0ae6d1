"""Data rules over HTTP: routes that filter stay inside the scope of the caller, all others are denied to it."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from omnigraph import Graph
from omnigraph.errors import PolicyInvalid
from omnigraph.policy import Policy
from omnigraph.policy.read_bundle import parse_bundle
from omnigraph.server.access.states import State
from omnigraph.server.auth.sources import TokenSources
from omnigraph.server.serving.development import AddressSource
from omnigraph.server.serving.opening import GraphAddress
from tests.features.server.conftest import small_graph
from tests.features.server.live import BASE, READ_ALL, running, serving_of

BUNDLE = """
version: 1
groups: {staff: [ann], admins: [root]}
rules:
  - id: staff
    allow: {actors: {group: staff}, actions: [read, change, export, branch_merge, branch_create]}
  - id: admins
    allow: {actors: {group: admins}, actions: [read, change, export]}
data_rules: |
  permit (principal in Omnigraph::Group::"admins", action, resource);
  permit (principal, action in [Omnigraph::Action::"read_entity", Omnigraph::Action::"change_entity"],
          resource is Data::Person) when { resource has age && resource.age > 30 };
  permit (principal, action == Omnigraph::Action::"read_property", resource is Data::Person);
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return small_graph(tmp_path_factory.mktemp("rules") / "kb.omni")


@pytest.fixture(scope="module")
def clients(graph: Graph) -> Iterator[dict[str, httpx2.Client]]:
    policy = Policy(parse_bundle(BUNDLE), "kb")
    serving = serving_of(
        graph, tokens={"ann": "token-ann", "root": "token-root"}, authorizer=policy, state=State.POLICY_ENABLED
    )
    with running(serving) as live, live.client("token-ann") as ann, live.client("token-root") as root:
        yield {"ann": ann, "root": root}


def test_a_query_shows_the_part_of_the_caller(clients: dict[str, httpx2.Client]) -> None:
    def names(who: str) -> list[str]:
        reply = clients[who].post(f"{BASE}/query", json={"query": READ_ALL})
        assert reply.status_code == 200, reply.text
        return [row["p.name"] for row in reply.json()["rows"]]

    assert names("ann") == ["ann"]
    assert names("root") == ["ann", "bo", "cy"]
    hidden = {"query": "query q() { match { $n: Note } return { $n.text } }"}
    assert clients["ann"].post(f"{BASE}/query", json=hidden).status_code == 400
    assert "unknown node type `Note`" in clients["ann"].post(f"{BASE}/query", json=hidden).text
    assert clients["root"].post(f"{BASE}/query", json=hidden).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/snapshot", None),
        ("GET", "/schema", None),
        ("GET", "/commits", None),
        ("POST", "/export", {}),
    ],
)
def test_routes_that_cannot_filter_are_denied(
    clients: dict[str, httpx2.Client], method: str, path: str, body: object
) -> None:
    reply = clients["ann"].request(method, f"{BASE}{path}", json=body)
    assert reply.status_code == 403, reply.text
    assert clients["root"].request(method, f"{BASE}{path}", json=body).status_code == 200


def test_a_write_outside_of_the_part_is_denied(clients: dict[str, httpx2.Client]) -> None:
    young = {"query": 'query q() { insert Person {name: "kid", age: 5} }'}
    assert clients["ann"].post(f"{BASE}/mutate", json=young).status_code == 403
    old = {"query": 'query q() { insert Person {name: "gran", age: 90} }'}
    assert clients["ann"].post(f"{BASE}/mutate", json=old).status_code == 200


def test_a_server_does_not_start_with_rules_that_do_not_fit_its_graph(graph: Graph, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(BUNDLE.replace("resource.age > 30", "resource.height > 30"))
    source = AddressSource([GraphAddress("kb", graph.uri)], TokenSources(json_text='{"ann": "t"}'), policy=policy)
    with pytest.raises(PolicyInvalid, match="height"):
        source.load()
