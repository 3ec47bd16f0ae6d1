"""Parts of a large commit: whatever the division, each change is in exactly one part, and no other is."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.graph import Graph
from omnigraph.engine.history.feed import Feed
from tests.promises.protocol.graphs import create, edge, person


def changes(feed: Feed, commit: GraphCommit, parent: GraphCommit, rows_max: int) -> tuple[int, list[str]]:
    """The number of parts, and all changes of them."""
    parts = feed.parts(commit, parent, rows_max)
    store = feed.comparer.store
    found = [repr(change) for part in parts for rows in feed.rows(commit, parent, part) for change in rows.exact(store)]
    return len(parts), found


def a_graph(tmp_path: Path) -> Graph:
    """Several fragments of people; then one commit that inserts, updates, deletes, and replaces fragments."""
    graph = create(tmp_path)
    for start in range(0, 40, 10):
        graph.load([person(f"p{number:02}", age=number) for number in range(start, start + 10)], "append")
    chosen = random.Random(7).sample(range(40), 12)
    rows = [person(f"p{number:02}", age=100 + number) for number in chosen]
    rows += [person(f"q{number}", age=1) for number in range(5)]
    graph.load([*rows, edge("Knows", "p01", "q1", "k")], "merge")
    graph.load([person(f"p{number:02}", age=1) for number in range(1, 30)] + [person("q1")], "overwrite")
    return graph


@pytest.mark.parametrize("rows_max", [1, 3, 7, 1_000])
def test_parts_have_every_change_once(tmp_path: Path, rows_max: int) -> None:
    graph = a_graph(tmp_path)
    feed = graph.feed("main")
    line = feed.commits(feed.start("beginning"))
    divided = 0
    for parent, commit in itertools.pairwise(line):
        whole, expected = changes(feed, commit, parent, 10_000)
        assert whole == 1
        parts, found = changes(feed, commit, parent, rows_max)
        assert sorted(found) == sorted(expected)
        divided += parts > 1
    assert divided if rows_max < 40 else not divided
