"""The history of one entity: what a reader sees who compares it at every commit, for the cost of a few versions."""

from __future__ import annotations

import contextlib
import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.engine.explore.entity_history import EntityHistory, entity_history
from omnigraph.engine.explore.property_history import property_history
from omnigraph.errors import NotFoundError, ReadSetConflict, ViolationError
from omnigraph.storage.tables.lance_table import LanceTable
from omnigraph.storage.tables.store import Store
from tests.features.policy.teams import KNOWS, PEOPLE, SCHEMA, bundle

Seen = list[tuple[str, str, dict[str, tuple[Any, Any]]]]
NAMES = ("ann", "bob", "cleo", "dan", "eve")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = omnigraph.create(tmp_path / "g.omni", SCHEMA)
    people = [{"name": name, "team": team, "age": age, "salary": age} for name, team, age in PEOPLE]
    edges = [{"src": source, "dst": target, "since": since} for source, target, since in KNOWS]
    graph.load({"Person": people, "Knows": edges})
    return graph


def history_of(graph: Graph, kind: str, name: str, id_: str, branch: str = "main", limit: int = 1000) -> EntityHistory:
    return entity_history(graph.snapshot(branch), kind, name, id_, lambda commit: graph.snapshot(at=commit), limit)


def seen_by(history: EntityHistory) -> Seen:
    return [(step.commit.id, step.op.value, {n: (b, a) for n, b, a in step.values}) for step in history.steps]


class Oracle:
    """Histories by their definition: the rows at each commit beside those at its first parent."""

    def __init__(self, graph: Graph, kind: str, name: str, branch: str = "main") -> None:
        commits = {commit.id: commit for commit in graph.commits(branch)}
        line = [next(iter(commits.values()))]
        while line[-1].parents:
            line.append(commits[line[-1].parents[0]])
        self._states = [(commit.id, self._rows(graph, commit.id, kind, name)) for commit in line]

    def ids(self) -> list[str]:
        return sorted(self._states[0][1])

    def history(self, id_: str) -> Seen:
        found: Seen = []
        after = self._states[0][1][id_]
        for (commit, _), (_, earlier) in pairwise(self._states):
            before = earlier.get(id_)
            if before is None:
                shown = {n: (None, v) for n, v in after.items() if n != "id" and v is not None}
                return [*found, (commit, "insert", shown)]
            changed = {n: (before[n], after[n]) for n in after if before[n] != after[n]}
            if changed:
                found.append((commit, "update", changed))
            after = before
        raise AssertionError("the first commit of a graph is empty")

    def _rows(self, graph: Graph, commit_id: str, kind: str, name: str) -> dict[str, dict[str, Any]]:
        snapshot = graph.snapshot(at=commit_id)
        view = snapshot.nodes(name) if kind == "node" else snapshot.edges(name)
        shown = [column for column in view.columns if column != "photo"]
        return {row["id"]: row for row in view.select(*shown).to_dicts()}


def do_something(graph: Graph, chosen: random.Random, number: int) -> None:
    """One change of a random kind, on ``main`` or by way of a branch."""
    name, age = chosen.choice(NAMES), chosen.randrange(4)
    update = "query q($n: String, $a: I32) { update Person set {age: $a} where name = $n }"
    insert = "query q($n: String) { insert Person {name: $n} }"
    match chosen.randrange(10):
        case 0 | 1:
            graph.mutate(update, {"n": name, "a": age})
        case 2 | 3:
            graph.mutate(insert, {"n": f"p{number}"})
        case 4:
            graph.mutate("query q($n: String) { delete Person where name = $n }", {"n": name})
        case 5:
            rows = [{"name": name, "age": age, "team": chosen.choice(("red", "blue"))}, {"name": f"q{number}"}]
            graph.load({"Person": rows}, mode="upsert")
        case 6:
            graph.create_branch("side")
            graph.mutate(update, {"n": name, "a": age}, branch="side")
            graph.mutate(insert, {"n": f"s{number}"}, branch="side")
            if chosen.randrange(2):
                graph.mutate(insert, {"n": f"m{number}"})
            graph.merge("side")
            graph.delete_branch("side")
        case 7:
            graph.optimize()
        case 8:
            head = next(commit for commit in graph.commits() if commit.kind.value == "mutation" or not commit.parents)
            if head.parents:
                graph.revert(head.id, policy="target")
        case 9:
            graph.load({"Knows": [{"src": "ann", "dst": "ann", "since": age}]}, mode="append")


def assert_exact(graph: Graph, branch: str = "main") -> None:
    for kind, name in (("node", "Person"), ("edge", "Knows")):
        oracle = Oracle(graph, kind, name, branch)
        for id_ in oracle.ids():
            found = history_of(graph, kind, name, id_, branch)
            assert found.is_complete
            assert seen_by(found) == oracle.history(id_)


