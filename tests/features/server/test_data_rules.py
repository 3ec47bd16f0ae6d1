"""Data rules over HTTP: routes that filter stay inside the scope of the caller, all others are denied to it."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pyarrow as pa
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


DENIED = {
    "listGraphs": "no policy is bound to the cluster",
    # These cannot leave entities out.
    "cluster_applySchema": "cannot apply the data rules",
    "doctor": "cannot apply the data rules",
    "getQuery": "cannot apply the data rules",
    "saveReview": "cannot apply the data rules",
    # The samples write or merge a person who is too young to be seen.
    "cluster_mutate": "do not allow the change",
    "cluster_mutate_if_graph_commit": "do not allow the change",
    "cluster_change": "do not allow the change",
    "cluster_invoke_query_if_graph_commit": "do not allow the change",
    "cluster_loadNdjson": "do not allow the change",
    "loadArrow": "do not allow the change",
    "cluster_mergeBranches": "outside of the data rules",
    "merge": "outside of the data rules",
    "revert": "outside of the data rules",
}
"""The operations that an actor with a scope may not call, or not with the sample; all others show it its part."""


@pytest.mark.parametrize("name", SAMPLES)
def test_every_operation_shows_the_part_of_the_caller_or_is_denied(
    name: str, clients: dict[str, httpx2.Client], graph: Graph
) -> None:
    for branch in {"new", "spare"} & {item.name for item in graph.branches()}:
        graph.delete_branch(branch)
    graph.create_branch("spare")
    graph.mutate('query q() { update Person set {age: 7} where name = "bo" }', branch="spare", message="of bo")
    reply = SAMPLES[name].send(clients["ann"], "main", graph)
    assert not HIDDEN.search(reply.text)
    job = settled(clients["ann"], reply) if reply.status_code == 202 else None
    assert (reply.status_code == 403) == (name in DENIED), reply.text
    assert DENIED.get(name, "") in reply.text
    if name not in DENIED and job is None:
        assert reply.status_code == (404 if SAMPLES[name].is_missing else 200), reply.text
    if job is not None:
        assert job["state"] == "failed"
        assert "data rules" in str(job)
        assert not HIDDEN.search(str(job))


def test_rows_with_their_entities_are_those_of_the_part(clients: dict[str, httpx2.Client]) -> None:
    body = {"query": READ_ALL, "entities": True}
    for who, ids in (("ann", [["ann"]]), ("root", [["ann"], ["bo"], ["cy"]])):
        assert clients[who].post(f"{BASE}/query", json=body).json()["entities"]["ids"] == ids


def test_an_answer_from_a_part_has_a_tag_of_its_own_and_is_revalidated(
    clients: dict[str, httpx2.Client], graph: Graph
) -> None:
    commit, first = graph.snapshot().commit_id, [*graph.commits()][-1].id
    whole = ("/snapshot", "/schema", "/catalog", f"/catalog?snapshot={commit}", f"/sample?snapshot={commit}")
    changes = [f"/{path}?from={first}&to={commit}" for path in ("diff", "diff/picture")]
    for path in (*whole, *changes):
        ann, root = (clients[who].get(BASE + path) for who in ("ann", "root"))
        tag = f"{first}..{commit}" if path in changes else commit
        assert root.headers["etag"] == f'"{tag}"'
        assert ann.headers["etag"].startswith(f'"{tag}.')
        assert "immutable" not in ann.headers["cache-control"]
        again = clients["ann"].get(BASE + path, headers={"If-None-Match": ann.headers["etag"]})
        assert again.status_code == 304
        # The tag of the whole graph is not that of a part of it, and the other way around.
        crossed = clients["ann"].get(BASE + path, headers={"If-None-Match": root.headers["etag"]})
        assert crossed.content == ann.content
        assert clients["root"].get(BASE + path, headers={"If-None-Match": ann.headers["etag"]}).status_code == 200


def test_an_export_as_arrow_holds_the_part(clients: dict[str, httpx2.Client]) -> None:
    headers = {"Accept": "application/vnd.apache.arrow.stream"}
    for who, names in (("ann", ["ann"]), ("root", ["ann", "bo", "cy"])):
        reply = clients[who].post(f"{BASE}/export", json={"type_names": ["Person"]}, headers=headers)
        table = pa.ipc.open_stream(reply.content).read_all()
        assert sorted(table.column("id").to_pylist()) == names
    hidden = clients["ann"].post(f"{BASE}/export", json={"type_names": ["Note"]}, headers=headers)
    missing = clients["ann"].post(f"{BASE}/export", json={"type_names": ["Nope"]}, headers=headers)
    assert hidden.status_code == missing.status_code == 404
    assert hidden.text.replace("Note", "Nope") == missing.text


def test_a_merge_of_what_the_caller_may_change_is_made(clients: dict[str, httpx2.Client], graph: Graph) -> None:
    ann = clients["ann"]
    for branch in {"new", "spare"} & {item.name for item in graph.branches()}:
        graph.delete_branch(branch)
    assert ann.post(f"{BASE}/branches", json={"name": "spare"}).status_code == 200
    text = 'query q() { update Person set {age: 44} where name = "ann" }'
    assert ann.post(f"{BASE}/mutate", json={"query": text, "branch": "spare"}).status_code == 200
    preview = ann.post(f"{BASE}/merge/preview", json={"source": "spare"}).json()
    assert [item["updated"] for item in preview["tables"]] == [1]
    merged = ann.post(f"{BASE}/branches/merge", json={"source": "spare"})
    assert merged.status_code == 200, merged.text
    assert graph.snapshot().nodes("Person").where(id="ann").arrow().column("age").to_pylist() == [44]


def test_returned_rows_are_those_of_the_part(clients: dict[str, httpx2.Client]) -> None:
    text = "query q() { update Person set {age: age} where name is not null returning { name } }"
    for who, names in (("ann", ["ann"]), ("root", ["ann", "bo", "cy"])):
        reply = clients[who].post(f"{BASE}/mutate", json={"query": text})
        assert reply.status_code == 200, reply.text
        assert sorted(row["name"] for row in reply.json()["rows"]) == names


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
