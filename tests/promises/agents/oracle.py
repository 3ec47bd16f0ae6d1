"""The oracle: the tasks on main, one after the other in the order of its history, applied to plain dictionaries.

It knows nothing of branches, versions or three-way merges. A task that is on main wrote what its journal says; the
undoing of a task puts back what was there before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnigraph import Graph
from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.history.reverts import reverted_by
from tests.promises.agents.crew import entries

Entity = tuple[str, str]
"""A type and an id."""
Link = tuple[str, str]
"""The ends of an edge."""


@dataclass
class Journaled:
    """One task as its journal has it."""

    run: str
    name: str = ""
    kind: str = ""
    take: str | None = None
    writes: list[dict[str, Any]] = field(default_factory=list)
    note: dict[str, Any] | None = None
    is_sent: bool = False
    """True if it may have been finished: the request was about to be sent."""
    answers: set[str] = field(default_factory=set)
    is_undo_sent: bool = False


def read_journals(directory: Path) -> dict[str, Journaled]:
    """All tasks of all agents, by run."""
    journaled: dict[str, Journaled] = {}
    for path in sorted(directory.glob("*.jsonl")):
        for entry in entries(path):
            task = journaled.setdefault(entry["run"], Journaled(entry["run"]))
            match entry["event"]:
                case "start":
                    task.name, task.kind, task.take = entry["name"], entry["kind"], entry["take"]
                case "write":
                    task.writes.append(entry)
                case "note":
                    task.note = entry
                case "finish":
                    task.is_sent = True
                case "finished" | "undone":
                    task.answers.add(entry["status"])
                case "undo":
                    task.is_undo_sent = True
                case "abandon":
                    task.answers.add("abandoned")
    return journaled


@dataclass
class Content:
    """The content of a graph."""

    entities: dict[Entity, dict[str, Any]]
    links: Counter[Link] = field(default_factory=Counter)

    @staticmethod
    def of(graph: Graph) -> Content:
        counters = graph.query(
            "query q() { match { $c: Counter }"
            " return { $c.name as name, $c.value as value, $c.last as last, $c.note as note } }"
        )
        traces = graph.query("query q() { match { $t: Trace } return { $t.name as name, $t.step as step } }")
        links = graph.query("query q() { match { $t: Trace $t about $c } return { $t.name as start, $c.name as end } }")
        entities = {("Counter", row["name"]): dict(row) for row in counters}
        entities |= {("Trace", row["name"]): dict(row) for row in traces}
        return Content(entities, Counter((row["start"], row["end"]) for row in links))


@dataclass
class Undo:
    """What a task replaced: the values of the properties it set, and what it deleted."""

    inserted: list[Entity] = field(default_factory=list)
    values: list[tuple[Entity, str, Any]] = field(default_factory=list)
    deleted: list[tuple[Entity, dict[str, Any], list[Link]]] = field(default_factory=list)


class Oracle:
    """The content of main, task by task."""

    def __init__(self, counters: Iterable[str]) -> None:
        empty = {"value": 0, "last": None, "note": None}
        self.content = Content({("Counter", name): {"name": name, **empty} for name in counters})
        self._undos: dict[str, Undo] = {}

    def apply(self, task: Journaled) -> None:
        undo = self._undos[task.run] = Undo()
        for write in task.writes:
            for record in write["upserts"]:
                self._upsert(undo, record)
            for name in write["deletes"]:
                self._delete(undo, ("Trace", name))
        if task.note is not None:
            counter = ("Counter", task.note["counter"])
            is_conflict = self.content.entities[counter]["note"] != task.note["before"]
            if not (is_conflict and task.take == "target"):
                self._set(undo, counter, "note", task.note["note"])

    def revert(self, run: str) -> None:
        undo = self._undos[run]
        for entity in undo.inserted:
            self._delete(Undo(), entity)
        for entity, property_, value in reversed(undo.values):
            self.content.entities[entity][property_] = value
        for entity, values, links in undo.deleted:
            self.content.entities[entity] = values
            self.content.links.update(links)

    def _upsert(self, undo: Undo, record: Mapping[str, Any]) -> None:
        if "source" in record:
            self.content.links[record["source"], record["target"]] += 1
            return
        entity = (record["type"], record["data"]["name"])
        if entity not in self.content.entities:
            undo.inserted.append(entity)
            self.content.entities[entity] = dict(record["data"])
        for property_, value in record["data"].items():
            self._set(undo, entity, property_, value)

    def _set(self, undo: Undo, entity: Entity, property_: str, value: Any) -> None:
        values = self.content.entities[entity]
        if values[property_] != value:
            undo.values.append((entity, property_, values[property_]))
            values[property_] = value

    def _delete(self, undo: Undo, entity: Entity) -> None:
        values = self.content.entities.pop(entity, None)
        if values is not None:
            links = [link for link in self.content.links.elements() if link[0] == entity[1]]
            undo.deleted.append((entity, values, links))
            for link in links:
                del self.content.links[link]


def line(graph: Graph) -> list[GraphCommit]:
    """The commits that moved main, oldest first: first parents only."""
    known = {commit.id: commit for commit in graph.commits()}
    found = [next(graph.commits(limit=1))]
    while found[-1].parents:
        found.append(known[found[-1].parents[0]])
    return found[::-1]


@dataclass
class Verdict:
    """What the history says, and everything that contradicts the journals."""

    merged: Counter[str] = field(default_factory=Counter)
    reverted: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


RULES = {
    "a task that answered merged is on main": lambda task, on, off: "merged" not in task.answers or on == 1,
    "a task is merged once": lambda task, on, off: on <= 1,
    "a task that was not finished is not on main": lambda task, on, off: task.is_sent or on == 0,
    "a task that answered dropped is not on main": lambda task, on, off: "dropped" not in task.answers or on == off,
    "a task that answered reverted was reverted": lambda task, on, off: "reverted" not in task.answers or on == off,
    "a task is reverted by its agent alone": lambda task, on, off: task.is_undo_sent or off == 0,
    "a refused undo changes nothing": lambda task, on, off: "refused" not in task.answers or off == 0,
}
"""What must hold of a task, of how often it is on main, and of how often it was reverted."""


def judge(graph: Graph, journals: Path, counters: Iterable[str]) -> Verdict:
    """Replay the history of main, and compare it with the journals and with the content of the graph."""
    journaled, verdict, oracle = read_journals(journals), Verdict(), Oracle(counters)
    runs: dict[str, str] = {commit.id: commit.provenance.get("run", "") for commit in graph.commits()}
    for commit in line(graph):
        if commit.kind is CommitKind.MERGE:
            run = commit.provenance["run"]
            verdict.merged[run] += 1
            oracle.apply(journaled[run])
        elif commit.kind is CommitKind.REVERT:
            (run,) = {runs[undone] for undone in reverted_by(commit)}
            verdict.reverted[run] += 1
            oracle.revert(run)
        elif commit.branch == "main" and commit.kind is not CommitKind.INIT and commit.actor != "owner":
            verdict.wrong.append(f"a commit of no task is on main: {commit}")
    for run, task in journaled.items():
        on, off = verdict.merged[run], verdict.reverted[run]
        verdict.wrong += [f"{rule}: {task}, {on}, {off}" for rule, holds in RULES.items() if not holds(task, on, off)]
        verdict.counts.update(task.answers or {"killed"})
    _compare(verdict, oracle.content, Content.of(graph))
    by_counter = _increments(journaled, verdict)
    for (type_, name), values in Content.of(graph).entities.items():
        if type_ == "Counter" and values["value"] != by_counter[name]:
            verdict.wrong.append(f"{name} is {values['value']} after {by_counter[name]} increments")
    return verdict


def _increments(journaled: Mapping[str, Journaled], verdict: Verdict) -> Counter[str]:
    """Increments on main by counter, without any order: no update may be lost."""
    found: Counter[str] = Counter()
    for run, task in journaled.items():
        for write in task.writes:
            for record in write["upserts"]:
                if record["type"] == "Counter":
                    found[record["data"]["name"]] += verdict.merged[run] - verdict.reverted[run]
    return found


def _compare(verdict: Verdict, expected: Content, found: Content) -> None:
    for entity in sorted(expected.entities.keys() | found.entities.keys()):
        want, have = expected.entities.get(entity), found.entities.get(entity)
        if want != have:
            verdict.wrong.append(f"{entity}: expected {want}, found {have}")
    if expected.links != found.links:
        verdict.wrong.append(f"edges: expected {expected.links - found.links}, found {found.links - expected.links}")
