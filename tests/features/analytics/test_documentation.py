"""The page about analytics says what is true: its examples are run. Those that need Spark run with Spark's tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from omnigraph.engine.graph import open_graph
from omnigraph.exec.analytics.registry import ALGORITHMS
from tests.features.cli.run import REPOSITORY

PAGE = REPOSITORY / "docs" / "user" / "analytics.md"


def programs() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_examples_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for program in programs():
        if "spark" not in program:
            exec(compile(program, str(PAGE), "exec"), names)
    said = capsys.readouterr().out.splitlines()
    shown = re.search(r"# (\{'iterations'.*\})", PAGE.read_text(encoding="utf-8"))
    assert shown is not None
    assert said[0].split(", 'moved'")[0] == shown[1].split(", 'moved'")[0]
    assert [line.split()[0] for line in said[1:4]] == ["Ada", "Alan", "Grace"]
    graph = open_graph(tmp_path / "people.omni")
    assert {branch.name for branch in graph.branches()} == {"main", "circles"}
    assert graph.sql("select count(rank) n from Person").to_pylist() == [{"n": 5}]


def test_every_algorithm_is_in_the_table_with_its_arguments_and_columns() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for algorithm in ALGORITHMS.values():
        required = [parameter.name for parameter in algorithm.parameters if parameter.is_required]
        optional = [item for item in algorithm.parameters if not item.is_required]
        shown = [*required, "edges", *(f"{item.name}={item.default!r}" for item in optional)]
        call = f"{algorithm.name}({', '.join(shown)})".replace("e-0", "e-")
        columns = ", ".join(f"`{column}`" for column in algorithm.columns)
        assert f"| `{call}` | {columns} |" in page
