"""Merging what cleanup has left of a history."""

from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import HistoryCleaned
from tests.features.merge.graphs import fresh, people, put
from tests.promises.cleanup.graphs import age
from tests.promises.protocol.graphs import reopen


def clean(graph: omnigraph.Graph) -> omnigraph.Graph:
    """Give up all that a merge does not need, and delete it; then start anew, with no file held open."""
    for _ in range(2):
        age(graph)
        graph.cleanup(keep=1, grace="0s")
    return reopen(graph)


@pytest.mark.parametrize("policy", ["newest", "source"])
def test_branches_are_merged_from_their_base_however_much_was_cleaned(tmp_path: Path, policy: str) -> None:
    graph = fresh(tmp_path)
    base = graph.snapshot().commit_id
    for number in range(20):
        put(graph, "ann", age=number)
        put(graph, "bo", "b", age=number)
    put(graph, "ann", "b", city="Rome", title="early")
    put(graph, "dan", "b", age=50)
    put(graph, "ann", title="late")
    middle = graph.snapshot().commit_id
    assert graph.optimize(index=False).commits
    cleaned = clean(graph)
    with pytest.raises(HistoryCleaned):
        cleaned.snapshot(at=middle)
    result = cleaned.merge("b", policy=policy)
    assert result.base == base
    assert people(cleaned)["ann"] == {"age": 19, "city": "Rome", "title": "late"}
    assert people(cleaned)["bo"] == {"age": 19}
    assert people(cleaned)["dan"] == {"age": 50}
    assert cleaned.merge("b").outcome.value == "already_up_to_date"
    assert clean(cleaned).verify(deep=True).is_clean
