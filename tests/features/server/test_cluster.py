"""Serving a cluster: what was applied is verified, one broken graph is left out, and the rest is served."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from omnigraph.errors import ClusterInvalid, UsageError
from omnigraph.server.access.states import DefaultDeny, State
from omnigraph.server.auth.sources import TokenSources
from omnigraph.server.boot import Watch, is_set, parse_bind, reload
from omnigraph.server.serving.cluster import ClusterSource
from omnigraph.server.serving.graphs import Serving
from tests.features.server.clusters import EVERYONE, POLICY, SERVER_POLICY, Cluster
from tests.features.server.live import running

TOKENS = TokenSources(json_text='{"ann": "a", "bob": "b", "eve": "e"}')


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    cluster = Cluster(tmp_path / "cluster")
    cluster.graph("kb")
    cluster.query("kb", "everyone", EVERYONE)
    return cluster


def load(cluster: Cluster, tokens: TokenSources = TOKENS, **options: object) -> Serving:
    cluster.apply()
    return ClusterSource(str(cluster.root), tokens, **options).load()  # type: ignore[arg-type] # options of the source


def test_graphs_with_queries_and_policies_are_served(cluster: Cluster) -> None:
    cluster.graph("plain")
    cluster.policy("team", POLICY, ["kb"])
    cluster.policy("ops", SERVER_POLICY, ["cluster"])
    serving = load(cluster)
    assert (sorted(serving.graphs), serving.state) == (["kb", "plain"], State.POLICY_ENABLED)
    assert isinstance(serving.graphs["plain"].authorizer, DefaultDeny)
    with running(serving) as live, live.client("a") as ann, live.client("b") as bob, live.client("e") as eve:
        assert [item["graph_id"] for item in ann.get("/graphs").json()["graphs"]] == ["kb", "plain"]
        assert "policy denied action 'graph_list' for unknown actor 'bob'" in bob.get("/graphs").json()["error"]
        assert bob.post("/graphs/kb/queries/everyone").json()["row_count"] == 0
        assert ann.post("/graphs/kb/queries/everyone").status_code == 404
        add = {"query": 'query q() { insert Person {name: "x"} }'}
        assert bob.post("/graphs/kb/mutate", json=add).status_code == 403
        denied = eve.post("/graphs/kb/query", json={"query": EVERYONE}).json()
        assert denied["error"] == "policy denied action 'read' on branch 'main' for unknown actor 'eve'"
        default = bob.post("/graphs/plain/mutate", json=add).json()["error"]
        assert "no policy is bound to this graph" in default
        assert ann.post("/graphs/kb/schema/apply", json={"schema_source": "x"}).status_code == 403


def test_the_root_of_the_storage_or_a_directory_that_names_it_is_served(cluster: Cluster, tmp_path: Path) -> None:
    cluster.apply()
    config = tmp_path / "config"
    config.mkdir()
    (config / "cluster.yaml").write_text(f"version: 1\nstorage: {os.path.relpath(cluster.root, config)}\n")
    for place in (str(config), f"file://{cluster.root}"):
        assert list(ClusterSource(place, TOKENS).load().graphs) == ["kb"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "no file"),
        ("version: 2", "version"),
        ("version: 1\nversion: 1", "duplicate key"),
        ("version: 1\npipelines: {}", "pipelines"),
        ("version: 1\nproviders: {embedding: {e: {kind: openai, api_key: sk-secret}}}", "api_key"),
        ("version: 1\nmetadata: {name: ''}", "metadata.name"),
        ("[", "YAML"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused(tmp_path: Path, text: str | None, reason: str) -> None:
    if text is not None:
        (tmp_path / "cluster.yaml").write_text(text)
    with pytest.raises(ClusterInvalid, match=reason) as caught:
        ClusterSource(str(tmp_path), TOKENS).load()
    assert "sk-secret" not in str(caught.value)


def test_a_missing_directory_or_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClusterInvalid, match="no directory"):
        ClusterSource(str(tmp_path / "gone"), TOKENS).load()
    with pytest.raises(ClusterInvalid, match="no state") as caught:
        ClusterSource(f"file://{tmp_path}", TOKENS).load()
    assert caught.value.facts["reason"] == "cluster_state_missing"


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({"version": 7}, "unsupported_state_version"),
        ({"more": 1}, "invalid_state_json"),
        ({"state_revision": "x"}, "invalid_state_json"),
        ({"applied_revision": {"resources": {}}}, "cluster_empty"),
        ({"applied_revision": {"resources": {"graph.kb": {"digest": "../../x"}}}}, "invalid_state_json"),
    ],
)
def test_a_state_that_cannot_be_used_is_refused(cluster: Cluster, extra: dict[str, object], reason: str) -> None:
    cluster.extra = extra
    with pytest.raises(ClusterInvalid) as caught:
        load(cluster)
    assert caught.value.facts["reason"] == reason


@pytest.mark.parametrize("damage", ["missing", "changed", "syntax", "type", "name", "graph", "pending", "key", "id"])
def test_a_broken_graph_is_left_out_and_the_others_are_served(cluster: Cluster, damage: str) -> None:
    bad = "under_score" if damage == "id" else "bad"
    facts = {"embedding_provider": "e"} if damage == "key" else {}
    cluster.graph(bad, **facts)
    texts = {"syntax": "query q(", "type": "query q() { match { $p: Nope } return { $p } }", "name": EVERYONE}
    file = cluster.query(bad, "q", texts.get(damage, "query q() { match { $p: Person } return { $p } }"))
    match damage:
        case "missing":
            file.unlink()
        case "changed":
            file.write_text("other")
        case "graph":
            (cluster.root / "graphs" / "bad.omni" / "omnigraph.json").unlink()
        case "pending":
            (cluster.root / "__cluster" / "recoveries").mkdir()
            (cluster.root / "__cluster" / "recoveries" / "01A.json").write_text('{"graph_id": "bad"}')
        case "key":
            profile = {"kind": "openai", "api_key": "${SURELY_NOT_SET}"}
            cluster.resources["provider.embedding.e"] = {"digest": "0" * 64, "embedding_profile": profile}
    serving = load(cluster)
    assert list(serving.graphs) == ["kb"]
    with running(serving) as live, live.client("a") as client:
        assert client.get(f"/graphs/{bad}/schema").status_code in (400, 404)
    with pytest.raises(ClusterInvalid, match=f"not every graph of the cluster can be served: {bad}: "):
        load(cluster, require_all=True)


def test_no_healthy_graph_is_an_error_that_names_the_reasons(cluster: Cluster) -> None:
    cluster.query("kb", "broken", "query broken(")
    with pytest.raises(ClusterInvalid, match="no graph of the cluster can be served: kb: ") as caught:
        load(cluster)
    assert caught.value.facts["reason"] == "cluster_no_healthy_graphs"


def test_a_scope_has_one_policy_and_a_broken_policy_closes_its_graph(cluster: Cluster) -> None:
    cluster.policy("one", POLICY, ["kb"])
    cluster.policy("two", POLICY, ["graph.kb"])
    with pytest.raises(ClusterInvalid, match="both bound to 'kb'"):
        load(cluster)
    del cluster.resources["policy.two"]
    cluster.policy("one", "version: 1\nrules: 5", ["kb"])
    with pytest.raises(ClusterInvalid, match="no graph of the cluster can be served"):
        load(cluster)
    cluster.policy("one", POLICY, [])
    with pytest.raises(ClusterInvalid, match="bound to nothing"):
        load(cluster)


def test_a_policy_without_tokens_and_a_server_without_anything_are_refused(cluster: Cluster) -> None:
    with pytest.raises(UsageError, match="no tokens and no policy"):
        load(cluster, TokenSources())
    assert load(cluster, TokenSources(), unauthenticated=True).state is State.OPEN
    cluster.policy("team", POLICY, ["kb"])
    for flag in (False, True):
        with pytest.raises(UsageError, match="without any token"):
            load(cluster, TokenSources(), unauthenticated=flag)


def test_a_reload_replaces_everything_or_nothing(cluster: Cluster) -> None:
    cluster.apply()
    source = ClusterSource(str(cluster.root), TOKENS)
    with running(source.load()) as live, live.client("b") as bob:
        assert bob.post("/graphs/kb/queries/everyone").status_code == 404, "no policy allows it"
        graph = live.app.serving.graphs["kb"].trusted
        cluster.policy("team", POLICY, ["kb"])
        cluster.graph("second")
        cluster.apply()
        reload(live.app, source)
        assert bob.post("/graphs/kb/queries/everyone").status_code == 200
        assert live.app.serving.graphs["kb"].trusted is graph, "the graph keeps its caches"
        before = live.app.serving
        (cluster.root / "__cluster" / "state.json").write_text("{")
        reload(live.app, source)
        assert live.app.serving is before
        assert bob.get("/graphs/second/schema").status_code == 200


def test_a_reload_does_not_open_a_server(cluster: Cluster, tmp_path: Path) -> None:
    cluster.apply()
    tokens = tmp_path / "tokens.json"
    tokens.write_text('{"ann": "a"}')
    source = ClusterSource(str(cluster.root), TokenSources(file=tokens), unauthenticated=True)
    with running(source.load()) as live:
        tokens.write_text("{}")
        reload(live.app, source)
        assert not live.app.serving.authenticator.is_open


def test_a_watched_server_reloads_when_the_state_has_changed_and_not_before(cluster: Cluster) -> None:
    cluster.apply()
    source = ClusterSource(str(cluster.root), TOKENS)
    watch = Watch.start(source)
    with running(source.load()) as live, live.client("b") as bob:
        before = live.app.serving
        assert not watch.look(live.app)
        assert live.app.serving is before
        cluster.policy("team", POLICY, ["kb"])
        cluster.apply()
        assert watch.look(live.app)
        assert bob.post("/graphs/kb/queries/everyone").status_code == 200
        (cluster.root / "__cluster" / "state.json").write_text("{")
        served = live.app.serving
        assert watch.look(live.app), "it was looked at"
        assert live.app.serving is served, "what cannot be read replaces nothing"
        (cluster.root / "cluster.yaml").unlink()
        assert not watch.look(live.app)


def test_a_graph_that_was_deleted_and_created_again_is_opened_again(cluster: Cluster) -> None:
    cluster.apply()
    source = ClusterSource(str(cluster.root), TOKENS)
    with running(source.load()) as live, live.client("a") as ann:
        shutil.rmtree(cluster.root / "graphs" / "kb.omni")
        cluster.graph("kb").mutate('query q() { insert Person {name: "new"} }')
        cluster.apply()
        reload(live.app, source)
        assert ann.post("/graphs/kb/query", json={"query": EVERYONE}).json()["rows"] == [{"p.name": "new"}]


def test_tokens_of_the_cluster_come_from_variables_or_are_known_by_their_digest(cluster: Cluster) -> None:
    cluster.token("ann", "${ANN_TOKEN}")
    cluster.token("bob", f"sha256:{hashlib.sha256(b'bobs').hexdigest()}")
    cluster.token("eve", "${NOT_SET}")
    cluster.apply()
    source = ClusterSource(str(cluster.root), TokenSources(), environment={"ANN_TOKEN": "anns"})
    with running(source.load()) as live:
        statuses = []
        for token in ("anns", "bobs", "", "${NOT_SET}", "${ANN_TOKEN}"):
            with live.client(token or None) as client:
                statuses.append(client.get("/graphs/kb/schema").status_code)
        assert statuses == [200, 200, 401, 401, 401]
        cluster.token("carl", f"sha256:{hashlib.sha256(b'carls').hexdigest()}")
        del cluster.resources["token.bob"]
        cluster.apply()
        reload(live.app, source)
        with live.client("carls") as carl, live.client("bobs") as bob:
            assert (carl.get("/graphs/kb/schema").status_code, bob.get("/graphs/kb/schema").status_code) == (200, 401)


def test_a_missing_file_of_a_token_is_a_problem_of_the_cluster(cluster: Cluster) -> None:
    cluster.token("ann", "${ANN_TOKEN}").unlink()
    with pytest.raises(ClusterInvalid, match="token of 'ann'"):
        load(cluster)


def test_an_embedding_provider_gets_its_key_from_the_environment(cluster: Cluster) -> None:
    cluster.resources["graph.kb"]["embedding_provider"] = "e"
    profile = {"provider": "mock", "model": "m", "api_key": "${MY_KEY}"}
    cluster.resources["provider.embedding.e"] = {"digest": "0" * 64, "embedding_profile": profile}
    serving = load(cluster, environment={"MY_KEY": "k"})
    embedder = serving.graphs["kb"].trusted.embedder
    assert embedder is not None
    assert embedder.model == "m"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(None, False), ("", False), ("0", False), (" FALSE ", False), ("false", False), ("1", True), ("no", True)],
)
def test_flags_of_the_environment_are_set_unless_they_say_no(value: str | None, wanted: bool) -> None:
    assert is_set(value) is wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("127.0.0.1:8080", ("127.0.0.1", 8080)), ("[::1]:0", ("::1", 0)), (" host:65535 ", ("host", 65535))],
)
def test_an_address_is_a_host_and_a_port(text: str, wanted: tuple[str, int]) -> None:
    assert parse_bind(text) == wanted


@pytest.mark.parametrize("text", ["", "8080", "host", "host:", ":80", "host:x", "host:65536", "host:-1"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no address to listen on"):
        parse_bind(text)
