"""Latency of a one-row commit as the history grows.

`python -m benchmarks.history` (`--quick` for a short run). Graphs of every age take turns in one process, so that the
rows can be compared although the machine is shared. Each is measured over whole cycles of the commit log: the manifest
grows with each of 64 commits and is emptied into the log by the next, so a shorter window measures its place in the
cycle and not the age of the graph.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Sequence

from benchmarks.writes import INSERT, SCHEMA, Cost, rows, timed
from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import Graph, create

AGES, QUICK_AGES = (0, 500, 1_000, 3_000), (0, 200)
CYCLES = 3
RECENT_COMMITS_MAX = Tuning().recent_commits_max


def commit(graph: Graph, number: int) -> Cost:
    [row] = rows(number, 1).to_pylist()
    return timed(lambda: graph.mutate(INSERT, row))


def by_turns(graphs: dict[int, Graph], cycles: int) -> dict[int, list[list[Cost]]]:
    """Costs by age and by the place of the commit in its cycle."""
    costs: dict[int, list[list[Cost]]] = {age: [[] for _ in range(RECENT_COMMITS_MAX)] for age in graphs}
    for number in range(cycles * RECENT_COMMITS_MAX):
        for age, graph in graphs.items():
            costs[age][(age + number) % RECENT_COMMITS_MAX].append(commit(graph, age + number))
    return costs


def processor_ms(costs: Sequence[Sequence[Cost]]) -> float:
    return 1000 * statistics.median(cost.processor for place in costs for cost in place)


def main(ages: Sequence[int] = AGES) -> None:
    directory = tempfile.mkdtemp(prefix="omnigraph-history-")
    try:
        graphs = {age: create(f"{directory}/{age}", SCHEMA, durability="os") for age in ages}
        for age, graph in graphs.items():
            for number in range(age):
                commit(graph, number)
        measured = by_turns(graphs, CYCLES)
    finally:
        shutil.rmtree(directory)
    third = RECENT_COMMITS_MAX // 3
    print("| Commits before | processor ms | the same, early in the cycle | late in the cycle | ms until done |")
    print("|---|---|---|---|---|")
    for age, costs in measured.items():
        seconds = statistics.median(cost.seconds for place in costs for cost in place)
        early, late = processor_ms(costs[:third]), processor_ms(costs[-third:])
        print(f"| {age:,} | {processor_ms(costs):.1f} | {early:.1f} | {late:.1f} | {1000 * seconds:.1f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="younger graphs")
    main(QUICK_AGES if parser.parse_args().quick else AGES)
