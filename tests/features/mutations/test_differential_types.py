"""Generated mutations over interfaces and edges with several ends have the effect of a naive evaluator."""

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import ViolationError
from tests.features.mutations.naive_types import ENDS, KEYS, MESSAGES, SCHEMA, SHOWN, Graph, TypedMutations, applied
from tests.support.long_progress import Progress

SEED = int(os.environ.get("OMNIGRAPH_MUTATIONS_SEED", "11"))
COUNT = int(os.environ.get("OMNIGRAPH_MUTATIONS", "5000"))


def _contents(graph: omnigraph.Graph, branch: str) -> tuple[list[str], list[str]]:
    snapshot, nodes, edges = graph.snapshot(branch), list[str](), list[str]()
    for name in KEYS:
        table = snapshot.to_arrow(f"node:{name}")
        shown = ("id", "text", "likes") if name in MESSAGES else ("id", "age")
        cells = zip(*(table[column].to_pylist() for column in shown), strict=True)
        nodes += [repr((name, *row)) for row in cells]
    for name, pairs in ENDS.items():
        table = snapshot.to_arrow(f"edge:{name}")
        for row in table.to_pylist():
            types = [row.get(f"{end}_type") or min(pairs)[place] for place, end in enumerate(("src", "dst"))]
            edges.append(repr((name, types[0], row["src"], types[1], row["dst"], row["w"])))
    return sorted(nodes), sorted(edges)


def _expected(graph: Graph) -> tuple[list[str], list[str]]:
    nodes = [repr((type_, id_, *row.values())) for (type_, id_), row in graph.nodes.items()]
    edges = [repr((edge.type, *edge.source, *edge.target, edge.weight)) for edge in graph.edges]
    return sorted(nodes), sorted(edges)


@pytest.mark.parametrize("count", [120, pytest.param(COUNT, marks=pytest.mark.long)])
def test_generated_mutations_over_several_types_have_the_effect_of_the_naive_evaluator(
    tmp_path: Path, count: int, capfd: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(capfd, "mutations over several types", 250)
    graph = omnigraph.create(str(tmp_path / "graph"), SCHEMA, durability="os")
    mutations, naive, branch = TypedMutations(SEED), Graph(), "main"
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
            returned += bool(rows)
            assert sorted(repr(tuple(row.values())) for row in result.returned.rows) == sorted(map(repr, rows)), shown
        assert _contents(graph, branch) == _expected(naive), shown
        progress.at(number + 1, f", {refused} refused, {returned} with rows compared")
        if number % 60 == 39:
            graph.create_branch(f"b{number}", branch)
            branch = f"b{number}"
        if number % 60 == 59:
            graph.optimize(branch=branch)
    assert refused > count // 20
    assert returned > count // 10


WRITES = {
    "type of an end": r"(from|to): \{ type: \"",
    "id of an end with several types": r"insert Likes \{ from: (\"p\d\"|\{[^}]*\}), to: \"",
    "type of an end in where": r"where [^@]*(from|to)_type",
    "upsert of an edge": r"upsert HasTag",
    "update of several types": r"match \{ \$m: Message .*\} update \$m",
    "update over an edge with several ends": r"likes \$m .*\} update \$m",
    "delete of several types": r"delete \$m",
    "delete of any edge": r"<\$e> \$x \} delete \$e",
    "insert to several types": r"insert Likes \{ from: \$p, to: \$m",
    "comparison of nodes": r"\$m != \$n",
    "exists": r"exists \{ \$q likes \$m \}",
    "not": r"not \{ \$q likes \$m \}",
    "for": r"for \$r in \$rows \{ insert Likes",
    "returning": r"returning \{",
}


def test_every_construct_over_several_types_is_generated() -> None:
    mutations = TypedMutations(SEED)
    texts = [mutations.one()[0] for _ in range(1000)]
    seen = Counter(name for text in texts for name, pattern in WRITES.items() if re.search(pattern, text))
    assert {name: seen[name] for name in WRITES if seen[name] < 20} == {}
