"""Checks of a configuration: every problem is listed with its code, and secrets are never repeated."""

from pathlib import Path

import pytest

from omnigraph.cluster.control.apply import validate
from omnigraph.cluster.control.session import Operator
from tests.features.cluster.declared import CONFIG, POLICY, SERVER_POLICY, Declared, codes

GRAPHS = "version: 1\ngraphs: { kb: { schema: kb.pg } }\n"
TEAM = GRAPHS + "policies: { team: { file: team.yaml, applies_to: %s } }\n"
PROVIDER = "version: 1\nproviders: { embedding: { e: %s } }\n"
BLOBS = "version: 1\ngraphs: { kb: { schema: kb.pg, external_blobs: { allow: %s } } }\n"
QUERIES = "version: 1\ngraphs: { kb: { schema: kb.pg, queries: %s } }\n"


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ("[", ["invalid_cluster_yaml"]),
        ("- 1", ["invalid_cluster_yaml"]),
        ("version: 1\nversion: 1", ["duplicate_yaml_key"]),
        ("version: 2", ["unsupported_cluster_config_version"]),
        ("graphs: {}", ["unsupported_cluster_config_version"]),
        ("version: 1\npipelines: {}\nenv_file: x", ["future_phase_field", "future_phase_field"]),
        ("version: 1\nstreams: {}", ["removed_streaming_declaration"]),
        ("version: 1\nnonsense: {}", ["invalid_cluster_yaml"]),
        ("version: 1\nmetadata: { name: '' }", ["empty_metadata_name"]),
        ("version: 1\nstate: { backend: postgres }", ["unsupported_state_backend"]),
        ("version: 1\nstorage: ''", ["invalid_storage_root"]),
        ("version: 1\nstorage: gs://bucket/x", ["storage_root_invalid"]),
        ("version: 1\ngraphs: { healthz: { schema: kb.pg }, a_b: { schema: kb.pg } }", ["invalid_resource_id"] * 2),
        ("version: 1\npolicies: { 'a b': { file: x, applies_to: [cluster] } }", ["invalid_resource_id"]),
        ("version: 1\ngraphs: { kb: { schema: none.pg } }", ["schema_file_missing"]),
        ("version: 1\ngraphs: { kb: { schema: broken.pg } }", ["schema_parse_error"]),
        ("version: 1\ngraphs: { kb: { schema: wrong.pg } }", ["schema_catalog_error"]),
        (
            "version: 1\ngraphs: { kb: { schema: broken.pg, queries: queries/ } }",
            ["query_typecheck_skipped", "schema_parse_error"],
        ),
        (QUERIES % "[none.gq]", ["query_file_missing"]),
        (QUERIES % "[broken.gq]", ["query_parse_error"]),
        (QUERIES % "[wrong.gq]", ["query_typecheck_error"]),
        (QUERIES % "{ other: { file: queries/everyone.gq } }", ["query_key_mismatch"]),
        (QUERIES % "{ other: { file: broken.gq } }", ["query_parse_error"]),
        (QUERIES % "nowhere/", ["query_dir_unreadable"]),
        (QUERIES % "empty/", ["query_dir_empty"]),
        (QUERIES % "[queries/everyone.gq, again.gq]", ["duplicate_query_name"]),
        (TEAM % "[]", ["policy_missing_applies_to"]),
        (TEAM.replace(", applies_to: %s", ""), ["policy_missing_applies_to"]),
        (TEAM % "[none]", ["dangling_graph_reference"]),
        (TEAM % "[schema.kb]", ["wrong_kind_reference"]),
        (TEAM % "[kb, cluster]", ["policy_mixed_binding_kinds"]),
        (TEAM % "[kb, graph.kb]", ["duplicate_policy_binding"]),
        (TEAM % "[cluster]", ["policy_invalid"]),
        ((TEAM % "[kb]").replace("team.yaml", "none.yaml"), ["policy_file_missing"]),
        ((TEAM % "[kb]").replace("team.yaml", "rules/team.yaml"), ["policy_invalid"]),
        (PROVIDER % "{ model: m }", ["invalid_embedding_provider"]),
        (PROVIDER % "{ kind: none }", ["invalid_embedding_provider"]),
        (PROVIDER % "{ kind: openai }", ["embedding_api_key_required"]),
        (PROVIDER % "{ kind: openai, api_key: sk-secret }", ["embedding_api_key_inline"]),
        (GRAPHS.replace("kb.pg", "kb.pg, embedding_provider: e"), ["dangling_embedding_provider_reference"]),
        (BLOBS % "[{ base: 's3://b/a?x=1', scope: server_safe }]", ["invalid_external_blob_base"]),
        (BLOBS % "[{ base: 's3://u:sk-secret@b/a', scope: server_safe }]", ["invalid_external_blob_base"]),
        (BLOBS % "[{ base: 's3://b/a/../c', scope: server_safe }]", ["invalid_external_blob_base"]),
        (BLOBS % "[{ base: 'nowhere', scope: server_safe }]", ["invalid_external_blob_base"]),
        (BLOBS % "[{ base: 'file:///a', scope: server_safe }]", ["invalid_external_blob_policy"]),
        (
            BLOBS % "[{ base: 's3://b/a', scope: server_safe }, { base: 's3://b/a/c', scope: server_safe }]",
            ["invalid_external_blob_policy"],
        ),
        (BLOBS % "[{ base: 's3://b/a', scope: everywhere }]", ["invalid_external_blob_policy"]),
        ("version: 1\ntokens: { ann: sk-secret }", ["invalid_token_reference"]),
    ],
)
def test_every_problem_has_its_code(tmp_path: Path, config: str, wanted: list[str]) -> None:
    cluster = Declared(tmp_path, config)
    cluster.write("broken.pg", "node {")
    cluster.write("wrong.pg", "edge E: Nope -> Nope")
    cluster.write("broken.gq", "query q(")
    cluster.write("wrong.gq", "query q() { match { $p: Nope } return { $p } }")
    cluster.write("again.gq", "query everyone() { match { $p: Person } return { $p.age } }")
    cluster.write("empty/readme.txt", "nothing")
    cluster.write("rules/team.yaml", POLICY)
    cluster.write("rules/rows.cedar", "permit (principal, action, resource);")
    found = validate(cluster.operator)
    assert (codes(found), found.ok) == (wanted, False)
    if "u:sk-secret" not in config:
        assert "sk-secret" not in str(found.diagnostics)


