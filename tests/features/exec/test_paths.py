"""The search from both ends finds the path that the search from one end finds, whatever has changed since the base."""

from random import Random

import numpy as np
import pytest

from omnigraph.exec.adjacency import adjacency
from omnigraph.exec.budget import Budget
from omnigraph.exec.topology.neighbours import Lists
from omnigraph.exec.topology.renumber import NOTHING, Correspondence, Renumbering
from omnigraph.exec.walk.levels import Levels, count_reached_from, levels_from, reached_from
from omnigraph.exec.walk.paths import Ways, _search, all_shortest_paths, path_between, shortest_paths
from omnigraph.exec.walk.reach import Pairs, _Search
from omnigraph.query.ir import HopRange

NODES = 40
ADDED_NODES = 3


def identity(size: int, lost: list[int]) -> Correspondence:
    gone = np.array(lost, np.int64)
    return Correspondence(size, size, Renumbering(), Renumbering(), gone, NOTHING, NOTHING)


def ways(rng: Random) -> Ways:
    """Random edges, parallel ones and self-loops included; some deleted and some added, also at nodes without any."""
    size = NODES + ADDED_NODES
    edges = [(rng.randrange(NODES), rng.randrange(NODES)) for _ in range(rng.randrange(3 * NODES))]
    added = [(rng.randrange(size), rng.randrange(size)) for _ in range(rng.choice([0, 0, 1, 6]))]
    lost = sorted(rng.sample(range(len(edges)), min(len(edges), rng.choice([0, 0, 3]))))
    numbers = np.arange(len(edges))
    sources, targets = (np.array([edge[side] for edge in edges], np.int64) for side in (0, 1))
    starts, ends = (np.array([edge[side] for edge in added], np.int64) for side in (0, 1))
    nodes, stored = identity(size, []), identity(len(edges), lost)
    rows = len(edges) + np.arange(len(added))
    return Ways(
        Lists(adjacency(sources, targets, numbers, NODES), nodes, nodes, stored, starts, ends, rows),
        Lists(adjacency(targets, sources, numbers, NODES), nodes, nodes, stored, ends, starts, rows),
    )


@pytest.mark.parametrize("seed", range(60))
def test_both_searches_choose_the_same_of_several_shortest_paths(seed: int) -> None:
    rng = Random(seed)
    found = ways(rng)
    for _ in range(30):
        source, target = rng.randrange(NODES + ADDED_NODES), rng.randrange(NODES + ADDED_NODES)
        hops_max = rng.choice([1, 2, 3, 50])
        one_sided = _search(found.forth, source, [target], hops_max, Budget()).get(target)
        assert path_between(found, source, target, hops_max, Budget()) == one_sided


@pytest.mark.parametrize("seed", range(20))
def test_few_and_many_targets_of_a_source_get_the_same_paths(seed: int) -> None:
    rng = Random(seed)
    found = ways(rng)
    every = np.arange(NODES)
    sources = np.full(NODES, rng.randrange(NODES))
    loops = np.array(sorted({node for node in range(NODES) if node in found.forth.step(np.array([node]))[1]}), np.int64)
    hops = HopRange(rng.choice([1, 2]), 6)
    together = shortest_paths(found, loops, sources, every, hops, wants_nodes=True, budget=Budget())
    alone = [
        shortest_paths(found, loops, sources[:1], every[[target]], hops, wants_nodes=True, budget=Budget())
        for target in range(NODES)
    ]
    assert together.nodes == [path for one in alone for path in one.nodes or []]
    assert together.length.tolist() == [length for one in alone for length in one.length.tolist()]


