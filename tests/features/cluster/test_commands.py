"""``omnigraph cluster`` on the command line: verbs and aliases, JSON forms, exit codes, next steps."""

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.cli.show.clusters import NEXT_STEPS
from tests.architecture.source_tree import modules
from tests.features.cli.run import run
from tests.features.cluster.declared import SCHEMA, WIDER, Declared


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OMNIGRAPH_ACTOR", raising=False)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "none"))


def call(cluster: Declared | Path, *words: str, status: int = 0) -> dict[str, Any]:
    """The JSON of a command."""
    directory = cluster.directory if isinstance(cluster, Declared) else cluster
    result = run("cluster", *words, "--config", directory, "--json")
    assert result.exit_code == status, result.output
    form: dict[str, Any] = json.loads(result.stdout)
    assert form["ok"] is (status == 0)
    assert all(item.keys() == {"code", "severity", "path", "message"} for item in form["diagnostics"])
    return form


def test_a_new_cluster_is_written_planned_applied_and_never_overwritten(tmp_path: Path) -> None:
    started = call(tmp_path, "init", "--graph", "social", "--as", "ann")
    assert started["files"] == ["cluster.yaml", "social.pg", "queries/everyone.gq", "policies/team.yaml"]
    assert call(tmp_path, "init", status=1)["diagnostics"][0]["code"] == "config_already_exists"
    assert run("fmt", "--check", tmp_path / "social.pg", tmp_path / "queries/everyone.gq").exit_code == 0
    assert call(tmp_path, "validate")["resources"].keys() == {
        "graph.social", "policy.team", "query.social.everyone", "schema.social"
    }  # fmt: skip
    planned = call(tmp_path, "plan")
    assert (planned["converged"], len(planned["changes"]), planned["approvals_required"]) == (False, 4, [])
    applied = call(tmp_path, "apply", "--plan", planned["plan_digest"], "--as", "ann")
    assert (applied["converged"], applied["state_written"], applied["state_revision"]) == (True, True, 2)
    assert {item["outcome"] for item in applied["changes"]} == {"done"}
    assert call(tmp_path, "plan")["converged"]
    assert "no changes" in run("cluster", "plan", "--config", tmp_path).stdout


def test_the_forms_of_a_plan_show_what_a_reviewer_needs(cluster: Declared) -> None:
    cluster.applied()
    cluster.write("kb.pg", WIDER)
    cluster.config("version: 1\ngraphs: { kb: { schema: kb.pg, queries: queries/ } }\ntokens: { bob: '${B}' }\n")
    changes = {item["address"]: item for item in call(cluster, "plan")["changes"]}
    schema = changes["schema.kb"]
    assert (schema["operation"], schema["disposition"], schema["risk"]) == ("update", "applied", "safe")
    assert schema["migration"]["supported"]
    assert [step["kind"] for step in schema["migration"]["steps"]] == ["add_property"]
    assert schema["blast_radius"] == ["graph.kb", "policy.team", "query.kb.everyone"]
    assert changes["graph.kb"]["disposition"] == "derived"
    assert (changes["policy.team"]["operation"], changes["policy.team"]["risk"]) == ("delete", "risky")
    assert changes["token.bob"]["risk"] == "risky"
    shown = run("cluster", "plan", "--config", cluster.directory).stdout
    assert "~ schema.kb (safe)\n    add property city: String? to node Person" in shown
    assert "4 changes: 2 risky, 2 safe" in shown


def test_a_deletion_waits_for_its_approval_and_exits_with_0(cluster: Declared) -> None:
    cluster.applied()
    cluster.config("version: 1\n")
    planned = call(cluster, "plan")
    assert planned["approvals_required"] == [
        {
            "resource": "graph.kb",
            "operation": "delete",
            "reason": "approval_required",
            "satisfied": False,
            "approval_id": None,
        }
    ]
    waiting = call(cluster, "apply")
    assert (waiting["converged"], waiting["changes"][0]["outcome"]) == (False, "skipped")
    shown = run("cluster", "apply", "--config", cluster.directory)
    assert "waiting: no changes applied, 4 not yet" in shown.stdout
    assert "hint: run `omnigraph cluster approve graph.ID --as ACTOR`" in shown.stderr
    assert call(cluster, "approve", "graph.kb", status=1)["diagnostics"][0]["code"] == "approval_actor_required"
    approval = call(cluster, "approve", "graph.kb", "--as", "ann")["approval"]
    assert (approval["approved_by"], approval["resource"], approval["consumed_at"]) == ("ann", "graph.kb", None)
    assert call(cluster, "plan")["approvals_required"][0]["approval_id"] == approval["approval_id"]
    assert call(cluster, "apply")["converged"]


def test_the_verbs_of_0_10_are_aliases(cluster: Declared) -> None:
    cluster.applied()
    assert call(cluster, "refresh")["resources"] == call(cluster, "observe")["resources"]
    assert call(cluster, "import", status=1)["diagnostics"][0]["code"] == "state_already_exists"
    assert call(cluster, "force-unlock", "01A", status=1)["diagnostics"][0]["code"] == "state_lock_missing"


