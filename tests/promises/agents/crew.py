"""A crew: agents as threads of one process, each with an actor, a journal and a list of tasks.

A task reads, writes twice and is finished. Some are abandoned, some are undone later, and the process of a crew may
kill itself with all tasks that are under way. What an agent is about to do is in its journal before it does it, so the
oracle knows what a killed one may have done. A journal is also what the next life of the agent continues from.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

import omnigraph
from tests.promises.agents.roads import READ, TRACES, OpenTasks, Record, Road, ToolRoad, VerbRoad, connected

ABANDONED, UNDONE_LATER = 0.08, 0.15
"""Shares of tasks that are left in the middle, and that are followed by the undoing of an earlier one."""
ATTEMPTS_MAX = 1_000
"""Attempts of one task. Each is refused only if another task was merged in between."""


@dataclass(frozen=True)
class Orders:
    """The work of a crew: as a file for a process, or as a value for threads."""

    address: str
    journals: str
    tools: dict[str, str]
    """Tokens of the agents that use tools, by actor."""
    verbs: dict[str, str]
    """Tokens of the agents that use verbs, by actor."""
    tasks: int
    counters: int
    deaths: tuple[int, ...] = ()
    """For each life of the process, the number of journal entries after which it kills itself."""
    life: int = 0

    def next_life(self) -> Orders:
        return replace(self, life=self.life + 1)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @staticmethod
    def read(path: Path) -> Orders:
        form = json.loads(path.read_text(encoding="utf-8"))
        return Orders(**{**form, "deaths": tuple(form["deaths"])})


def entries(path: Path) -> list[dict[str, Any]]:
    """The entries of a journal; the last line of a killed writer may be incomplete."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


@dataclass
class Journal:
    """The entries of one agent, each written before the next step is taken."""

    path: Path
    end: Death
    past: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.past = entries(self.path)
        whole = "".join(json.dumps(entry) + "\n" for entry in self.past)
        self.path.write_text(whole, encoding="utf-8")
        self._file = self.path.open("a", encoding="utf-8", buffering=1)

    def add(self, event: str, run: str, **facts: Any) -> None:
        self._file.write(json.dumps({"event": event, "run": run, **facts}) + "\n")
        self.end.come_closer()

    def close(self) -> None:
        self._file.close()


