"""The oracle of the fleet on schedules by hand: what it accepts, and what it must not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

import omnigraph
from omnigraph import Graph

pytest.importorskip("mcp")

from tests.promises.agents.crew import Death, Journal  # they need the extra
from tests.promises.agents.oracle import SCHEMA, Content, Delta, Verdict, judge
from tests.promises.agents.roads import READ, Record, VerbRoad


@dataclass
class Hand:
    """Agents that take one step at a time: what they do is on the graph and in their journals."""

    graph: Graph
    directory: Path
    _numbers: count[int] = field(default_factory=count)
    _journals: dict[str, Journal] = field(default_factory=dict)
    _roads: dict[str, VerbRoad] = field(default_factory=dict)

    def road(self, agent: str) -> tuple[VerbRoad, Journal]:
        if agent not in self._roads:
            self._journals[agent] = Journal(self.directory / f"{agent}.jsonl", Death(0))
            self._roads[agent] = VerbRoad(self.graph, agent, first=0)  # type: ignore[arg-type] # the same verbs
        return self._roads[agent], self._journals[agent]

    def start(self, agent: str) -> str:
        road, journal = self.road(agent)
        run = road.start()
        journal.add("start", run, number=next(self._numbers), name=run, kind="drop", take=None)
        return run

    def work(self, run: str, deletes: str | None = None, counter: str | None = None, increment: int = 1) -> None:
        road, journal = self.road(run.partition(".")[0])
        upserts: list[Record] = []
        for step in (1, 2):
            upserts.append({"type": "Trace", "data": {"name": f"{run}.{step}", "step": step}})
            upserts.append({"type": "About", "source": f"{run}.{step}", "target": "c0"})
        if counter is not None:
            value = road.read(run, READ, counter)[0]["value"] + increment
            upserts.append({"type": "Counter", "data": {"name": counter, "value": value, "last": run}})
        dropped = [] if deletes is None else [f"{deletes}.1", f"{deletes}.2"]
        journal.add("write", run, upserts=upserts, deletes=dropped)
        road.write(run, upserts, dropped)

    def finish(self, run: str) -> str:
        road, journal = self.road(run.partition(".")[0])
        journal.add("finish", run)
        status = road.finish(run, None)
        journal.add("finished", run, status=status)
        return status

    def task(self, agent: str, deletes: str | None = None, counter: str | None = None) -> str:
        run = self.start(agent)
        self.work(run, deletes, counter)
        assert self.finish(run) == "merged"
        return run

    def undo(self, run: str, *, is_answered: bool = True) -> None:
        road, journal = self.road(run.partition(".")[0])
        journal.add("undo", run)
        status = road.undo(run)
        assert status == "reverted"
        if is_answered:
            journal.add("undone", run, status=status)

    def close(self) -> None:
        for journal in self._journals.values():
            journal.close()

    def verdict(self) -> Verdict:
        return judge(self.graph, self.directory, ["c0", "c1"])


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[Hand]:
    graph = omnigraph.create(tmp_path / "kb.omni", SCHEMA, durability="os")
    graph.load([{"name": name, "value": 0} for name in ("c0", "c1")], type_name="Counter", actor="owner")
    (tmp_path / "journals").mkdir()
    found = Hand(graph, tmp_path / "journals")
    yield found
    found.close()


def _restored_meanwhile(hand: Hand) -> str:
    """A task deletes traces that do not exist at its base, and that an undo restores before it is merged."""
    first = hand.task("a1")
    dropping = hand.task("a1", deletes=first)
    again = hand.start("a1")
    hand.undo(dropping, is_answered=False)
    hand.work(again, deletes=first)
    assert hand.finish(again) == "merged"
    return first


def test_a_deletion_that_changed_nothing_on_its_branch_deletes_nothing_on_main(hand: Hand) -> None:
    first = _restored_meanwhile(hand)
    verdict = hand.verdict()
    assert verdict.wrong == []
    assert ("Trace", f"{first}.1") in Content.of(hand.graph).entities
    assert (sum(verdict.merged.values()), sum(verdict.reverted.values()), verdict.begins) == (3, 1, 2)


def test_a_restored_trace_that_is_lost_is_wrong(hand: Hand) -> None:
    first = _restored_meanwhile(hand)
    hand.graph.mutate(f'query q() {{ delete Trace where name = "{first}.1" }}', actor="owner")
    wrong = hand.verdict().wrong
    assert len(wrong) == 2
    assert any(f"('Trace', '{first}.1')" in line for line in wrong)
    assert any(f"('About', '{first}.1 c0')" in line for line in wrong)


def test_the_deletions_of_a_task_and_of_its_undo_are_those_of_main(hand: Hand) -> None:
    first, second = hand.task("a1", counter="c1"), hand.task("a2", counter="c1")
    hand.undo(second)
    dropping = hand.task("a1", deletes=first)
    hand.undo(dropping)
    hand.undo(first)
    assert hand.verdict().wrong == []
    assert Content.of(hand.graph).entities["Counter", "c1"]["value"] == 0


def test_a_branch_that_begins_before_a_merge_its_agent_knew_is_wrong(hand: Hand) -> None:
    early = hand.start("a1")
    hand.task("a2")
    late = hand.task("a1")
    hand.work(early)
    assert hand.finish(early) == "merged"
    assert hand.verdict().wrong == []
    path = hand.directory / "a1.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    # As if it had been started with the answer to the other task at hand.
    path.write_text("".join([*lines[1:5], lines[0], *lines[5:]]))
    assert hand.verdict().wrong == [f"{early} begins before the merge of {late}, which its agent knew"]


def test_a_value_that_was_not_read_at_the_base_is_wrong(hand: Hand) -> None:
    run = hand.start("a1")
    hand.work(run, counter="c1", increment=2)
    assert hand.finish(run) == "merged"
    assert any(line.startswith(f"{run} did not read 0 at its base") for line in hand.verdict().wrong)


def test_a_merge_over_a_conflict_is_wrong() -> None:
    counter = ("Counter", "c0")
    base, source, target = (Content({counter: {"value": value, "last": None}}) for value in (1, 2, 3))
    delta = Delta.between(base, source)
    assert delta.onto(base) == (source, [])
    assert delta.onto(source) == (source, [])
    assert [len(delta.onto(other)[1]) for other in (target, Content({}))] == [1, 1]
    assert delta.onto(target, "source") == (source, [])
    assert delta.onto(target, "target") == (target, [])
