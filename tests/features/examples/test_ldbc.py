"""The queries of LSQB and SNB Interactive give the answers of the same questions in SQL over the tables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import omnigraph
from examples.ldbc.generate import records
from tests.features.cli.run import EXAMPLES, run
from tests.features.examples import ldbc
from tests.features.examples.ldbc import Question


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    return ldbc.made(tmp_path_factory.mktemp("ldbc") / "network.omni")


@pytest.mark.parametrize("question", ldbc.questions(), ids=str)
def test_every_answer_is_that_of_sql_over_the_tables(network: omnigraph.Graph, question: Question) -> None:
    found = network.query(ldbc.text(f"{question.file}.gq"), question.params, name=question.name)
    wanted = network.sql(ldbc.selects(question.file)[question.name], question.params or None)
    assert found.columns == wanted.columns
    assert ldbc.comparable(question, found.to_pylist()) == ldbc.comparable(question, wanted.to_pylist())


def test_every_query_of_the_benchmarks_is_there_and_finds_something(network: omnigraph.Graph) -> None:
    names = [name for file in ldbc.FILES for name in ldbc.query_names(file)]
    numbered = {"lsqb_": 9, "is": 7, "ic": 14}
    assert names == [f"{kind}{number}" for kind, last in numbered.items() for number in range(1, last + 1)]
    rows: dict[str, int] = defaultdict(int)
    for question in ldbc.questions():
        for row in ldbc.answer(network, question):
            rows[question.name] += row.get("count", 1)
    assert not [name for name in names if rows[name] == 0]


def test_the_files_are_formatted_and_correct() -> None:
    files = [ldbc.LDBC / f"{file}.gq" for file in ldbc.FILES]
    schema = ldbc.LDBC / "ldbc.pg"
    assert run("fmt", "--check", schema, *files).exit_code == 0
    for file in files:
        assert run("lint", "--schema", schema, "--query", file).exit_code == 0


def test_the_queries_of_the_readme_are_those_of_the_files() -> None:
    shown = re.findall(r"^```gq\n(.*?)^```$", ldbc.text("README.md"), re.MULTILINE | re.DOTALL)
    files = [ldbc.text(f"{file}.gq") for file in ldbc.FILES]
    assert len(shown) == 3
    assert all(any(query in file for file in files) for query in shown)


def _generate(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ldbc.generate", *map(str, arguments)]
    return subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, check=False)


def test_the_command_writes_the_same_network_for_the_same_seed(tmp_path: Path) -> None:
    file = tmp_path / "network.jsonl"
    done = _generate(file, "--persons", 20, "--seed", 1)
    written = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert done.stdout == f"{len(written)} records in {file}\n"
    assert written == list(records(persons=20, seed=1))
    assert written != list(records(persons=20, seed=2))


def test_the_command_refuses_a_network_that_is_too_small(tmp_path: Path) -> None:
    done = _generate(tmp_path / "network.jsonl", "--persons", 19)
    assert done.returncode == 2
    assert "--persons: at least 20" in done.stderr
