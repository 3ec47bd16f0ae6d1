"""Many agents on one graph: the end is that of their finished tasks one after the other, and nothing else is seen."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.server.agents import agent_tools
from tests.features.server.live import BASE, running, serving_of
from tests.support.faults.child import environment

pytest.importorskip("mcp")

from tests.promises.agents import crew_process  # they need the extra
from tests.promises.agents.crew import Orders, work
from tests.promises.agents.oracle import SCHEMA, Verdict, judge

SEEN = "query q() { match { $t: Trace } return { $t.name as name } }"


@contextmanager
def watched(graph: Graph, halves: list[str]) -> Iterator[None]:
    """Read main again and again: a task is there with both of its traces, or it is not there."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.2):
            steps = Counter(row["name"].rpartition(".")[0] for row in graph.query(SEEN))
            halves.extend(name for name, count in steps.items() if count != 2)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def live_and_die(orders: Orders, path: Path) -> int:
    """A crew as a process, started again as often as it dies; the number of its deaths."""
    while True:
        orders.save(path)
        command = [sys.executable, crew_process.__file__, str(path)]
        done = subprocess.run(command, env=environment(None), capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return orders.life
        assert done.returncode == -9, done.stderr
        orders = orders.next_life()


def run_fleet(
    directory: Path, agents: int, processes: int, tasks: int, counters: int, deaths: tuple[int, ...]
) -> tuple[Verdict, int]:
    """Agents in equal crews, half of them with tools: one crew of threads here, the others as processes that die."""
    names = [f"c{number}" for number in range(counters)]
    graph = omnigraph.create(directory / "kb.omni", SCHEMA, durability="os")
    graph.load([{"name": name, "value": 0} for name in names], type_name="Counter", actor="owner")
    journals = directory / "journals"
    journals.mkdir()
    actors = [f"a{number}" for number in range(agents)]
    tokens = {actor: f"token-of-{actor}" for actor in actors}
    failures: list[BaseException] = []
    lives: list[int] = []
    halves: list[str] = []

    def keep(number: int, orders: Orders) -> None:
        try:
            if number == 0:
                work(orders)
            else:
                lives.append(live_and_die(orders, directory / f"crew-{number}.json"))
        except BaseException as error:
            failures.append(error)

    # The handle of the server is another one than the watcher's, as in two processes.
    serving = serving_of(omnigraph.open(graph.uri, durability="os"), tokens=tokens)
    with running(serving, agents=agent_tools("merge", "test")) as live, watched(graph, halves):
        threads = []
        for number in range(processes + 1):
            crew = actors[number :: processes + 1]
            half = len(crew) // 2
            orders = Orders(
                address=f"{live.address}{BASE}",
                journals=str(journals),
                tools={actor: tokens[actor] for actor in crew[:half]},
                verbs={actor: tokens[actor] for actor in crew[half:]},
                tasks=tasks,
                counters=counters,
                deaths=deaths if number else (),
            )
            threads.append(threading.Thread(target=keep, args=(number, orders)))
            threads[-1].start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    fresh = omnigraph.open(graph.uri)
    verdict = judge(fresh, journals, names)
    verdict.wrong += [f"a part of {name} was seen on main" for name in sorted(set(halves))]
    verdict.wrong += [str(problem) for problem in fresh.verify().problems]
    return verdict, sum(lives)


def test_a_fleet_ends_where_its_finished_tasks_end_one_after_the_other(tmp_path: Path) -> None:
    verdict, deaths = run_fleet(tmp_path, agents=6, processes=1, tasks=5, counters=3, deaths=(60,))
    assert verdict.wrong == []
    assert deaths == 1
    assert sum(verdict.merged.values()) > 15


@pytest.mark.long
@pytest.mark.part("agents")
def test_a_hundred_agents_lose_nothing_and_show_nothing_unfinished(tmp_path: Path) -> None:
    began = time.monotonic()
    verdict, deaths = run_fleet(tmp_path, agents=100, processes=4, tasks=20, counters=150, deaths=(300, 500, 700))
    print(
        f"100 agents, 2,000 tasks in {time.monotonic() - began:.0f} s, {deaths} killed processes:"
        f" {sum(verdict.merged.values())} merged, {sum(verdict.reverted.values())} of them reverted;"
        f" {verdict.begins} began after a known merge; answers: {dict(sorted(verdict.counts.items()))}"
    )
    assert verdict.wrong == []
    assert deaths == 12
