"""`omnigraph schema plan` and `omnigraph schema apply`."""

import json
from pathlib import Path

from tests.features.cli.run import EXAMPLES, run

V1, V2 = EXAMPLES / "social.pg", EXAMPLES / "social_v2.pg"


def test_a_supported_plan_lists_its_steps() -> None:
    result = run("schema", "plan", "--from", V1, "--to", V2)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "- rename node type Company to Organization\n" in result.stdout
    assert result.stdout.endswith("ok: 9 steps, all safe\n")


def test_an_unsupported_plan_is_refused_with_1() -> None:
    result = run("schema", "plan", "--from", V2, "--to", V1)
    assert result.exit_code == 1
    assert "- unsupported change on edge:WorksAt: changing the target" in result.stdout
    assert result.stdout.splitlines()[-1] == "refused: 11 steps, 10 safe, 1 refused"


def test_the_same_schema_needs_no_change() -> None:
    result = run("schema", "plan", "--from", V1, "--to", V1)
    assert (result.exit_code, result.stdout) == (0, "no changes: both schemas mean the same\n")


def test_data_loss_has_to_be_allowed() -> None:
    words = ["schema", "plan", "--from", V1, "--to", V2]
    assert "drop property since of edge Knows (soft)" in run(*words).stdout
    result = run(*words, "--allow-data-loss")
    assert "drop property since of edge Knows (hard) [OG-DS-104, destructive]" in result.stdout
    assert result.stdout.endswith("ok: 9 steps, 8 safe, 1 to be checked\n")


def test_json_is_the_plan() -> None:
    result = run("schema", "plan", "--from", V1, "--to", V2, "--json")
    report = json.loads(result.stdout)
    assert (report["from"], report["to"], report["supported"]) == (str(V1), str(V2), True)
    assert report["step_count"] == len(report["steps"]) == 9
    assert report["steps"][0]["kind"] == "rename_type"
    refused = run("schema", "plan", "--from", V2, "--to", V1, "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["supported"]) == (1, False)


def test_a_wrong_schema_and_a_wrong_rename_are_told_with_their_place(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pg"
    for text in ("node A { x: Strin }", 'node A @rename_from("Nobody") {}'):
        wrong.write_text(text)
        result = run("schema", "plan", "--from", V1, "--to", wrong)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"{wrong}:1:")
        told = json.loads(run("schema", "plan", "--from", V1, "--to", wrong, "--json").stdout)
        assert told["diagnostics"][0]["line"] == 1


def test_a_schema_is_applied_to_a_branch(tmp_path: Path) -> None:
    graph, wanted = tmp_path / "g", tmp_path / "wanted.pg"
    assert run("init", "--schema", V1, graph).exit_code == 0
    assert run("branch", "create", "trial", "--store", graph).exit_code == 0
    words = ["schema", "apply", graph, "--schema", wanted, "--branch", "trial"]
    wanted.write_text(V2.read_text(encoding="utf-8"), encoding="utf-8")
    dry = run(*words, "--dry-run")
    assert (dry.exit_code, dry.stdout.splitlines()[-1]) == (0, "ok: 9 steps, all safe")
    assert json.loads(run(*words, "--dry-run", "--json").stdout)["applied"] is False
    planned = json.loads(run("schema", "plan", *words[2:], "--json").stdout)
    assert (planned["branch"], planned["step_count"], planned["supported"]) == ("trial", 9, True)
    done = json.loads(run(*words, "--json", "--as", "me").stdout)
    assert (done["applied"], done["supported"], done["step_count"], done["branch"]) == (True, True, 9, "trial")
    assert (done["uri"], done["commit"]["kind"], done["commit"]["actor_id"]) == (str(graph), "schema", "me")
    assert done["graph_manifest_version"] == done["commit"]["graph_manifest_version"]
    again = run(*words)
    assert again.stderr == f"omnigraph schema apply → {graph} (direct, local)\n"
    assert (again.exit_code, again.stdout) == (0, "ok: trial has this schema already, no commit\n")
    assert run("schema", "show", graph, "--branch", "trial").stdout == wanted.read_text(encoding="utf-8")
    assert run("schema", "show", graph).stdout == V1.read_text(encoding="utf-8")


def test_what_cannot_be_applied_is_told_and_changes_nothing(tmp_path: Path) -> None:
    graph, wanted = tmp_path / "g", tmp_path / "wanted.pg"
    run("init", "--schema", V1, graph)
    words = ["schema", "apply", graph, "--schema", wanted]
    wanted.write_text("node A { x: Strin }")
    assert run(*words).stderr.startswith(f"{wanted}:1:")
    wanted.write_text(V1.read_text(encoding="utf-8").replace("I32", "I64"), encoding="utf-8")
    refused = run(*words)
    assert (refused.exit_code, "OG-MF-106" in refused.stderr) == (1, True)
    assert json.loads(run(*words, "--json").stdout)["code"] == "migration_refused"
    assert run(*words, "--dry-run").exit_code == 1
    assert run("schema", "show", graph).stdout == V1.read_text(encoding="utf-8")


def test_a_plan_is_asked_of_a_graph_or_of_two_files() -> None:
    for words in (["--from", V1], ["--from", V1, "--to", V2, "--schema", V2], [], ["--schema", V1]):
        assert run("schema", "plan", *words).exit_code == 2


def test_schemas_that_cannot_be_merged_are_told_part_by_part(tmp_path: Path) -> None:
    graph, wanted = tmp_path / "g", tmp_path / "wanted.pg"
    wanted.write_text("node A { k: String @key }")
    run("init", "--schema", wanted, graph)
    run("branch", "create", "trial", "--store", graph)
    for branch, type_ in (("main", "I32?"), ("trial", "String?")):
        wanted.write_text(f"node A {{ k: String @key x: {type_} }}")
        assert run("schema", "apply", graph, "--schema", wanted, "--branch", branch).exit_code == 0
    result = run("branch", "merge", "trial", "--store", graph, "--json")
    assert result.exit_code == 1
    [told] = json.loads(result.stdout)["schema_conflicts"]
    assert (told["type"], told["property"], told["what"]) == ("A", "x", "added differently by both sides")
