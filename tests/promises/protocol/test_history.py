"""Time travel, the commit list and idempotency keys, near the head and long after the commits were spilled."""

from datetime import UTC, datetime, timedelta

import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.errors import NotFoundError, UsageError
from tests.promises.protocol.graphs import insert, names, person, reopen, run

RECENT_COMMITS_MAX = Tuning().recent_commits_max


def _at(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[omnigraph.Graph, list[str]]:
    """A graph with more than three spills behind it, and its commits in order."""
    from tests.promises.protocol.graphs import create

    graph = create(tmp_path_factory.mktemp("grown"))
    commits = [graph.snapshot().commit_id]
    for number in range(210):
        key = f"key-{number}" if number % 10 == 0 else None
        actor = "ann" if number % 7 == 0 else "bob"
        commits.append(insert(graph, f"p{number:03}", actor=actor, idempotency_key=key).commit.id)
    return graph, commits


def test_every_commit_can_be_read_again_by_its_id(grown: tuple[omnigraph.Graph, list[str]]) -> None:
    graph, commits = grown
    cold = reopen(graph)
    for number, commit in list(enumerate(commits))[::13]:
        snapshot = cold.snapshot(at=commit)
        assert snapshot.commit_id == commit
        assert names(snapshot) == [f"p{n:03}" for n in range(number)]


def test_every_commit_can_be_read_again_by_its_time(grown: tuple[omnigraph.Graph, list[str]]) -> None:
    graph, _ = grown
    for commit in list(graph.commits())[::23]:
        for moment in (_at(commit.created_at_us), _at(commit.created_at_us).isoformat(timespec="milliseconds")):
            assert graph.snapshot(at=moment).commit_id == commit.id
        before = _at(commit.created_at_us - 1)
        if commit.parents:
            assert graph.snapshot(at=before).commit_id == commit.parents[0]
        else:
            with pytest.raises(NotFoundError, match="no commit as old"):
                graph.snapshot(at=before)


def test_the_list_has_every_commit_once_newest_first(grown: tuple[omnigraph.Graph, list[str]]) -> None:
    graph, commits = grown
    listed = list(graph.commits())
    assert [commit.id for commit in listed] == commits[::-1]
    assert [commit.parents for commit in listed[:-1]] == [(parent,) for parent in commits[-2::-1]]
    assert [commit.manifest.counter for commit in listed] == list(range(len(commits), 0, -1))
    assert len(graph.snapshot().state.commits) <= RECENT_COMMITS_MAX + 1


def test_the_list_can_be_cut_and_filtered(grown: tuple[omnigraph.Graph, list[str]]) -> None:
    graph, commits = grown
    assert [commit.id for commit in graph.commits(limit=3)] == commits[:-4:-1]
    assert list(graph.commits(limit=0)) == []
    assert len(list(graph.commits(actor="ann"))) == 30
    assert len(list(graph.commits(actor="ann", limit=4))) == 4
    assert [commit.kind.value for commit in graph.commits(kind="init")] == ["init"]
    assert [commit.id for commit in graph.commits(idempotency_key="key-200")] == [commits[201]]
    assert list(graph.commits(actor="ann", kind="load")) == []
    assert list(graph.commits(tool="unknown")) == []


def test_a_repeated_key_returns_the_first_commit_however_old_it_is(grown: tuple[omnigraph.Graph, list[str]]) -> None:
    graph, commits = grown
    for handle in (graph, reopen(graph)):
        for number in (0, 100, 200):
            result = insert(handle, "never", idempotency_key=f"key-{number}")
            assert result.commit.id == commits[number + 1]
            assert handle.load([person("never")], idempotency_key=f"key-{number}").repeated
    assert "never" not in names(graph)
    assert graph.snapshot().commit_id == commits[-1]


def test_a_commit_is_found_by_its_id_on_whatever_branch_it_is(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    made = insert(graph, "a", branch="review").commit
    assert reopen(graph).commit(made.id) == made
    assert names(graph.snapshot(at=made.id)) == ["a"]


def test_what_does_not_exist_is_not_found(graph: omnigraph.Graph) -> None:
    for call in (lambda: graph.commit("01ARZ3NDEKTSV4RRFFQ69G5FAV"), lambda: graph.snapshot(at="nonsense")):
        with pytest.raises(NotFoundError, match="no commit"):
            call()


def test_a_commit_is_named_without_a_branch(graph: omnigraph.Graph) -> None:
    with pytest.raises(UsageError):
        graph.snapshot("main", at=graph.snapshot().commit_id)


def test_a_snapshot_never_changes(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    kept = graph.snapshot()
    run(graph, 'delete Person where name = "a" insert Person {name: "b"}')
    assert names(kept) == ["a"]
    assert kept.counts()["node:Person"] == 1


def test_a_load_can_be_told_from_a_mutation(graph: omnigraph.Graph) -> None:
    graph.load([person("a")], actor="ann", message="import", provenance={"run": "7"})
    insert(graph, "b")
    assert [commit.kind.value for commit in graph.commits()] == ["mutation", "load", "init"]
    [loaded] = graph.commits(run="7")
    assert (loaded.actor, loaded.message) == ("ann", "import")
