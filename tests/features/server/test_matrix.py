"""Authorisation of every operation: route x caller x branch x state, generated from the route table.

Every cell is one request; what it must answer is computed from the needs of the route alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx2
import pytest

from omnigraph import Action, Actor, Catalog, Graph
from omnigraph.core.actors import Need
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.server.access.states import DefaultDeny, State
from omnigraph.server.routes.table import DOCUMENTED
from tests.features.server.conftest import STORED, small_graph
from tests.features.server.live import Live, queries_of, running, serving_of
from tests.features.server.requests import SAMPLES, Sample

OPERATIONS = [route.operation for route in DOCUMENTED]
SECURED = [operation.id for operation in OPERATIONS if operation.is_secured]
BRANCHES = ("main", "dev")
TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob"}
WRONG = {"none": None, "other scheme": "Basic x", "unknown": "Bearer nope", "lower case": "bearer token-of-ann"}


@dataclass
class Rules:
    """Allows some actions, and says what it was asked."""

    denied: frozenset[Action] = frozenset()
    asked: list[Need] = field(default_factory=list)

    def check(
        self,
        actor: Actor,
        action: Action,
        branch: str | None = None,
        target_branch: str | None = None,
        *,
        query: str | None = None,
    ) -> None:
        need = Need(action, branch, target_branch, query)
        self.asked.append(need)
        if action in self.denied:
            raise need.denied(f" for actor {actor.id!r}", actor)

    def scope(self, actor: Actor, action: Action, branch: str, catalog: Catalog) -> DataScope | None:
        return None


def test_every_secured_operation_has_a_sample() -> None:
    assert set(SAMPLES) == set(SECURED)
    assert [operation.id for operation in OPERATIONS if not operation.is_secured] == ["health"]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return small_graph(tmp_path_factory.mktemp("matrix") / "kb.omni")


@pytest.fixture(scope="module")
def rules() -> Rules:
    return Rules()


@pytest.fixture(scope="module")
def policed(graph: Graph, rules: Rules) -> Iterator[Live]:
    serving = serving_of(
        graph,
        tokens=TOKENS,
        authorizer=rules,
        state=State.POLICY_ENABLED,
        server_policy=rules,
        queries=queries_of(graph, *STORED),
    )
    with running(serving) as live:
        yield live


@pytest.fixture(scope="module")
def denying(graph: Graph) -> Iterator[Live]:
    serving = serving_of(
        graph,
        tokens=TOKENS,
        authorizer=DefaultDeny(),
        state=State.DEFAULT_DENY,
        queries=queries_of(graph, *STORED),
    )
    with running(serving) as live:
        yield live


@pytest.fixture(scope="module")
def opened(graph: Graph) -> Iterator[Live]:
    with running(serving_of(graph, queries=queries_of(graph, *STORED))) as live:
        yield live


@pytest.fixture(autouse=True)
def _fresh(graph: Graph, request: pytest.FixtureRequest) -> None:
    """The branches that samples write to are as they were."""
    called = getattr(request.node, "callspec", None)
    if called is not None and not SAMPLES[called.params["name"]].writes:
        return
    names = [item.name for item in graph.branches()]
    for name in ("new", "spare"):
        if name in names:
            graph.delete_branch(name)
    graph.create_branch("spare")


def state_of(graph: Graph) -> dict[str, str]:
    return {item.name: item.head for item in graph.branches()}


def outcome(response: httpx2.Response) -> str:
    """Allowed, whatever the request then did, or how it was refused."""
    match response.status_code:
        case 401:
            return "unauthenticated"
        case 403:
            return "forbidden"
        case 404:
            return "missing"
        case status:
            assert status in (200, 202), response.text
            return "allowed"


def refusal(sample: Sample, need: Need) -> str:
    is_first = need.action is Action.INVOKE_QUERY or (sample.path.endswith("/changes") and "commits" in sample.path)
    return "missing" if sample.is_hidden and is_first else "forbidden"


@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize("name", SECURED)
class TestCells:
    def test_a_policy_is_asked_for_the_needs_of_the_route(
        self, name: str, branch: str, policed: Live, rules: Rules, graph: Graph
    ) -> None:
        rules.denied = frozenset()
        rules.asked.clear()
        sample = SAMPLES[name]
        with policed.client(TOKENS["ann"]) as client:
            assert outcome(sample.send(client, branch, graph)) == ("missing" if sample.is_missing else "allowed")
        wanted = sample.needs(branch)
        # The gate asks first; the engine asks again, for what its verb needs.
        assert rules.asked[: len(wanted)] == wanted
        assert {need.action for need in rules.asked} <= {need.action for need in wanted} | {Action.READ}

    def test_each_need_that_is_denied_refuses_the_request_and_changes_nothing(
        self, name: str, branch: str, policed: Live, rules: Rules, graph: Graph
    ) -> None:
        sample = SAMPLES[name]
        for need in sample.needs(branch):
            rules.denied = frozenset({need.action})
            before = state_of(graph)
            with policed.client(TOKENS["ann"]) as client:
                assert outcome(sample.send(client, branch, graph)) == refusal(sample, need)
            assert state_of(graph) == before

    @pytest.mark.parametrize("header", WRONG)
    def test_without_a_valid_token_nothing_else_is_looked_at(
        self, name: str, branch: str, header: str, policed: Live, rules: Rules, graph: Graph
    ) -> None:
        rules.asked.clear()
        value = WRONG[header]
        headers = {} if value is None else {"authorization": value}
        with policed.client() as client:
            client.headers.update(headers)
            response = SAMPLES[name].send(client, branch, graph)
        assert outcome(response) == "unauthenticated"
        assert "www-authenticate" not in response.headers
        assert rules.asked == []

    def test_tokens_without_a_policy_only_read(self, name: str, branch: str, denying: Live, graph: Graph) -> None:
        sample = SAMPLES[name]
        refused = next((need for need in sample.needs(branch) if need.action is not Action.READ), None)
        before = state_of(graph)
        with denying.client(TOKENS["bob"]) as client:
            found = outcome(sample.send(client, branch, graph))
        allowed = "missing" if sample.is_missing else "allowed"
        assert found == (allowed if refused is None else refusal(sample, refused))
        assert state_of(graph) == before or refused is None

    def test_an_open_server_allows_everything_about_graphs(
        self, name: str, branch: str, opened: Live, graph: Graph
    ) -> None:
        sample = SAMPLES[name]
        with opened.client() as client:
            found = outcome(sample.send(client, branch, graph))
        assert found == ("forbidden" if sample.of_server else "missing" if sample.is_missing else "allowed")


def test_the_actor_of_a_commit_is_that_of_the_token_and_of_nothing_else(
    policed: Live, rules: Rules, graph: Graph
) -> None:
    rules.denied = frozenset()
    headers = {"x-actor-id": "mallory", "x-actor": "mallory", "omnigraph-actor": "mallory"}
    body = {"query": SAMPLES["cluster_mutate"].options("dev", graph)["json"]["query"], "params": {"name": "zoe"}}
    with policed.client(TOKENS["ann"]) as client:
        form = client.post(
            "/graphs/kb/mutate?actor=mallory", json={**body, "actor_id": "mallory", "branch": "dev"}, headers=headers
        ).json()
    assert (form["actor_id"], form["commit"]["actor_id"]) == ("ann", "ann")


def test_denied_and_missing_are_the_same_bytes_where_that_is_promised(
    policed: Live, rules: Rules, graph: Graph
) -> None:
    with policed.client(TOKENS["ann"]) as client:
        rules.denied = frozenset()
        missing = client.post("/graphs/kb/queries/nope")
        missing_commit = client.get("/graphs/kb/commits/01ARZ3NDEKTSV4RRFFQ69G5FAV/changes")
        rules.denied = frozenset(Action)
        denied = client.post("/graphs/kb/queries/everyone")
        commit = graph.snapshot("dev").commit_id
        denied_commit = client.get(f"/graphs/kb/commits/{commit}/changes")
    assert (denied.status_code, denied.content) == (missing.status_code, missing.content)
    assert denied_commit.status_code == missing_commit.status_code
    assert denied_commit.text.replace(commit, "X") == missing_commit.text.replace("01ARZ3NDEKTSV4RRFFQ69G5FAV", "X")


def test_a_denial_names_action_branch_and_actor_and_nothing_of_the_store(
    policed: Live, rules: Rules, graph: Graph
) -> None:
    rules.denied = frozenset({Action.CHANGE})
    with policed.client(TOKENS["ann"]) as client:
        form = SAMPLES["cluster_mutate"].send(client, "dev", graph).json()
    assert form["error"] == "policy denied action 'change' on branch 'dev' for actor 'ann'"
    assert (form["code"], form["problem"]["facts"]["action"]) == ("forbidden", "change")
    assert graph.uri not in str(form)


def test_a_merge_that_may_not_delete_its_source_says_so_and_stands(policed: Live, rules: Rules, graph: Graph) -> None:
    rules.denied = frozenset({Action.BRANCH_DELETE})
    graph.mutate('query q() { insert Note {text: "t"} }', branch="spare")
    with policed.client(TOKENS["ann"]) as client:
        body = {"source": "spare", "target": "dev", "delete_branch": True}
        form = client.post("/graphs/kb/branches/merge", json=body).json()
    assert (form["outcome"], form["branch_deleted"]) == ("merged", False)
    assert "branch_delete" in form["branch_delete_error"]


def test_a_load_that_creates_its_branch_needs_both_rights(policed: Live, rules: Rules, graph: Graph) -> None:
    body = {"data": "", "branch": "new", "from": "dev"}
    with policed.client(TOKENS["ann"]) as client:
        for action in (Action.BRANCH_CREATE, Action.CHANGE):
            rules.denied = frozenset({action})
            assert client.post("/graphs/kb/load", json=body).status_code == 403
            assert "new" not in state_of(graph)
        rules.denied = frozenset()
        rules.asked.clear()
        assert client.post("/graphs/kb/load", json=body).json()["branch_created"]
    assert rules.asked[:2] == [Need(Action.BRANCH_CREATE, "dev", "new"), Need(Action.CHANGE, "new")]
