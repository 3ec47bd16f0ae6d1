"""The length of a history changes neither the cost of the next commit nor that of a look into the past."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.manifest import commit_log
from tests.promises.cost.counting import PERSON, SCHEMA, Counted, fragments, grow
from tests.support.faults.s3 import Bucket, Server

RECENT_COMMITS_MAX = Tuning().recent_commits_max

LONG_ID = "k" * 100
"""Makes the body of a commit so long that the manifest passes every threshold of Lance before its spill."""


def _manifest_bytes(graph: omnigraph.Graph) -> int:
    """Size of the data of the newest manifest."""
    state = graph._manifests.warm(graph.id)
    dataset = graph._store.open(graph._manifests.location(graph.id), state.version)
    return sum(file.file_size_bytes for part in dataset.get_fragments() for file in part.metadata.files)


def _log_fragments(graph: omnigraph.Graph) -> int:
    pin = graph._manifests.warm(graph.id).log
    assert pin is not None
    return len(graph._store.open(pin.location, pin.lance_version).get_fragments())


def _check_history(graph: omnigraph.Graph) -> None:
    """Every commit once, each before its parents."""
    commits = list(graph.commits())
    position = {commit.id: number for number, commit in enumerate(commits)}
    assert len(position) == len(commits)
    assert all(position[parent] > position[commit.id] for commit in commits for parent in commit.parents)


def test_no_commit_pays_for_compressing_the_manifest(tmp_path: Path) -> None:
    """Compression starts at a size, halves the file at once, and made one commit in four twice as expensive."""
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    sizes = []
    for number in range(RECENT_COMMITS_MAX - 1):
        graph.mutate(PERSON, {"n": f"p{number}"}, message=LONG_ID)
        sizes.append(_manifest_bytes(graph))
    steps = [after - before for before, after in pairwise(sizes)]
    assert sizes[-1] > 40_000
    assert min(steps) > 0
    assert max(steps) < 4 * min(steps)


def test_the_commit_log_keeps_few_fragments_and_its_order(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=Tuning(recent_commits_max=2))
    seen = []
    for number in range(60):
        if number % 20 == 7:
            # A merge brings many commits at once: a large fragment comes after small ones.
            name = f"b{number}"
            graph.create_branch(name)
            for row in range(9):
                graph.mutate(PERSON, {"n": f"{name}-{row}"}, branch=name)
            graph.merge(name)
        graph.mutate(PERSON, {"n": f"p{number}"})
        seen.append(_log_fragments(graph))
    assert max(seen) <= 6
    _check_history(graph)
    assert graph.verify(deep=True).is_clean


def _per_cycle(graph: omnigraph.Graph, start: int) -> Counter[str]:
    """Sizes summed over one whole cycle of spills: within it the manifest grows and shrinks again."""
    total: Counter[str] = Counter()
    for number in range(start, start + RECENT_COMMITS_MAX):
        graph.mutate(PERSON, {"n": f"p{number}"})
        total["manifest bytes"] += _manifest_bytes(graph)
        total["fragments"] += fragments(graph)
        total["log fragments"] = max(total["log fragments"], _log_fragments(graph))
    return total


@pytest.mark.parametrize("commits", [256, pytest.param(3_072, marks=pytest.mark.long)])
def test_thousands_of_commits_leave_the_next_one_as_cheap(tmp_path: Path, commits: int) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    grow(graph, RECENT_COMMITS_MAX)
    first = _per_cycle(graph, RECENT_COMMITS_MAX)
    grow(graph, commits - 3 * RECENT_COMMITS_MAX, start=2 * RECENT_COMMITS_MAX)
    last = _per_cycle(graph, commits - RECENT_COMMITS_MAX)
    assert last["manifest bytes"] <= 1.05 * first["manifest bytes"]
    assert last["fragments"] <= 1.25 * first["fragments"]
    assert last["log fragments"] <= 6


@pytest.mark.s3
def test_looking_a_commit_up_asks_as_little_of_a_long_history(s3_server: Server, s3_bucket: Bucket) -> None:
    counted = Counted(s3_server, s3_bucket, Tuning(recent_commits_max=1))
    graph = counted.create()
    [first] = graph.commits()
    grow(graph, 3)
    few = len(counted.requests(lambda: counted.open().commit(first.id)))
    grow(graph, 42, start=3)
    many = len(counted.requests(lambda: counted.open().commit(first.id)))
    assert many <= 2 * few


@pytest.mark.s3
def test_the_beginning_of_an_id_is_found_without_reading_the_history(s3_server: Server, s3_bucket: Bucket) -> None:
    counted = Counted(s3_server, s3_bucket, Tuning(recent_commits_max=1))
    graph = counted.create()
    [first] = graph.commits()
    grow(graph, 3)
    beginning = first.id[:20]
    few = counted.requests(lambda: counted.open().commit(beginning))
    grow(graph, 42, start=3)
    many = counted.requests(lambda: counted.open().commit(beginning))
    assert len(many) <= 2 * len(few)
    assert len(counted.requests(lambda: graph.commit("main~1"))) <= len(many)


def test_a_merge_reads_the_log_back_to_its_base_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    decode = commit_log._commit
    monkeypatch.setattr(commit_log, "_commit", lambda body: decoded.append(body) or decode(body))
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=Tuning(recent_commits_max=2))
    counts = []
    for length in (20, 60):
        grow(graph, length, start=100 * length)
        graph.create_branch("task")
        graph.mutate(PERSON, {"n": f"mine-{length}"}, branch="task")
        for number in range(6):
            graph.mutate(PERSON, {"n": f"other-{length}-{number}"})
        decoded.clear()
        graph.merge("task")
        counts.append(len(decoded))
        graph.delete_branch("task")
    assert 0 < counts[1] <= counts[0] + 4
    assert counts[1] < 30
    _check_history(graph)
