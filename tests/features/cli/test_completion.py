"""Shell completion."""

from pathlib import Path

import pytest

from tests.features.cli.run import run, run_program


def _completion_environment(words: str) -> dict[str, str]:
    """Environment variables with which the shell requests completions of the last word."""
    count = len(words.split()) + words.endswith(" ")
    return {"_OMNIGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": f"omnigraph {words}", "COMP_CWORD": str(count)}


def _offered(words: str, **environment: str) -> list[str]:
    done = run(env=_completion_environment(words) | environment)
    assert (done.exit_code, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_the_installed_program_answers_the_shell() -> None:
    done = run_program(env=_completion_environment("lo"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "plain,load\nplain,login\nplain,logout\n", "")


@pytest.fixture
def branched(graph: Path) -> Path:
    assert run("branch", "create", "plan", "--store", graph, "--quiet").exit_code == 0
    return graph


def test_commands_branches_types_and_profiles_are_offered(branched: Path, tmp_path: Path) -> None:
    assert "load" in _offered("lo")
    assert _offered(f"export --store {branched} --branch p") == ["plan"]
    assert _offered(f"branch delete --store {branched} ") == ["main", "plan"]
    assert _offered(f"export --store {branched} --type P") == ["Person"]
    assert _offered("branch delete p", OMNIGRAPH_STORE=str(branched)) == ["plan"]
    (tmp_path / "config.yaml").write_text(f"profiles:\n  work: {{store: {branched}}}\n  other: {{store: x}}\n")
    assert _offered("export --profile ", OMNIGRAPH_HOME=str(tmp_path)) == ["other", "work"]
    assert _offered("export --profile work --branch ", OMNIGRAPH_HOME=str(tmp_path)) == ["main", "plan"]


def test_a_graph_that_cannot_be_read_offers_nothing(tmp_path: Path) -> None:
    assert _offered(f"export --store {tmp_path} --branch ") == []
    assert _offered("export --branch ") == []
