"""The NetworkX backend: the results of NetworkX, from our algorithms."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.engine.interop.networkx_backend import BACKEND, FUNCTIONS
from omnigraph.engine.interop.networkx_info import FUNCTION_NAMES, get_info
from tests.support.interop_graph import interop_graph

nx = pytest.importorskip("networkx")
pytest.importorskip("scipy")

ROOT = Path(__file__).parents[3]
WITH_SOURCE = {"single_source_shortest_path_length", "single_source_dijkstra_path_length"}
DIRECTED_ONLY = {
    name for name in FUNCTION_NAMES if "weakly" in name or "strongly" in name or name.startswith(("in_", "out_"))
}
UNDIRECTED_ONLY = {"connected_components", "number_connected_components", "triangles"}


def _weighted(graph: Any) -> Any:
    for number, (source, target) in enumerate(graph.edges()):
        graph[source][target]["weight"] = 1 + number % 5
    return graph


GRAPHS = {
    "directed": _weighted(nx.gnp_random_graph(60, 0.03, seed=1, directed=True)),
    "undirected": nx.karate_club_graph(),
    "apart": nx.gnp_random_graph(60, 0.02, seed=2),
    "multigraph": nx.MultiDiGraph([(1, 2), (1, 2), (2, 2), (3, 1)]),
}


def _compared(found: Any) -> Any:
    if isinstance(found, dict):
        return {node: pytest.approx(value, rel=1e-9, abs=1e-12) for node, value in found.items()}
    return found if isinstance(found, int) else sorted(map(sorted, found))


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        pytest.param(name, graph, id=f"{name}-{kind}")
        for name in FUNCTION_NAMES
        for kind, graph in GRAPHS.items()
        if name not in (UNDIRECTED_ONLY if graph.is_directed() else DIRECTED_ONLY)
    ],
)
def test_every_function_equals_that_of_networkx(name: str, graph: Any) -> None:
    args = (graph, next(iter(graph))) if name in WITH_SOURCE else (graph,)
    expected = _compared(getattr(nx, name)(*args))
    found = getattr(BACKEND, name)(BACKEND.convert_from_nx(graph), *args[1:])
    assert (found if isinstance(found, dict | int) else sorted(map(sorted, found))) == expected


def test_parameters_of_pagerank_mean_the_same() -> None:
    graph = GRAPHS["directed"]
    options: dict[str, Any] = {"alpha": 0.6, "personalization": {1: 1, 2: 3}, "tol": 1e-9, "weight": None}
    assert BACKEND.pagerank(graph, **options) == _compared(nx.pagerank(graph, **options))
    with pytest.raises(nx.PowerIterationFailedConvergence):
        BACKEND.pagerank(graph, max_iter=1)


def test_what_our_algorithms_do_not_have_is_declined() -> None:
    assert BACKEND.can_run("pagerank", (None,), {"alpha": 0.5}) is True
    for name, kwargs in (
        ("pagerank", {"nstart": {1: 1}}),
        ("pagerank", {"dangling": {1: 1}}),
        ("single_source_dijkstra_path_length", {"weight": lambda u, v, d: 1}),
        ("triangles", {"nodes": [1]}),
        ("betweenness_centrality", {}),
    ):
        assert isinstance(BACKEND.can_run(name, (None,), kwargs), str), name


def test_the_description_lists_the_functions_of_the_backend() -> None:
    assert set(FUNCTION_NAMES) == set(FUNCTIONS) == set(get_info()["functions"])


def test_networkx_finds_the_backend_by_its_entry_points(tmp_path: Path) -> None:
    graph = interop_graph(tmp_path)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    installed = tmp_path / "site" / "omnigraph_entry_points-0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: omnigraph-entry-points\nVersion: 0\n")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in declared.items()]
    (installed / "entry_points.txt").write_text("\n".join(lines))
    script = f"""
import networkx as nx, omnigraph
graph = omnigraph.open({graph.uri!r})
view, whole = graph.nx(), graph.to_networkx()
for found in (nx.pagerank(G=view), nx.pagerank(whole, backend="omnigraph")):
    expected = nx.pagerank(whole, backend="networkx")
    assert found.keys() == expected.keys()
    assert all(abs(found[node] - expected[node]) < 1e-9 for node in found)
assert nx.triangles(graph.nx(directed=False)) == nx.triangles(whole.to_undirected())
assert nx.weakly_connected_components.backends >= {{"omnigraph"}}
try:
    nx.pagerank(view, nstart={{"ann": 1}}, backend="omnigraph")
except NotImplementedError:
    print("declined")
"""
    path = os.pathsep.join([str(ROOT / "src"), str(tmp_path / "site")])
    run = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "declined\n", run.stderr


def test_a_view_of_the_backend_knows_its_nodes(tmp_path: Path) -> None:
    view = interop_graph(tmp_path).nx("Knows")
    assert isinstance(view, omnigraph.BackendGraph)
    assert (len(view), view.number_of_edges(), "ann" in view) == (3, 3, True)
    assert BACKEND.single_source_dijkstra_path_length(view, "bob") == {"bob": 0, "ann": 0.5}
    assert "directed, 3 nodes, 3 edges" in repr(view)
    assert len(BACKEND.convert_to_nx(view)) == 3
