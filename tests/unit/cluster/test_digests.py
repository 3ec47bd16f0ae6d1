"""Digests: what counts changes them, and nothing else does."""

from omnigraph.cluster.config import ClusterConfig, parse_config
from omnigraph.cluster.declare.desired import Contents, Desired, desired_resources
from omnigraph.cluster.declare.digests import graph_digest
from omnigraph.cluster.resources import QueryAddress, content_digest

CONFIG = """
version: 1
metadata: { name: demo }
providers: { embedding: { e: { kind: mock, model: m } } }
graphs: { kb: { schema: kb.pg, queries: { q: { file: q.gq } }, embedding_provider: e } }
policies: { team: { file: t.yaml, applies_to: [kb] } }
"""


def desired(config: str = CONFIG, schema: bytes = b"node A {}", query: bytes = b"query q() {}") -> Desired:
    parsed = parse_config(config.encode())
    assert isinstance(parsed, ClusterConfig), parsed
    queries = {QueryAddress("kb", "q"): query} if "q.gq" in config else {}
    policies = {"team": b"version: 1"} if "team" in config else {}
    return desired_resources(parsed, Contents({"kb": schema}, queries, policies))


def test_files_have_the_digest_of_their_bytes() -> None:
    resources = desired().resources
    assert resources["schema.kb"].digest == content_digest(b"node A {}")
    assert resources["query.kb.q"].digest == content_digest(b"query q() {}")
    assert list(resources) == sorted(resources)


def test_the_digest_of_a_graph_follows_its_parts() -> None:
    variants = {
        desired().resources["graph.kb"].digest,
        desired(schema=b"node B {}").resources["graph.kb"].digest,
        desired(query=b"query q() { }").resources["graph.kb"].digest,
        desired(CONFIG.replace("model: m", "model: n")).resources["graph.kb"].digest,
        desired(CONFIG.replace(", embedding_provider: e", "")).resources["graph.kb"].digest,
    }
    assert len(variants) == 5


def test_places_of_blobs_count_only_if_there_are_any() -> None:
    allowed = {"allow": [{"base": "s3://b/x", "scope": "server_safe"}]}
    assert graph_digest("g", "s", {}) == graph_digest("g", "s", {}, blob_policy=None)
    assert graph_digest("g", "s", {}) != graph_digest("g", "s", {}, blob_policy=allowed)


def test_parts_do_not_run_into_each_other() -> None:
    assert graph_digest("a", "bc", {}) != graph_digest("ab", "c", {})
    assert graph_digest("g", "s", {"q": "1", "r": "2"}) == graph_digest("g", "s", {"r": "2", "q": "1"})


def test_comments_layout_and_names_of_files_do_not_change_the_configuration() -> None:
    other = "# a comment\n" + CONFIG.replace("kb.pg", "other.pg").replace("demo", "another")
    assert desired(other).config_digest == desired().config_digest


def test_bindings_change_the_configuration_and_not_the_policy() -> None:
    bound = desired(CONFIG.replace("[kb]", "[graph.kb]"))
    assert bound.config_digest != desired().config_digest
    assert bound.resources["policy.team"].digest == desired().resources["policy.team"].digest