def test_the_state_lists_every_resource_with_its_status_and_the_lock(cluster: Declared) -> None:
    cluster.applied()
    form = call(cluster, "status")
    assert form["lock"] is None
    assert form["state_cas"].startswith("sha256:")
    assert {(item["address"], item["status"]) for item in form["resources"]} == {
        (name, "applied") for name in ("graph.kb", "policy.team", "query.kb.everyone", "schema.kb")
    }
    shown = run("cluster", "status", "--config", cluster.directory).stdout
    assert "revision 2: 4 resources" in shown


def test_errors_have_their_code_and_the_next_command(cluster: Declared) -> None:
    cluster.config("version: 2\n")
    result = run("cluster", "apply", "--config", cluster.directory)
    assert result.exit_code == 1
    assert "error[unsupported_cluster_config_version]: version: " in result.stderr
    missing = run("cluster", "plan", "--config", cluster.directory / "none")
    assert (missing.exit_code, "hint: pass --config DIR" in missing.stderr) == (1, True)


@pytest.mark.parametrize("words", [["unlock"], ["unlock", "01A", "--stale"], ["approve"], ["apply", "--plan"]])
def test_wrong_command_lines_exit_with_2(cluster: Declared, words: list[str]) -> None:
    assert run("cluster", *words, "--config", cluster.directory).exit_code == 2


def test_every_next_step_belongs_to_a_code_of_the_cluster() -> None:
    source = "".join(module.text for module in modules() if module.room == "cluster")
    assert [code for code in NEXT_STEPS if f'"{code}"' not in source] == []


def test_only_the_cluster_makes_and_migrates_its_graphs(cluster: Declared, tmp_path: Path) -> None:
    cluster.applied()
    schema = tmp_path / "s.pg"
    schema.write_text(WIDER)
    place = Path(cluster.root) / "graphs"
    for words in (["schema", "apply", place / "kb.omni"], ["init", place / "other.omni"]):
        result = run(*words, "--schema", schema)
        assert (result.exit_code, "belongs to the cluster" in result.stderr) == (1, True), result.output
    assert cluster.graph().schema_text() == SCHEMA
    assert not (place / "other.omni").exists()
    assert run("init", tmp_path / "graphs" / "free.omni", "--schema", schema).exit_code == 0


def test_maintenance_finds_the_graphs_of_a_cluster_by_the_state_alone(cluster: Declared, tmp_path: Path) -> None:
    cluster.applied()
    (file,) = cluster.file("resources/policy/team").iterdir()
    file.unlink()
    for words in (["optimize"], ["repair"], ["cleanup", "--keep", "10"], ["optimize", "--graph", "kb"]):
        result = run(*words, "--cluster", cluster.directory)
        assert result.exit_code == 0, result.output
    query = tmp_path / "q.gq"
    query.write_text("query q() { match { $p: Person } return { $p.nope } }")
    assert run("lint", "--cluster", f"file://{cluster.root}", "--query", query).exit_code == 1
    unknown = run("optimize", "--cluster", cluster.directory, "--graph", "none")
    assert (unknown.exit_code, "applied are: kb" in unknown.stderr) == (1, True)
    for words in (["optimize", "--graph", "kb"], ["optimize", tmp_path, "--cluster", cluster.directory]):
        assert run(*words).exit_code == 2


def test_a_cluster_with_several_graphs_needs_a_name(cluster: Declared) -> None:
    cluster.config("version: 1\ngraphs: { a: { schema: kb.pg }, b: { schema: kb.pg } }\n")
    cluster.applied()
    result = run("optimize", "--cluster", cluster.directory)
    assert (result.exit_code, "several graphs; applied are: a, b" in result.stderr) == (1, True)
    assert run("optimize", "--cluster", cluster.directory, "--graph", "b").exit_code == 0


def test_stored_queries_and_policies_of_a_cluster_are_checked_on_the_command_line(cluster: Declared) -> None:
    cluster.applied()
    place = ["--cluster", cluster.directory]
    listed = json.loads(run("queries", "list", *place, "--json").stdout)["queries"]
    assert [item["name"] for item in listed] == ["everyone"]
    assert "1 stored query, no errors" in run("queries", "validate", *place).stdout
    assert "no graph 'none'" in run("queries", "validate", *place, "--graph", "none").output
    valid = json.loads(run("policy", "validate", *place, "--graph", "kb", "--json").stdout)
    assert (valid["kind"], valid["valid"]) == ("graph", True)
    explained = run("policy", "explain", *place, "--actor", "ann", "--action", "read", "--branch", "main", "--json")
    assert json.loads(explained.stdout)["decision"] == "allow"
    assert "given twice" in run("policy", "validate", cluster.directory / "team.yaml", *place).output
    # A schema that was changed past the cluster breaks a query.
    cluster.graph().apply_schema("node Human { name: String @key }", allow_data_loss=True)
    broken = run("queries", "validate", *place, "--json")
    assert broken.exit_code == 1
    (entry,) = json.loads(broken.stdout)["queries"]
    assert (entry["valid"], "unknown node type `Person`" in entry["error"]) == (False, True)
