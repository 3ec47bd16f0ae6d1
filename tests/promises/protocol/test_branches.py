"""Branches: cheap copies of a state under a name, each with its own history from there on."""

import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.errors import AlreadyExistsError, NotFoundError, UsageError
from tests.promises.protocol.graphs import insert, names, reopen, run

RECENT_COMMITS_MAX = Tuning().recent_commits_max


def _branches(graph: omnigraph.Graph) -> list[str]:
    return [branch.name for branch in graph.branches()]


def test_a_branch_starts_where_its_parent_is_and_goes_its_own_way(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    head = graph.snapshot().commit_id
    info = graph.create_branch("review", actor="ann")
    assert (info.head, info.parent_commit, info.actor) == (head, head, "ann")
    insert(graph, "on-main")
    insert(graph, "on-review", branch="review")
    assert names(graph) == ["a", "on-main"]
    assert names(graph.snapshot("review")) == ["a", "on-review"]
    assert names(reopen(graph).snapshot("review")) == ["a", "on-review"]


def test_a_branch_can_start_at_any_branch_and_any_commit(graph: omnigraph.Graph) -> None:
    first = insert(graph, "a").commit.id
    insert(graph, "b")
    graph.create_branch("from-commit", at=first)
    assert names(graph.snapshot("from-commit")) == ["a"]
    insert(graph, "c", branch="from-commit")
    graph.create_branch("from-branch", "from-commit")
    assert names(graph.snapshot("from-branch")) == ["a", "c"]
    assert [commit.message for commit in graph.commits("from-branch")] == [None, None, "create the graph"]


def test_branches_are_listed_main_first_then_by_name(graph: omnigraph.Graph) -> None:
    for name in ("b", "a/2", "a/1", "Ü".encode().hex()):
        graph.create_branch(name)
    assert _branches(graph) == ["main", "a/1", "a/2", "b", "c39c"]


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "/a", "a/", "a//b", "a..b", "a.lock", "__x", "ä", "a\n", "x" * 300, "../up", "a\\b"]
)
def test_a_bad_name_is_refused(graph: omnigraph.Graph, name: str) -> None:
    if name.strip() == "a":
        assert graph.create_branch(name).name == "a"
        return
    with pytest.raises(UsageError, match="not a branch name"):
        graph.create_branch(name)
    assert _branches(graph) == ["main"]


def test_a_name_is_taken_once(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    insert(graph, "a", branch="review")
    for name in ("review", "main"):
        with pytest.raises(AlreadyExistsError):
            graph.create_branch(name)
    assert names(graph.snapshot("review")) == ["a"]


def test_a_missing_branch_is_an_error_with_the_nearest_name(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    calls = [
        lambda: graph.snapshot("reviw"),
        lambda: insert(graph, "a", branch="reviw"),
        lambda: graph.delete_branch("reviw"),
        lambda: graph.rename_branch("reviw", "x"),
        lambda: graph.create_branch("x", "reviw"),
        lambda: list(graph.commits("reviw")),
    ]
    for call in calls:
        with pytest.raises(NotFoundError, match="reviw") as refused:
            call()
        assert "review" in (refused.value.hint or "")


def test_a_deleted_branch_is_gone_for_every_handle_and_its_children_stay(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    insert(graph, "a", branch="review")
    graph.create_branch("child", "review")
    other = reopen(graph)
    insert(other, "b", branch="review")
    graph.delete_branch("review")
    with pytest.raises(NotFoundError):
        insert(other, "c", branch="review")
    assert names(other.snapshot("child")) == ["a"]
    insert(other, "d", branch="child")
    assert graph.verify().is_clean


def test_main_cannot_be_deleted_or_renamed(graph: omnigraph.Graph) -> None:
    for call in (lambda: graph.delete_branch("main"), lambda: graph.rename_branch("main", "trunk")):
        with pytest.raises(UsageError, match="main"):
            call()


def test_a_name_used_again_is_another_branch(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    commit = insert(graph, "old", branch="review").commit
    other = reopen(graph)
    insert(other, "older", branch="review")
    graph.delete_branch("review")
    graph.create_branch("review")
    assert names(graph.snapshot("review")) == names(other.snapshot("review")) == []
    insert(other, "new", branch="review")
    assert names(graph.snapshot("review")) == ["new"]
    with pytest.raises(NotFoundError):
        graph.commit(commit.id)


def test_a_renamed_branch_keeps_everything_but_its_name(graph: omnigraph.Graph) -> None:
    graph.create_branch("draft")
    head = insert(graph, "a", branch="draft").commit.id
    graph.rename_branch("draft", "final")
    assert _branches(graph) == ["main", "final"]
    assert graph.snapshot("final").commit_id == head
    insert(reopen(graph), "b", branch="final")
    assert names(graph.snapshot("final")) == ["a", "b"]
    graph.create_branch("draft")
    with pytest.raises(AlreadyExistsError):
        graph.rename_branch("draft", "final")
    assert _branches(graph) == ["main", "draft", "final"]


def test_the_log_of_a_branch_holds_each_commit_once_after_its_spill(graph: omnigraph.Graph) -> None:
    for number in range(RECENT_COMMITS_MAX - 4):
        insert(graph, f"m{number}")
    graph.create_branch("review")
    before = [commit.id for commit in graph.commits("review")]
    mine = [insert(graph, f"r{number}", branch="review").commit.id for number in range(10)]
    assert [commit.id for commit in graph.commits("review")] == [*reversed(mine), *before]
    assert [commit.id for commit in graph.commits()] == before
    for number, commit in enumerate(mine):
        assert graph.snapshot(at=commit).counts()["node:Person"] == RECENT_COMMITS_MAX - 4 + number + 1
    assert graph.snapshot(at=before[0]).counts()["node:Person"] == RECENT_COMMITS_MAX - 4


def test_a_delete_on_a_branch_leaves_its_parent_alone(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    graph.create_branch("review")
    run(graph, 'delete Person where name = "a"', branch="review")
    assert (names(graph), names(graph.snapshot("review"))) == (["a"], [])
