"""Moments: every form names the same commit in Python and on the command line, wherever a moment is taken."""

import json
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import CursorRejected, NotFoundError, UsageError
from tests.features.cli.run import run

SCHEMA = "node Person { name: String @key }\n"
ADD = "query add($name: String) { insert Person {name: $name} }"
DAY_US = 86_400_000_000
START_US = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z."""


class DailyClock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.time_us = START_US

    def now_us(self) -> int:
        return self.time_us


class History:
    """One commit a day: the first on January 1st, the last a minute ago. Older ones are in the commit log."""

    def __init__(self, root: Path) -> None:
        clock = DailyClock()
        self.root = root
        self.graph = omnigraph.create(
            root, SCHEMA, clock=clock, durability="os", tuning=omnigraph.Tuning(recent_commits_max=3)
        )
        self.ids = [self.graph.commit("HEAD").id]
        for number in range(1, 10):
            clock.time_us += DAY_US
            self.graph.mutate(ADD, {"name": f"p{number}"})
            self.ids.append(self.graph.commit("HEAD").id)
        clock.time_us += 60_000_000
        self.graph.create_branch("side", "main~1")
        self.graph.mutate(ADD, {"name": "s"}, branch="side")
        # Names that look like other forms.
        for name, moment in (("2026-01-05", "main~9"), ("HEAD", "main~8"), (self.ids[5][:12], "main~7")):
            self.graph.create_branch(name, moment)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return History(tmp_path_factory.mktemp("moments") / "g")


FORMS = [
    ("main", 9),
    ("@", 9),
    ("main~", 8),
    ("main~2", 7),
    ("main^^", 7),
    ("main~9", 0),
    ("@~4", 5),
    ("side~1", 8),
    ("main@{now}", 9),
    ("@{yesterday}", 8),
    ("main@{2 days ago}", 7),
    ("main@{last week}", 2),
    ("main@{2026-01-04}", 3),
    ("main@{2026-01-04T12:00:00Z}", 3),
    ("main@{2026-01-04T12:00:00+14:00}", 2),
    ("main@{2026-01-04}~2", 1),
    ("2026-01-04T00:00:00Z", 3),
    ("2026-01-04", 3),
    ("yesterday", 8),
    # Branches win over a time, a head and a prefix of the same name.
    ("2026-01-05", 0),
    ("HEAD", 1),
]


@pytest.mark.parametrize(("form", "number"), FORMS)
def test_every_form_finds_its_commit(history: History, form: str, number: int) -> None:
    assert history.graph.commit(form).id == history.ids[number]
    assert history.graph.snapshot(at=form).commit_id == history.ids[number]
    assert history.graph.moment(form).counts() == {"node:Person": number}


def test_a_commit_is_found_by_the_beginning_of_its_id(history: History) -> None:
    for number in (2, 8, 9):
        assert history.graph.commit(history.ids[number][:10]).id == history.ids[number]
        assert history.graph.commit(f"{history.ids[number][:11].lower()}~2").id == history.ids[number - 2]
    assert history.graph.commit(history.ids[5][:12]).id == history.ids[2], "the branch of that name wins"


def test_a_beginning_of_several_ids_is_refused_with_the_candidates(history: History) -> None:
    with pytest.raises(UsageError, match="is ambiguous") as refused:
        history.graph.commit(history.ids[0][:4])
    assert refused.value.hint is not None
    assert sum(commit_id in refused.value.hint for commit_id in history.ids) >= 2


@pytest.mark.parametrize(
    ("form", "message", "hint"),
    [
        ("mian", "'mian'", "did you mean `main`?"),
        ("mian~2", "'mian~2'", "did you mean `main`?"),
        ("01", "'01'", "at least 4 characters"),
        ("main~10", "goes back further", "the first commit is"),
        ("main^2", "parent 2", "a merge has two parents"),
        ("main@{2025-01-01}", "no commit as old as", "its first commit is"),
        ("nobody@{now}", "no branch 'nobody'", "graph.branches()"),
        ("main@{3}", "is no time", "main~3"),
    ],
)
def test_a_moment_that_does_not_exist_is_refused_with_the_nearest(
    history: History, form: str, message: str, hint: str
) -> None:
    with pytest.raises((NotFoundError, UsageError)) as refused:
        history.graph.query("query q() { match { $p: Person } return { $p.name } }", at=form)
    assert message in refused.value.message
    assert refused.value.hint is not None
    assert hint in refused.value.hint


def test_an_unknown_id_is_refused_with_a_similar_one(history: History) -> None:
    near = history.ids[9]
    with pytest.raises(NotFoundError, match="there is no commit") as refused:
        history.graph.commit(f"{near[:-1]}{'0' if near[-1] != '0' else '1'}")
    assert refused.value.hint == f"did you mean `{near}`?"


def test_head_is_the_head_of_the_branch_in_context(history: History) -> None:
    graph = history.graph
    assert graph.snapshot("side", at="HEAD~1").commit_id == history.ids[8]
    assert graph.snapshot("side", at="@{yesterday}").commit_id == history.ids[8]
    assert graph.snapshot("side", at="2026-01-05").commit_id == history.ids[4], "with a branch it is a time"
    with pytest.raises(UsageError, match="does not depend on a branch"):
        graph.snapshot("side", at="main~1")
    with pytest.raises(UsageError, match="is not a branch name") as refused:
        graph.snapshot("main~1")
    assert refused.value.hint == "a moment is given as at=, without a branch"


def test_every_place_takes_moments(history: History) -> None:
    graph, ids = history.graph, history.ids
    assert len(graph.diff("main~2..main")) == len(graph.diff("main~2")) == len(graph.diff("main~2", "main")) == 2
    with pytest.raises(UsageError, match="has its own end"):
        graph.diff("main~2..main", "side")
    assert len(graph.changes("after:main~3")) == 3
    with pytest.raises(CursorRejected, match="no commit 'nothing'"):
        graph.changes("after:nothing")
    assert graph.commit_changes("main~1").block.commit.id == ids[8]
    assert graph.revert_preview("main~1").reverted == (ids[8],)
    assert graph.revert_preview("main~3..main~1").reverted == (ids[8], ids[7])
    assert graph.revert_preview(since="2 days ago").reverted == (ids[9], ids[8])
    assert graph.create_branch("at-a-time", at="2026-01-04T00:00:00Z").head == ids[3]
    assert graph.create_branch("of-side", "side", at="@~1").head == ids[8]
    assert graph.sql("select count(*) as n from Person", at="main~4").to_pylist() == [{"n": 5}]
    assert b"".join(graph.export(at="main~4")).count(b"\n") == 5


def test_the_command_line_takes_the_same_forms(history: History) -> None:
    graph, ids = history.root, history.ids
    query = "query q() { match { $p: Person } return { count($p) as n } }"
    assert json.loads(run("commit", "show", "main~2", "--store", graph, "--json").stdout)["graph_commit_id"] == ids[7]
    assert run("export", graph, "--at", ids[2][:10]).stdout.count("\n") == 2
    assert "2" in run("query", "--store", graph, "-e", query, "--at", "main~7").stdout
    assert run("diff", "main~2..main", "--store", graph, "--summary").stdout.split()[-3:] == ["2", "0", "0"]
    assert run("branch", "create", "cli", "--from", "main~3", "--store", graph).stdout.endswith(f"{ids[6]}\n")
    assert run("explain", "--store", graph, "-e", query, "--at", "main~7").stdout.count("2 rows") >= 1
    assert run("sql", "--store", graph, "select count(*) as n from Person", "--at", "main~7").exit_code == 0
    refused = run("snapshot", graph, "--at", ids[0][:4])
    assert refused.exit_code == 2
    assert "is ambiguous" in refused.stderr
