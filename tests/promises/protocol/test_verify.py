"""Verify finds whatever is missing or damaged, and names the commits that are hurt."""

import os
from pathlib import Path

import pytest

import omnigraph
from tests.promises.protocol.graphs import edge, insert, person, reopen, run


@pytest.fixture
def grown(graph: omnigraph.Graph) -> tuple[omnigraph.Graph, list[str]]:
    """A graph whose second commit's data file is needed by the third and not by the fourth."""
    commits = [graph.snapshot().commit_id]
    commits.append(graph.load([person(f"p{number}") for number in range(300)]).commit.id)
    commits.append(run(graph, 'insert Note {text: "x"}').commit.id)
    commits.append(graph.load([person("only")], "overwrite").commit.id)
    return graph, commits


def _data_file(graph: omnigraph.Graph, commit: str) -> Path:
    [record] = [record for record in graph.commit(commit).files if "/data/" in record.path]
    return Path(graph.uri, record.path)


def test_a_sound_graph_is_clean_and_everything_was_looked_at(grown: tuple[omnigraph.Graph, list[str]]) -> None:
    graph, commits = grown
    seen: list[int] = []
    report = graph.verify(progress=seen.append)
    assert report.is_clean
    assert report.commits == len(commits)
    assert seen[-1] == report.files > 8
    assert report.bytes > 0
    assert graph.verify(deep=False).is_clean


@pytest.mark.parametrize("deep", [False, True])
def test_a_missing_file_is_named_with_the_commits_it_hurts(
    grown: tuple[omnigraph.Graph, list[str]], deep: bool
) -> None:
    graph, commits = grown
    file = _data_file(graph, commits[1])
    file.unlink()
    [problem] = reopen(graph).verify(deep=deep).problems
    assert problem.path == str(file.relative_to(graph.uri))
    assert "missing" in problem.what
    assert problem.commits == (tuple(commits[1:3]) if deep else (commits[1],))


def test_a_truncated_file_is_found_without_reading_it(grown: tuple[omnigraph.Graph, list[str]]) -> None:
    graph, commits = grown
    file = _data_file(graph, commits[3])
    os.truncate(file, file.stat().st_size - 1)
    [problem] = reopen(graph).verify(deep=False).problems
    assert "bytes" in problem.what
    assert commits[3] in problem.commits


def test_a_flipped_bit_is_found(grown: tuple[omnigraph.Graph, list[str]]) -> None:
    graph, commits = grown
    file = _data_file(graph, commits[1])
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)
    assert graph.verify(deep=False).is_clean
    [problem] = graph.verify().problems
    assert "checksum" in problem.what
    assert problem.commits == tuple(commits[1:3])


@pytest.mark.parametrize(
    "pattern",
    ["nodes/*/_versions/*.manifest", "__manifest/_versions/*.manifest", "__manifest/data/*", "schemas/*.json"],
)
def test_no_file_that_a_commit_needs_can_vanish_unseen(grown: tuple[omnigraph.Graph, list[str]], pattern: str) -> None:
    graph, _ = grown
    root = Path(graph.uri)
    # The newest manifest stays: without it there is no branch to look at.
    newest = min((root / "__manifest/_versions").glob("*.manifest"))
    latest_data = max((root / "__manifest/data").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    files = [file for file in sorted(root.glob(pattern)) if file not in (newest, latest_data)]
    assert files
    for file in files:
        content = file.read_bytes()
        file.unlink()
        report = reopen(graph).verify()
        file.write_bytes(content)
        assert not report.is_clean, file
        assert all(problem.commits for problem in report.problems)
    assert reopen(graph).verify().is_clean


def test_a_damaged_branch_is_named_and_the_others_are_checked(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    commit = insert(graph, "a", branch="review").commit
    _data_file(graph, commit.id).unlink()
    [problem] = reopen(graph).verify().problems
    assert problem.commits == (commit.id,)


def test_entities_that_do_not_fit_together_are_found(graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.load([person("a"), person("b"), edge("Knows", "a", "b")])
    graph.create_branch("sound")
    for check in ("check_delta", "_refuse_existing"):
        monkeypatch.setattr(f"omnigraph.write.load.plan.{check}", lambda *_: None)
    graph.load([person("a")], "append")
    graph.load([edge("Knows", "b", "nobody"), edge("Knows", "gone", "a"), edge("Knows", "b", "nowhere")])
    assert graph.verify(deep=False).is_clean
    report = graph.verify()
    told = sorted((problem.path.split("/")[0], problem.what.split(",")[0]) for problem in report.problems)
    assert told == [
        ("edges", "has 1 edges Knows with a missing src node"),
        ("edges", "has 2 edges Knows with a missing dst node"),
        ("nodes", "has 1 duplicate ids of Person"),
    ]
    assert {problem.commits for problem in report.problems} == {(graph.snapshot().commit_id,)}