def test_a_missing_directory_or_file_is_named(tmp_path: Path) -> None:
    assert codes(validate(Operator(tmp_path / "none"))) == ["config_dir_not_found"]
    assert codes(validate(Operator(tmp_path))) == ["cluster_config_read_error"]


def test_a_whole_configuration_of_0_10_is_accepted(tmp_path: Path) -> None:
    cluster = Declared(
        tmp_path,
        """
version: 1
metadata: { name: production }
storage: ./data
state: { backend: cluster, lock: true }
providers:
  embedding:
    main: { provider: openai-compatible, base_url: "https://example.org/v1", model: m, api_key: "${KEY}" }
graphs:
  kb:
    schema: kb.pg
    queries: { everyone: { file: queries/everyone.gq } }
    embedding_provider: main
    external_blobs: { allow: [{ base: "s3://bucket/files", scope: server_safe }] }
policies:
  team: { file: team.yaml, applies_to: [graph.kb] }
  ops: { file: ops.yaml, applies_to: [cluster] }
""",
    )
    cluster.write("ops.yaml", SERVER_POLICY)
    found = validate(cluster.operator)
    assert codes(found) == []
    assert found.desired is not None
    assert list(found.desired.resources) == [
        "graph.kb",
        "policy.ops",
        "policy.team",
        "provider.embedding.main",
        "query.kb.everyone",
        "schema.kb",
    ]
    recorded = found.desired.resources["graph.kb"].recorded
    assert (recorded.embedding_provider, recorded.external_blob_policy["allow"][0]["scope"]) == ("main", "server_safe")


def test_all_commands_refuse_a_configuration_with_errors(tmp_path: Path) -> None:
    cluster = Declared(tmp_path, CONFIG.replace("kb.pg", "none.pg"))
    assert codes(cluster.plan()) == codes(cluster.apply()) == ["query_typecheck_skipped", "schema_file_missing"]
    assert not cluster.file("lock.json").exists()
