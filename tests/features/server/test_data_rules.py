"""Data rules over HTTP: routes that filter stay inside the scope of the caller, all others are denied to it."""

import re
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
from tests.features.server.conftest import STORED, small_graph
from tests.features.server.live import BASE, READ_ALL, queries_of, running, serving_of
from tests.features.server.requests import SAMPLES, settled

BUNDLE = """
version: 1
groups: {staff: [ann], admins: [root]}
rules:
  - id: staff
    allow:
      actors: {group: staff}
      actions: [read, change, export, admin, schema_apply, invoke_query, branch_create, branch_delete, branch_merge]
  - id: admins
    allow: {actors: {group: admins}, actions: [read, change, export]}
data_rules: |
  permit (principal in Omnigraph::Group::"admins", action, resource);
  permit (principal, action in [Omnigraph::Action::"read_entity", Omnigraph::Action::"change_entity"],
          resource is Data::Person) when { resource has age && resource.age > 30 };
  permit (principal, action == Omnigraph::Action::"read_property", resource is Data::Person);
"""
HIDDEN = re.compile(r'"(bo|cy|dee|k-bo|k-cy)"|\b(Knows|Note)\b')
"""Entities and types that the staff may not see."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return small_graph(tmp_path_factory.mktemp("rules") / "kb.omni")


@pytest.fixture(scope="module")
def clients(graph: Graph) -> Iterator[dict[str, httpx2.Client]]:
    policy = Policy(parse_bundle(BUNDLE), "kb")
    serving = serving_of(
        graph,
        tokens={"ann": "token-ann", "root": "token-root"},
        authorizer=policy,
        state=State.POLICY_ENABLED,
        queries=queries_of(graph, *STORED),
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


ANSWERED = {
    "cluster_query": 200,
    "cluster_read": 200,
    "cluster_invoke_query": 200,
    "explain": 200,
    "cluster_getBlob": 200,
    "cluster_headBlob": 200,
    "cluster_getCommitChanges": 200,
    "cluster_pollChanges": 200,
    "cluster_load": 200,  # of no rows
    "cluster_ingest": 200,
    "cluster_list_queries": 200,
    "cluster_listBranches": 200,
    "cluster_createBranch": 200,
    "cluster_deleteBranch": 200,
    "listJobs": 200,
    "getJob": 404,
    "listReviews": 200,
    "getReview": 404,
    "changeReview": 404,
    "commentReview": 404,
}
"""The operations that an actor with a scope may call, whatever they find; all others are denied to it."""


@pytest.mark.parametrize("name", SAMPLES)
def test_every_operation_shows_the_part_of_the_caller_or_is_denied(
    name: str, clients: dict[str, httpx2.Client], graph: Graph
) -> None:
    for branch in {"new", "spare"} & {item.name for item in graph.branches()}:
        graph.delete_branch(branch)
    graph.create_branch("spare")
    reply = SAMPLES[name].send(clients["ann"], "main", graph)
    assert not HIDDEN.search(reply.text)
    job = settled(clients["ann"], reply) if reply.status_code == 202 else None
    assert reply.status_code == ANSWERED.get(name, 403) or job is not None, reply.text
    if job is not None:
        assert job["state"] == "failed"
        assert "data rules" in str(job)
        assert not HIDDEN.search(str(job))


def test_rows_with_their_entities_are_denied(clients: dict[str, httpx2.Client]) -> None:
    body = {"query": READ_ALL, "entities": True}
    assert clients["ann"].post(f"{BASE}/query", json=body).status_code == 403
    assert clients["root"].post(f"{BASE}/query", json=body).status_code == 200


def test_returned_rows_are_those_of_the_part(clients: dict[str, httpx2.Client]) -> None:
    text = "query q() { update Person set {age: age} where name is not null returning { name } }"
    for who, names in (("ann", ["ann"]), ("root", ["ann", "bo", "cy"])):
        reply = clients[who].post(f"{BASE}/mutate", json={"query": text})
        assert reply.status_code == 200, reply.text
        assert [row["name"] for row in reply.json()["rows"]] == names


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
