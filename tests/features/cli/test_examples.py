"""The programs in ``examples`` run as they are, and end where they say."""

import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
from tests.features.cli.run import EXAMPLES, run


def _output(program: Path, place: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(program), str(place)], cwd=program.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_memory_of_agents_keeps_the_work_of_all_who_finished(tmp_path: Path) -> None:
    said = _output(EXAMPLES / "agent_memory" / "memory.py", tmp_path)
    assert "task/write-up: merged" in said
    graph = omnigraph.open(tmp_path / "memory.omni")
    assert [branch.name for branch in graph.branches()] == ["main"]
    ada = 'query q() { match { $t: Thing { name: "Ada" } } return { $t.summary as s, $t.mentions as m, $t.tags as t } }'
    (found,) = graph.query(ada)
    assert (found["s"], found["m"]) == ("Wrote the first program", 6)
    assert sorted(found["t"]) == ["history", "mathematics", "science"]
    assert graph.snapshot().counts()["node:Fact"] == 1


def test_the_files_of_the_memory_are_formatted_and_correct() -> None:
    files = [EXAMPLES / "agent_memory" / name for name in ("memory.pg", "memory.gq")]
    assert run("fmt", "--check", *files).exit_code == 0
    assert run("lint", "--schema", files[0], "--query", files[1]).exit_code == 0


def test_a_fleet_of_agents_is_reviewed_merged_and_undone_as_its_page_shows(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    fleet = EXAMPLES / "fleet"
    shown = (fleet / "README.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    assert _output(fleet / "fleet.py", tmp_path) == shown
    graph = omnigraph.open(tmp_path / "fleet.omni")
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert graph.snapshot().counts() == {"edge:Supplies": 3, "node:Company": 4}
    assert run("fmt", "--check", fleet / "companies.pg").exit_code == 0


def test_the_analysis_writes_its_ranks_to_a_branch_and_merges_them(tmp_path: Path) -> None:
    said = _output(EXAMPLES / "analysis" / "analysis.py", tmp_path)
    assert "on main nothing has changed: None" in said
    assert "components: 1" in said
    graph = omnigraph.open(tmp_path / "papers.omni")
    ranks = [row["r"] for row in graph.query("query q() { match { $p: Paper } return { $p.rank as r } }")]
    assert len(ranks) == 2_000
    assert abs(sum(ranks) - 1) < 1e-6


def test_a_reader_of_two_tables_never_sees_a_state_between_raw_lance_writers(tmp_path: Path) -> None:
    said = _output(EXAMPLES / "open_tables" / "transfers.py", tmp_path)
    assert "12 transfers by 2 writers" in said
    assert "the tables agreed at every one" in said
    graph = omnigraph.open(tmp_path / "bank.omni")
    assert graph.snapshot().counts() == {"edge:Paid": 12, "node:Account": 4}
    assert graph.query("query q() { match { $a: Account } return { sum($a.balance) as s } }").scalar() == 400
    assert not graph.verify().problems


def test_retrieval_finds_chunks_and_what_the_graph_knows_around_them(tmp_path: Path) -> None:
    program = EXAMPLES / "graphrag" / "graphrag.py"
    said = _output(program, tmp_path)
    assert said.startswith("4 documents (4 new, 0 changed, 0 unchanged), 6 chunks, 17 mentions\n")
    assert "[Notes on a translation] It is often called the first program that was published." in said
    assert "Charles Babbage designed Analytical Engine, Difference Engine." in said
    assert "See also: Weaving with cards, about Joseph Marie Jacquard." in said
    assert _output(program, tmp_path).startswith("4 documents (0 new, 0 changed, 4 unchanged)")
    files = [program.with_name(name) for name in ("graphrag.pg", "ask.gq")]
    assert run("fmt", "--check", *files).exit_code == 0
    assert run("lint", "--schema", files[0], "--query", files[1]).exit_code == 0
