"""The oracle: the tasks on main, one after the other in the order of its history, applied to plain dictionaries.

Of the engine it takes the order of the commits on main and the commit that the branch of a task begins at. A task
changes what its journal says, relative to the content of main at that commit, and this difference is applied to main
three-way: what main has changed in another way meanwhile is a conflict, which no merge may pass over. The undoing of a
task applies what its merge changed on main in the same way, the other way around.
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
from tests.promises.agents.roads import VERB_BRANCHES

SCHEMA = """
node Counter {
    name: String @key
    value: I64
    last: String?
    note: String?
}
node Trace {
    name: String @key
    step: I64
}
edge About: Trace -> Counter
"""

Entity = tuple[str, str]
"""A type and an id; of an edge, its ends."""
Values = Mapping[str, Any]
"""Properties by name; of an edge, how many there are between its ends."""


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
    after: str | None = None
    """The last task that was merged by an answer that its agent had when this one was started."""


def read_journals(directory: Path) -> dict[str, Journaled]:
    """All tasks of all agents, by run."""
    journaled: dict[str, Journaled] = {}
    for path in sorted(directory.glob("*.jsonl")):
        merged: str | None = None
        for entry in entries(path):
            task = journaled.setdefault(entry["run"], Journaled(entry["run"]))
            match entry["event"]:
                case "start":
                    task.name, task.kind, task.take = entry["name"], entry["kind"], entry["take"]
                    task.after = merged
                case "write":
                    task.writes.append(entry)
                case "note":
                    task.note = entry
                case "finish":
                    task.is_sent = True
                case "finished" | "undone":
                    task.answers.add(entry["status"])
                    merged = entry["run"] if entry["status"] == "merged" else merged
                case "undo":
                    task.is_undo_sent = True
                case "abandon":
                    task.answers.add("abandoned")
    return journaled


@dataclass
class Content:
    """The content of a graph by entity. Values are replaced and never changed, so copies share them."""

    entities: dict[Entity, Values]

    @staticmethod
    def of(graph: Graph) -> Content:
        counters = graph.query(
            "query q() { match { $c: Counter }"
            " return { $c.name as name, $c.value as value, $c.last as last, $c.note as note } }"
        )
        traces = graph.query("query q() { match { $t: Trace } return { $t.name as name, $t.step as step } }")
        links = graph.query("query q() { match { $t: Trace $t about $c } return { $t.name as start, $c.name as end } }")
        entities: dict[Entity, Values] = {("Counter", row["name"]): dict(row) for row in counters}
        entities |= {("Trace", row["name"]): dict(row) for row in traces}
        edges = Counter(("About", f"{row['start']} {row['end']}") for row in links)
        return Content(entities | {link: {"edges": count} for link, count in edges.items()})

    def copy(self) -> Content:
        return Content(dict(self.entities))

    def upsert(self, record: Mapping[str, Any]) -> None:
        if "source" in record:
            link = ("About", f"{record['source']} {record['target']}")
            count = self.entities.get(link, {"edges": 0})["edges"]
            self.entities[link] = {"edges": count + 1}
            return
        entity = (record["type"], record["data"]["name"])
        self.entities[entity] = {**self.entities.get(entity, {}), **record["data"]}

    def delete_trace(self, name: str) -> None:
        """Delete a trace with its edges. One that does not exist is left out."""
        if self.entities.pop(("Trace", name), None) is not None:
            for link in [key for key in self.entities if key[0] == "About" and key[1].startswith(f"{name} ")]:
                del self.entities[link]


@dataclass(frozen=True)
class Delta:
    """The entities that two contents differ in, with their values in both."""

    entities: Mapping[Entity, tuple[Values | None, Values | None]]

    @staticmethod
    def between(base: Content, source: Content) -> Delta:
        places = base.entities.keys() | source.entities.keys()
        pairs = {entity: (base.entities.get(entity), source.entities.get(entity)) for entity in places}
        return Delta({entity: pair for entity, pair in pairs.items() if pair[0] is not pair[1] and pair[0] != pair[1]})

    def inverse(self) -> Delta:
        return Delta({entity: (after, before) for entity, (before, after) in self.entities.items()})

    def onto(self, target: Content, take: str | None = None) -> tuple[Content, list[str]]:
        """The target with this difference, and the conflicts. Conflicts of properties are settled by ``take``."""
        result, conflicts = target.copy(), []
        for entity, (before, after) in self.entities.items():
            found = target.entities.get(entity)
            if found == after:
                continue  # both sides made the same change
            if found == before:
                result.entities[entity] = after or {}
            elif found is None or before is None or after is None:
                conflicts.append(f"{entity}: {before} became {after}, and {found} on main")
                continue
            else:
                values = dict(found)
                for name in (name for name in before if before[name] != after[name] != found[name]):
                    if found[name] == before[name] or take == "source":
                        values[name] = after[name]
                    elif take is None:
                        conflicts.append(f"{entity}.{name}: {before[name]} became {after[name]}, and {found[name]}")
                result.entities[entity] = values
            if after is None:
                del result.entities[entity]
        return result, conflicts


class Oracle:
    """The content of main, task by task."""

    def __init__(self, counters: Iterable[str]) -> None:
        empty = {"value": 0, "last": None, "note": None}
        self.content = Content({("Counter", name): {"name": name, **empty} for name in counters})
        self._deltas: dict[str, Delta] = {}
        """What each commit of main changed there, oldest first."""

    def at(self, commit: str) -> Content:
        """The content of main at one of its commits: that of its head without what came later."""
        content = self.content
        for later, delta in reversed(self._deltas.items()):
            if later == commit:
                break
            content, conflicts = delta.inverse().onto(content)
            assert not conflicts, conflicts
        return content

    def merge(self, commit: str, task: Journaled, base: str, take: str | None) -> list[str]:
        """Merge what a task wrote on a branch that begins at ``base``; what is wrong about it."""
        start = self.at(base)
        source = start.copy()
        wrong = []
        for write in task.writes:
            for record in write["upserts"]:
                if record["type"] == "Counter":
                    found = start.entities["Counter", record["data"]["name"]]["value"]
                    if record["data"]["value"] != found + 1:
                        wrong.append(f"{task.run} did not read {found} at its base: {record}")
                source.upsert(record)
            for name in write["deletes"]:
                source.delete_trace(name)
        if task.note is not None:
            counter = ("Counter", task.note["counter"])
            found = start.entities[counter]["note"]
            if task.note["before"] != found:
                wrong.append(f"{task.run} did not read {found} at its base: {task.note}")
            source.entities[counter] = {**source.entities[counter], "note": task.note["note"]}
        return wrong + self._move(commit, Delta.between(start, source), take)

    def revert(self, commit: str, merge: str) -> list[str]:
        """Take back what a merge changed on main; what is wrong about it."""
        return self._move(commit, self._deltas[merge].inverse(), None)

    def pass_by(self, commit: str) -> None:
        """Note a commit of main that is of no task."""
        self._deltas[commit] = Delta({})

    def _move(self, commit: str, delta: Delta, take: str | None) -> list[str]:
        before = self.content
        self.content, conflicts = delta.onto(before, take)
        self._deltas[commit] = Delta.between(before, self.content)
        return [f"{commit} is on main in spite of a conflict: {conflict}" for conflict in conflicts]


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
    begins: int = 0
    """Merged tasks of agents that had an answer for an earlier merge."""
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
    known = {commit.id: commit for commit in graph.commits()}
    places: dict[str, int] = {}
    merges: dict[str, str] = {}
    for place, commit in enumerate(line(graph)):
        places[commit.id] = place
        if commit.kind is CommitKind.MERGE:
            run = commit.provenance["run"]
            merges[run] = commit.id
            verdict.merged[run] += 1
            verdict.wrong += _replay(oracle, journaled[run], commit, known, places)
        elif commit.kind is CommitKind.REVERT:
            (undone,) = reverted_by(commit)
            verdict.reverted[known[undone].provenance["run"]] += 1
            verdict.wrong += oracle.revert(commit.id, undone)
        else:
            oracle.pass_by(commit.id)
            if commit.kind is not CommitKind.INIT and commit.actor != "owner":
                verdict.wrong.append(f"a commit of no task is on main: {commit}")
    for run, task in journaled.items():
        on, off = verdict.merged[run], verdict.reverted[run]
        verdict.wrong += [f"{rule}: {task}, {on}, {off}" for rule, holds in RULES.items() if not holds(task, on, off)]
        verdict.counts.update(task.answers or {"killed"})
        if on and task.after is not None:
            verdict.begins += 1
            if places[_base(known[merges[run]], known, places)[0]] < places.get(merges.get(task.after, ""), 0):
                verdict.wrong.append(f"{run} begins before the merge of {task.after}, which its agent knew")
    _compare(verdict, oracle.content, Content.of(graph))
    by_counter = _increments(journaled, verdict)
    for (type_, name), values in Content.of(graph).entities.items():
        if type_ == "Counter" and values["value"] != by_counter[name]:
            verdict.wrong.append(f"{name} is {values['value']} after {by_counter[name]} increments")
    return verdict


def _replay(
    oracle: Oracle, task: Journaled, merge: GraphCommit, known: Mapping[str, GraphCommit], places: Mapping[str, int]
) -> list[str]:
    base, own = _base(merge, known, places)
    strange = [f"{item} is on the branch of {task.run}" for item in own if item.provenance.get("run") != task.run]
    # Only the verbs of a graph settle conflicts.
    take = task.take if own[0].branch.startswith(VERB_BRANCHES) else None
    return strange + oracle.merge(merge.id, task, base, take)


def _base(
    merge: GraphCommit, known: Mapping[str, GraphCommit], places: Mapping[str, int]
) -> tuple[str, list[GraphCommit]]:
    """The commit of main at which the merged branch begins, and the commits of the branch, newest first."""
    own = []
    found = merge.parents[1]
    while found not in places:
        own.append(known[found])
        found = known[found].parents[0]
    return found, own


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
