"""The pattern of ``docs/user/branching.md`` for orchestrators, run with stand-ins for Dagster and Airflow.

The libraries are not installed here; the page names the versions that its programs were run with. The stand-ins have
the parts that the examples use, and run tasks when they are called, in the order of the program.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph

PAGE = Path(__file__).resolve().parents[3] / "docs" / "user" / "branching.md"
RUN_ID = "scheduled__2026-01-31T00:00:00+00:00"
ADD = "query add($name: String) { insert Person { name: $name } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return omnigraph.create(tmp_path / "kb.omni", "node Person { name: String @key }", durability="os")


def names(graph: Graph) -> list[str]:
    return [row["n"] for row in graph.query("query q() { match { $p: Person } return { $p.name as n } }")]


def program(library: str, graph: Graph) -> dict[str, Any]:
    """The functions of the page and the program for one library, on a graph at a place of this test."""
    section = PAGE.read_text().split("## A branch per run of a pipeline")[1].split("\n## ")[0]
    pattern = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    example = next(text for text in re.findall(r"```py\n(.*?)```", section, re.DOTALL) if f"from {library}" in text)
    assert pattern is not None
    scope: dict[str, Any] = {"omnigraph": omnigraph, "add": ADD}
    exec(pattern[1], scope)
    exec(example.replace("s3://bucket/kb.omni", graph.uri.removeprefix("file-object-store://")), scope)
    return scope


class Task:
    """The result of a task, which other tasks can depend on."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __rshift__(self, others: object) -> object:
        return others


def test_the_op_of_dagster_merges_its_branch(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    dagster = ModuleType("dagster")
    dagster.op = dagster.job = lambda function: function  # type: ignore[attr-defined] # a stand-in
    monkeypatch.setitem(sys.modules, "dagster", dagster)
    program("dagster", graph)["enrich"](SimpleNamespace(run_id=RUN_ID))
    assert names(graph) == ["gil"]
    assert [branch.name for branch in graph.branches()] == ["main"]


@pytest.mark.parametrize("fails", [False, True])
def test_the_tasks_of_airflow_merge_or_discard_the_branch(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    ran: list[str] = []

    def task(function: Callable[..., Any] | None = None, trigger_rule: str = "all_success") -> Any:
        def decorated(inner: Callable[..., Any]) -> Callable[..., Task]:
            def run(*arguments: Task) -> Task:
                if (trigger_rule == "one_failed") is not (fails and "enrich" in ran):
                    return Task(None)
                ran.append(inner.__name__)
                values = [item.value for item in arguments]
                context = {} if values else {"run_id": RUN_ID}
                return Task(inner(*values, **context))

            return run

        return decorated if function is None else decorated(function)

    sdk = ModuleType("airflow.sdk")
    sdk.task = task  # type: ignore[attr-defined] # a stand-in
    sdk.dag = lambda schedule: lambda function: function  # type: ignore[attr-defined] # the same
    monkeypatch.setitem(sys.modules, "airflow", ModuleType("airflow"))
    monkeypatch.setitem(sys.modules, "airflow.sdk", sdk)
    program("airflow.sdk", graph)
    assert ran == ["start", "enrich", "discard" if fails else "finish"]
    assert names(graph) == ([] if fails else ["hal"])
    assert [branch.name for branch in graph.branches()] == ["main"]