@pytest.mark.parametrize("seed", range(40))
def test_lengths_alone_are_those_of_the_paths(seed: int) -> None:
    rng = Random(seed)
    found, size = ways(rng), NODES + ADDED_NODES
    loops = np.array(sorted({node for node in range(NODES) if node in found.forth.step(np.array([node]))[1]}), np.int64)
    for rows in (1, 6, 60, 200):
        hops = HopRange(low := rng.choice([1, 2, 3]), low + rng.choice([-1, 0, 1, 5]))
        some = rng.sample(range(size), rng.choice([2, size]))
        sources = np.array([rng.choice([-1, *some[:3]]) for _ in range(rows)], np.int64)
        targets = np.array([rng.choice([-1, *some]) for _ in range(rows)], np.int64)
        paths, lengths = (
            shortest_paths(found, loops, sources, targets, hops, wants_nodes=wants_nodes, budget=Budget())
            for wants_nodes in (True, False)
        )
        assert lengths.nodes is None
        assert lengths.position.tolist() == paths.position.tolist()
        assert lengths.length.tolist() == paths.length.tolist()


def walks(forth: Lists, source: int, target: int, hops_max: int) -> list[list[int]]:
    """All walks of the least number of steps, found by trying every one."""
    found = [[source]]
    for _ in range(hops_max + 1):
        if any(walk[-1] == target for walk in found):
            return sorted(walk for walk in found if walk[-1] == target)
        found = [[*walk, int(node)] for walk in found for node in set(forth.step(np.array(walk[-1:]))[1].tolist())]
        found = [walk for walk in found if len(set(walk)) == len(walk)]
    return []


@pytest.mark.parametrize("seed", range(20))
def test_all_shortest_paths_are_those_that_trying_every_walk_finds(seed: int) -> None:
    rng = Random(seed)
    found, hops_max = ways(rng), rng.choice([1, 2, 4])
    every, source = np.arange(NODES), rng.randrange(NODES)
    no_loops, hops = np.zeros(0, np.int64), HopRange(1, hops_max)
    # One search for all targets of a source, and one from both ends for each of a few.
    many = all_shortest_paths(found, no_loops, np.full(NODES, source), every, hops, wants_nodes=True, budget=Budget())
    wanted = [
        (target, path)
        for target in range(NODES)
        if target != source
        for path in walks(found.forth, source, target, hops_max)
    ]
    assert list(zip(many.position.tolist(), many.nodes or [], strict=True)) == wanted
    for target in rng.sample(range(NODES), 5):
        ends = np.array([source]), np.array([target])
        few = all_shortest_paths(found, no_loops, *ends, hops, wants_nodes=True, budget=Budget())
        assert few.nodes == [path for number, path in wanted if number == target]


@pytest.mark.parametrize("seed", range(20))
def test_a_search_from_one_node_reaches_what_a_search_from_many_reaches(seed: int) -> None:
    rng = Random(seed)
    lists = ways(rng).forth
    loops = np.array(sorted({node for node in range(NODES) if node in lists.step(np.array([node]))[1]}), np.int64)
    for _ in range(20):
        low = rng.randrange(1, 4)
        hops = HopRange(low, low + rng.randrange(3))
        start, from_target = rng.randrange(NODES + ADDED_NODES), rng.random() < 0.5
        pairs = Pairs(Budget())
        _Search(lists, loops, np.array([start]), hops, from_target, Budget()).run(pairs)
        reached = reached_from(lists, loops, start, hops, from_target=from_target, budget=Budget())
        assert reached.tolist() == pairs.node.tolist()
        counted = count_reached_from(lists, loops, start, hops, from_target=from_target, budget=Budget())
        assert counted == len(reached)


@pytest.mark.parametrize("seed", range(5))
def test_levels_are_the_same_by_sorting_and_by_marks(seed: int) -> None:
    lists = ways(Random(seed)).forth
    by_sorting, by_marks = (
        Levels(lists, 0, np.zeros(lists.numbers, bool), sorted_max) for sorted_max in (lists.numbers, 0)
    )
    for _ in range(4):
        assert by_sorting.grow().tolist() == by_marks.grow().tolist()


def test_a_search_that_fails_leaves_no_marks_behind() -> None:
    lists = ways(Random(1)).forth

    def fail() -> None:
        with levels_from(lists, 0) as search:
            search.grow()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with levels_from(lists, 1) as search:
        assert np.flatnonzero(search._marks).tolist() == [1]