@pytest.mark.parametrize("seed", range(4))
def test_a_history_is_what_a_comparison_of_every_commit_gives(graph: Graph, seed: int) -> None:
    chosen = random.Random(seed)
    for number in range(30):
        # A person may be missing because an earlier step deleted it.
        with contextlib.suppress(NotFoundError, ViolationError):
            do_something(graph, chosen, number)
    assert_exact(graph)


def test_commits_that_were_staged_together_are_told_apart(graph: Graph) -> None:
    def write(number: int) -> None:
        graph.mutate("query q($n: String) { insert Person {name: $n} }", {"n": f"p{number}"})
        update = "query q($n: String, $a: I32) { update Person set {age: $a} where name = $n }"
        with contextlib.suppress(ReadSetConflict):
            graph.mutate(update, {"n": NAMES[number % 2], "a": number})

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(16)))
    assert_exact(graph)


@pytest.mark.parametrize("seed", range(2))
def test_an_actor_sees_the_history_of_what_data_rules_leave(graph: Graph, tmp_path: Path, seed: int) -> None:
    actor = omnigraph.open(graph.uri, policy=bundle(tmp_path / "policy"), actor="ann")
    chosen = random.Random(seed)
    move = "query q($n: String, $t: String) { update Person set {team: $t} where name = $n }"
    for number in range(25):
        with contextlib.suppress(NotFoundError, ViolationError):
            if number % 3:
                do_something(graph, chosen, number)
            else:
                graph.mutate(move, {"n": chosen.choice(NAMES), "t": chosen.choice(("red", "blue"))})
    assert_exact(actor)
    for step in history_of(actor, "node", "Person", actor.nodes("Person").to_dicts()[0]["id"]).steps:
        assert (step.commit.tables, step.commit.message) == ((), None)


def test_a_renamed_property_and_a_new_one_are_no_changes_of_an_entity(graph: Graph) -> None:
    text = graph.schema_text()
    graph.apply_schema(text.replace("bio: String?", 'about: String? @rename_from("bio")'))
    graph.apply_schema(text.replace("bio: String?", "about: String?  rank: I32?"))
    graph.mutate('query q() { update Person set {about: "tall"} where name = "ann" }')
    graph.apply_schema(text.replace("bio: String?", 'rank: I32?  note: String? @rename_from("about")'))
    steps = seen_by(history_of(graph, "node", "Person", "ann"))
    assert [(op, sorted(values)) for _, op, values in steps] == [
        ("update", ["note"]),
        ("insert", ["age", "name", "salary", "team"]),
    ]
    assert steps[0][2] == {"note": (None, "tall")}


def test_a_history_ends_where_cleanup_gave_up_and_at_its_limit(graph: Graph) -> None:
    for age in range(6):
        graph.mutate('query q($a: I32) { update Person set {age: $a} where name = "ann" }', {"a": age})
    whole = history_of(graph, "node", "Person", "ann")
    assert (len(whole.steps), whole.is_complete) == (7, True)
    assert len(history_of(graph, "node", "Person", "ann", limit=2).steps) == 2
    graph.cleanup(keep=3)
    left = history_of(graph, "node", "Person", "ann")
    assert (left.steps, left.is_complete) == (whole.steps[:2], False)


class Opened:
    """The versions of tables that a store opens, and the reads of rows."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.versions: list[tuple[str, int]] = []
        self.scans = 0
        open_own, scan = Store.open_own, LanceTable.scan

        def opening(store: Store, location: str, version: int, **options: Any) -> Any:
            self.versions.append((location, version))
            return open_own(store, location, version, **options)

        def scanning(*given: Any) -> Any:
            self.scans += 1
            return scan(*given)

        patch.setattr(Store, "open_own", opening)
        patch.setattr(LanceTable, "scan", scanning)


@pytest.mark.parametrize(
    ("text", "versions_max", "scans_max"),
    [
        ("query q($n: String) { insert City {name: $n} }", 2, 2),
        ("query q($n: String) { insert Person {name: $n} }", 24, 4),
        ('query q($n: String) { update Person set {bio: $n} where name = "bob" }', 14, 6),
    ],
    ids=["commits of other types", "insertions", "changes of another entity"],
)
def test_a_history_opens_versions_of_its_table_alone_and_reads_few_rows(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, text: str, versions_max: int, scans_max: int
) -> None:
    for number in range(60):
        graph.mutate(text, {"n": f"n{number}"})
    fresh = omnigraph.open(graph.uri)
    snapshot = fresh.snapshot()
    opened = Opened(monkeypatch)
    found = property_history(snapshot, "node", "Person", "ann", lambda commit: fresh.snapshot(at=commit))
    assert found.is_complete
    tables = [version for version in opened.versions if version[0].startswith("nodes/")]
    assert len({location for location, _ in tables}) == 1
    assert len(tables) <= versions_max
    assert opened.scans <= scans_max
