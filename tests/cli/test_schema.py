"""`omnigraph schema plan`."""

import json
from pathlib import Path

from tests.cli.run import EXAMPLES, run

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
    assert result.stdout.splitlines()[-1] == "refused: 11 steps, 9 safe, 2 refused"


def test_the_same_schema_needs_no_change() -> None:
    result = run("schema", "plan", "--from", V1, "--to", V1)
    assert (result.exit_code, result.stdout) == (0, "no changes: both schemas mean the same\n")


def test_data_loss_has_to_be_allowed() -> None:
    words = ["schema", "plan", "--from", V1, "--to", V2]
    assert "drop property since of edge Knows (soft)" in run(*words).stdout
    result = run(*words, "--allow-data-loss")
    assert "drop property since of edge Knows (hard) [OG-DS-104, destructive]" in result.stdout
    assert result.stdout.endswith("ok: 9 steps, 8 safe, 1 destructive\n")


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
