"""Every reader of an older commit names cleanup as the reason when the commit was given up, never damage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

import omnigraph
from omnigraph.core.commit import GraphCommit
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import ChangeFeedGap, HistoryCleaned, OmnigraphError
from tests.features.cli.run import run as command
from tests.promises.cleanup.graphs import Hands, root
from tests.promises.protocol.graphs import create, insert, person, reopen

QUERY = "query q() { match { $p: Person } return { $p.name } }"


@dataclass(frozen=True)
class Cleaned:
    """A graph with a commit that cleanup has given up, and a snapshot that was taken of it before."""

    graph: omnigraph.Graph
    old: GraphCommit
    held: Snapshot

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.old.created_at_us / 1e6, UTC)

    @property
    def text(self) -> str:
        return self.moment.isoformat()


Read = Callable[[Cleaned], object]
READERS: dict[str, Read] = {
    "snapshot of a commit": lambda on: on.graph.snapshot(at=on.old.id),
    "snapshot of a time": lambda on: on.graph.snapshot(at=on.moment),
    "snapshot of a written time": lambda on: on.graph.snapshot("main", at=on.text),
    "moment of a commit": lambda on: on.graph.moment(on.old.id),
    "moment of a time": lambda on: on.graph.moment(on.moment),
    "moment of a written time": lambda on: on.graph.moment(on.text),
    "diff from a commit": lambda on: on.graph.diff(on.old.id),
    "diff to a commit": lambda on: on.graph.diff("main", on.old.id),
    "diff from a time": lambda on: on.graph.diff(on.moment),
    "diff from a written time": lambda on: on.graph.diff(on.text),
    "query": lambda on: on.graph.query(QUERY, at=on.old.id),
    "query at a time": lambda on: on.graph.query(QUERY, at=on.moment),
    "sql": lambda on: on.graph.sql("select * from Person", at=on.old.id),
    "explain": lambda on: on.graph.explain(QUERY, at=on.old.id),
    "export": lambda on: list(on.graph.export(at=on.old.id)),
    "export at a time": lambda on: list(on.graph.export(at=on.text)),
    "blob": lambda on: on.graph.read_blob("node", "Person", "a", "photo", at=on.old.id),
    "analysis": lambda on: on.graph.analyze.pagerank("Knows", at=on.old.id),
    "branch": lambda on: on.graph.create_branch("late", at=on.old.id),
    "changes of a commit": lambda on: on.graph.commit_changes(on.old.id),
    "revert of a commit": lambda on: on.graph.revert(on.old.id),
    "revert of a range": lambda on: on.graph.revert(f"{on.old.id}..{on.graph.snapshot().commit_id}"),
    "preview of a revert": lambda on: on.graph.revert_preview(on.old.id),
}
GONE_READERS: dict[str, Read] = {
    "diff from a snapshot": lambda on: on.graph.diff(on.held),
    "diff to a snapshot": lambda on: on.graph.diff("main", on.held),
    "moment of a snapshot": lambda on: on.graph.moment(on.held),
}


@pytest.fixture
def make(tmp_path: Path, hands: Hands) -> Callable[[str], Cleaned]:
    def made(grace: str) -> Cleaned:
        schema = "node Person { name: String @key\n photo: Blob? }\nedge Knows: Person -> Person"
        graph = create(tmp_path, schema, clock=hands)
        old = insert(graph, "a").commit
        held = graph.snapshot()
        for name in "bcd":
            hands.turn(1)
            graph.load([person(name)], "overwrite")
        graph.cleanup(keep=1, grace=grace)
        return Cleaned(graph, old, held)

    return made


@pytest.mark.parametrize("grace", ["24h", "0s"], ids=["given_up", "gone"])
def test_every_reader_of_a_cleaned_commit_says_so(make: Callable[[str], Cleaned], grace: str) -> None:
    warm = make(grace)
    cold = Cleaned(reopen(warm.graph), warm.old, warm.held)
    readers = READERS | (GONE_READERS if grace == "0s" else {})
    said = {name: _code(read, on) for on in (warm, cold) for name, read in readers.items()}
    assert {name: code for name, code in said.items() if code != HistoryCleaned.code} == {}
    assert [info.name for info in warm.graph.branches()] == ["main"]


def _code(read: Read, on: Cleaned) -> str:
    try:
        read(on)
    except OmnigraphError as error:
        return error.code
    return "nothing was refused"


@pytest.mark.parametrize("grace", ["24h", "0s"], ids=["given_up", "gone"])
def test_a_feed_from_a_cleaned_commit_has_a_gap(make: Callable[[str], Cleaned], grace: str) -> None:
    on = make(grace)
    for since in ("beginning", f"after:{on.old.id}"):
        with pytest.raises(ChangeFeedGap) as caught:
            on.graph.changes(since)
        assert isinstance(caught.value.__cause__, HistoryCleaned)


@pytest.mark.parametrize("grace", ["24h", "0s"], ids=["given_up", "gone"])
def test_every_command_about_a_cleaned_commit_says_so(make: Callable[[str], Cleaned], grace: str) -> None:
    on = make(grace)
    for arguments in (
        ("diff", on.old.id),
        ("diff", "main", on.old.id),
        ("diff", on.text),
        ("commit", "changes", on.old.id),
        ("revert", on.old.id),
        ("branch", "create", "late", "--at", on.old.id),
        ("snapshot", "--at", on.old.id),
        ("snapshot", "--at", on.text),
        ("export", "--at", on.old.id),
        ("sql", "select * from Person", "--at", on.old.id),
    ):
        result = command(*arguments, "--store", root(on.graph))
        assert result.exit_code == 1, (arguments, result.output)
        assert "was given up by cleanup" in result.stderr, (arguments, result.output)


def test_branches_that_share_only_cleaned_commits_still_merge(make: Callable[[str], Cleaned], hands: Hands) -> None:
    on = make("0s")
    on.graph.create_branch("b")
    for name in "efg":
        hands.turn(1)
        insert(on.graph, name, branch="b")
        insert(on.graph, name + name)
    on.graph.cleanup(keep=1, grace="0s")
    on.graph.merge("b")
    names = {row["p.name"] for row in on.graph.query(QUERY)}
    assert names == {"d", "e", "f", "g", "ee", "ff", "gg"}