@dataclass
class Death:
    """The end of the process after a number of entries; 0 for none."""

    after: int
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _entries: Iterator[int] = field(default_factory=lambda: count(1))

    def come_closer(self) -> None:
        with self._lock:
            if next(self._entries) == self.after:
                os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Agent:
    """One actor and its tasks."""

    name: str
    road: Road
    journal: Journal
    orders: Orders
    merged: dict[str, str] = field(default_factory=dict)
    """Runs that are on main by what this agent knows, with the name of their traces."""

    def run(self) -> None:
        """Do all tasks that no earlier life has begun."""
        began = self._recover()
        for number in range(began, self.orders.tasks):
            self._task(number, random.Random(f"{self.name}-{number}"))

    def _recover(self) -> int:
        """Undo the task that was under way when the last life ended; the number of the next one."""
        began = 0
        open_: dict[str, str] = {}
        deletes: dict[str, list[str]] = {}
        for entry in self.journal.past:
            match entry["event"]:
                case "start":
                    began = entry["number"] + 1
                    open_[entry["run"]] = entry["name"]
                case "write":
                    deletes.setdefault(entry["run"], []).extend(entry["deletes"])
                case "finished" if entry["status"] == "merged":
                    self._know_merged(entry["run"], open_.pop(entry["run"]), deletes[entry["run"]])
                case "undo":
                    open_.pop(entry["run"], None)
                    self.merged.pop(entry["run"], None)
        for run in open_:
            self._undo(run)
        return began

    def _start(self) -> str:
        for _ in range(ATTEMPTS_MAX):
            try:
                return self.road.start()
            except OpenTasks as left:
                for task in left.tasks:
                    self._undo(task)
        raise AssertionError("no task could be started")

    def _undo(self, run: str) -> None:
        self.merged.pop(run, None)
        self.journal.add("undo", run)
        self.journal.add("undone", run, status=self.road.undo(run))

    def _task(self, number: int, draw: random.Random) -> None:
        kind = draw.choice(("count", "count", "note", "drop"))
        counter = f"c{draw.randrange(self.orders.counters)}"
        take = draw.choice(("source", "target")) if kind == "note" else None
        is_abandoned = draw.random() < ABANDONED
        for attempt in range(ATTEMPTS_MAX):
            name = f"{self.name}-{number}-{attempt}"
            run = self._start()
            self.journal.add("start", run, number=number, name=name, kind=kind, take=take)
            status = self._attempt(run, name, kind, counter, take, is_abandoned)
            if status != "conflicts":
                break
            self._undo(run)
        if self.merged and draw.random() < UNDONE_LATER:
            self._undo(draw.choice(sorted(self.merged)))

    def _attempt(self, run: str, name: str, kind: str, counter: str, take: str | None, is_abandoned: bool) -> str:
        (before,) = self.road.read(run, READ, counter)
        steps: list[Record] = [{"type": "Trace", "data": {"name": f"{name}.{step}", "step": step}} for step in (1, 2)]
        links = [{"type": "About", "source": f"{name}.{step}", "target": counter} for step in (1, 2)]
        first: list[Record] = [steps[0], links[0]]
        if kind == "count":
            data = {"name": counter, "value": before["value"] + 1, "last": run}
            first.append({"type": "Counter", "data": data})
        self._write(run, first, [])
        assert self.road.read(run, TRACES, f"{name}.1") == [{"step": 1}], "a task reads its writes"
        if is_abandoned:
            self.journal.add("abandon", run)
            return "abandoned"
        if kind == "note":
            self.journal.add("note", run, counter=counter, note=run, before=before["note"])
            self.road.note(run, counter, run)
        old = next(iter(self.merged.values()), None) if kind == "drop" else None
        drops = [] if old is None else [f"{old}.1", f"{old}.2"]
        self._write(run, [steps[1], links[1]], drops)
        self.journal.add("finish", run)
        status = self.road.finish(run, take)
        self.journal.add("finished", run, status=status)
        if status == "merged":
            self._know_merged(run, name, drops)
        return status

    def _know_merged(self, run: str, name: str, drops: list[str]) -> None:
        """Note a merged task. A task whose traces it deleted is neither dropped again nor undone."""
        self.merged = {known: old for known, old in self.merged.items() if f"{old}.1" not in drops}
        self.merged[run] = name

    def _write(self, run: str, upserts: list[Record], deletes: list[str]) -> None:
        self.journal.add("write", run, upserts=upserts, deletes=deletes)
        self.road.write(run, upserts, deletes)


def _roads(orders: Orders, portal: BlockingPortal, stack: ExitStack) -> Iterator[tuple[str, Road]]:
    for actor, token in orders.tools.items():
        client = stack.enter_context(portal.wrap_async_context_manager(connected(orders.address, token)))
        yield actor, ToolRoad(portal, client)
    for actor, token in orders.verbs.items():
        graph = stack.enter_context(omnigraph.open(orders.address, token=token))
        yield actor, VerbRoad(graph, actor, first=orders.life * ATTEMPTS_MAX * 10)


def work(orders: Orders) -> None:
    """Run all agents of a crew to their end; the first error of an agent ends the crew."""
    death = Death(orders.deaths[orders.life] if orders.life < len(orders.deaths) else 0)
    failures: list[BaseException] = []

    def run(agent: Agent) -> None:
        try:
            agent.run()
        except BaseException as error:
            failures.append(error)

    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        agents = [
            Agent(actor, road, Journal(Path(orders.journals) / f"{actor}.jsonl", death), orders)
            for actor, road in _roads(orders, portal, stack)
        ]
        threads = [threading.Thread(target=run, args=(agent,), name=agent.name) for agent in agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for agent in agents:
            agent.journal.close()
    if failures:
        raise ExceptionGroup("agents failed", [error for error in failures if isinstance(error, Exception)])
