"""One operation on each side, in every pairing: the outcome, and what the graph holds afterwards."""

from pathlib import Path

import pytest

import omnigraph
from tests.features.merge.graphs import edges, fresh, kinds, people, refused
from tests.promises.protocol.graphs import run

OPERATIONS = {
    "noop": None,
    "add eve": 'insert Person {name: "eve", age: %d}',
    "delete ann": 'delete Person where name = "ann"',
    "add ann-cy": 'insert Knows {from: "ann", to: "cy"}',
    "delete bo-cy": 'delete Knows where from = "bo"',
    "set ann": 'update Person set {age: %d} where name = "ann"',
}
DIVERGENT = {
    ("add eve", "add eve"): ("divergent_insert", "eve", "age"),
    ("set ann", "set ann"): ("divergent_update", "ann", "age"),
    ("delete ann", "set ann"): ("delete_vs_update", "ann", None),
    ("set ann", "delete ann"): ("update_vs_delete", "ann", None),
    ("delete ann", "add ann-cy"): ("orphan_edge", None, "src"),
    ("add ann-cy", "delete ann"): ("orphan_edge", None, "src"),
}


def do(graph: omnigraph.Graph, name: str, branch: str, number: int) -> None:
    text = OPERATIONS[name]
    if text is not None:
        run(graph, text % number if "%d" in text else text, branch=branch)


@pytest.mark.parametrize("target", OPERATIONS)
@pytest.mark.parametrize("source", OPERATIONS)
def test_every_pair_of_operations_has_its_outcome(tmp_path: Path, source: str, target: str) -> None:
    graph = fresh(tmp_path)
    do(graph, source, "b", 10)
    do(graph, target, "main", 20)
    conflict = DIVERGENT.get((source, target))
    if conflict is not None:
        [(kind, id_, property_)] = kinds(refused(graph))
        assert (kind, property_) == (conflict[0], conflict[2])
        assert conflict[1] in (None, id_)
        return
    result = graph.merge("b")
    expected = "already_up_to_date" if source == "noop" else "fast_forward" if target == "noop" else "merged"
    assert result.outcome.value == expected
    assert (result.commit is None) == (source == "noop")
    done = {source, target}
    assert ("eve" in people(graph)) == ("add eve" in done)
    assert ("ann" in people(graph)) == ("delete ann" not in done)
    assert ("bo-cy" in edges(graph)) == ("delete bo-cy" not in done)
    added = [ends for ends in edges(graph).values() if ends == ("ann", "cy")]
    assert len(added) == [source, target].count("add ann-cy")
    if "set ann" in done:
        assert people(graph)["ann"]["age"] == (10 if source == "set ann" else 20)
    assert graph.merge("b").outcome.value == "already_up_to_date"
