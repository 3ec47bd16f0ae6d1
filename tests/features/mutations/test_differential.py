"""Generated mutations have the effect that a naive evaluator over dictionaries computes."""

import os
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import ViolationError
from tests.features.mutations.exact import COLUMNS as EXACT
from tests.features.mutations.exact import KINDS, SCHEMA, stored
from tests.features.mutations.naive import PLAIN, SHOWN, Graph, Mutations, applied
from tests.support.long_progress import Progress

COLUMNS = (*PLAIN, *EXACT)
EDGE_COLUMNS = ("src", "dst", "since", "note")


def _contents(graph: omnigraph.Graph, branch: str) -> tuple[list[str], list[str]]:
    """Both tables as sorted texts: the ids of edges are minted, so edges are compared as a bag."""
    snapshot = graph.snapshot(branch)
    found = []
    for key, columns in (("node:Person", COLUMNS), ("edge:Knows", EDGE_COLUMNS)):
        table = snapshot.to_arrow(key)
        cells = ([stored(value, KINDS.get(name, "")) for value in table[name].to_pylist()] for name in columns)
        rows = zip(*cells, strict=True)
        found.append(sorted(map(repr, rows)))
    return found[0], found[1]


def _expected(graph: Graph) -> tuple[list[str], list[str]]:
    people = [repr(tuple(row[name] for name in COLUMNS)) for row in graph.people.values()]
    edges = [repr(tuple(edge[name] for name in EDGE_COLUMNS)) for edge in graph.knows]
    return sorted(people), sorted(edges)


SEED = int(os.environ.get("OMNIGRAPH_MUTATIONS_SEED", "11"))
COUNT = int(os.environ.get("OMNIGRAPH_MUTATIONS", "5000"))


@pytest.mark.parametrize("count", [240, pytest.param(COUNT, marks=pytest.mark.long)])
def test_generated_mutations_have_the_effect_of_the_naive_evaluator(
    tmp_path: Path, count: int, capfd: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(capfd, "mutations", 250)
    graph = omnigraph.create(str(tmp_path / "graph"), SCHEMA, durability="os")
    mutations, naive, branch = Mutations(SEED), Graph(), "main"
    refused = returned = 0
    for number in range(count):
        text, params, run = mutations.one()
        naive, rows = applied(naive, run)
        shown = f"{number}:\n{text}\n{params}"
        try:
            result: Any = graph.mutate(text, params, branch=branch)
        except ViolationError as error:
            result, shown = None, f"{shown}\n{error}"
            refused += 1
        assert (result is None) == (rows is None), shown
        if result is not None and rows is not None and SHOWN in text:
            returned += 1
            found = sorted(repr(tuple(row.values())) for row in result.returned.rows)
            assert found == sorted(map(repr, rows)), shown
        assert _contents(graph, branch) == _expected(naive), shown
        progress.at(number + 1, f", {refused} refused, {returned} with rows compared")
        if number % 60 == 39:
            graph.create_branch(f"b{number}", branch)
            branch = f"b{number}"
        if number % 60 == 59:
            graph.optimize(branch=branch)
    assert refused > count // 20
    assert returned > count // 4
