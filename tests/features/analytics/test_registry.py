"""The registry of algorithms is the one place that declares them: signatures, results and arguments follow its rows."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.engine.analysis.run import Analysis
from omnigraph.engine.graph import Graph
from omnigraph.errors import UsageError
from omnigraph.exec.analytics import registry
from omnigraph.exec.analytics.algorithms.ranks import degrees
from omnigraph.exec.analytics.registry import ALGORITHMS, Algorithm
from omnigraph.exec.analytics.work import NodeValues, Work
from tests.features.analytics.shapes import knows, names


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return knows(names(4), [(0, 1), (1, 2), (2, 0), (2, 3)]).graph(tmp_path_factory.mktemp("registry") / "g")


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=lambda algorithm: algorithm.name)
def test_a_typed_method_has_the_parameters_and_defaults_of_its_row(algorithm: Algorithm) -> None:
    declared = {parameter.name: parameter for parameter in algorithm.parameters}
    signature = inspect.signature(getattr(Analysis, algorithm.name)).parameters
    named = {name: item for name, item in signature.items() if name not in ("self", "edges", "target")}
    assert list(named) == list(declared)
    for name, item in named.items():
        assert (item.default is item.empty) is declared[name].is_required
        assert item.default is item.empty or item.default == declared[name].default


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=lambda algorithm: algorithm.name)
def test_a_result_has_the_columns_of_its_row(graph: Graph, algorithm: Algorithm) -> None:
    given = {parameter.name: names(1) for parameter in algorithm.parameters if parameter.is_required}
    found = graph.analyze.run(algorithm.name, "Knows", **given)
    assert tuple(found.to_arrow().column_names) == ("type", "id", *algorithm.columns)


def test_a_row_alone_makes_an_algorithm_callable(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(work: Work) -> NodeValues:
        return NodeValues({"doubled": degrees(work).columns["degree"]}, {})

    monkeypatch.setattr("omnigraph.exec.analytics.algorithms.ranks.doubled", doubled, raising=False)
    row = Algorithm("doubled", "A column under another name.", ("doubled",), "ranks:doubled")
    monkeypatch.setattr(registry, "ALGORITHMS", {**ALGORITHMS, row.name: row})
    assert graph.analyze.run("doubled", "Knows").column() == "doubled"


@pytest.mark.parametrize(
    ("algorithm", "options", "problem"),
    [
        ("pagerang", {}, "unknown algorithm"),
        ("pagerank", {"dampening": 0.5}, "no parameter 'dampening'"),
        ("pagerank", {"damping": 1.5}, "between 0 and 1"),
        ("pagerank", {"tolerance": float("nan")}, "at least 0"),
        ("label_propagation", {"max_iterations": 0}, "at least 1"),
        ("shortest_paths", {}, "needs sources"),
        ("betweenness", {"samples": "all"}, "samples is 'all', expected an integer"),
        ("betweenness", {"samples": 2.5}, "samples is 2.5"),
        ("random_walks", {"walks": True}, "walks is True"),
        ("random_walks", {"p": 0}, "p is 0"),
        ("pagerank", {"damping": None}, "damping is None"),
        ("pagerank", {"weight": 3}, "weight is 3, expected a property"),
    ],
)
def test_arguments_that_do_not_fit_the_row_are_refused(
    graph: Graph, algorithm: str, options: dict[str, object], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        graph.analyze.run(algorithm, "Knows", **options)


def test_the_help_of_analyze_loads_no_array_library(tmp_path: Path) -> None:
    program = "import sys, omnigraph.cli.commands.analyze; print([n for n in ('numpy', 'pyarrow') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"
