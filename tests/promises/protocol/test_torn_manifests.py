"""A power cut during a commit leaves the graph as it was; damage of a published version is never taken for one."""

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import CorruptionError, StorageError
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.publish import newest
from tests.promises.protocol.graphs import insert, names, person, reopen


@pytest.fixture
def populated(graph: omnigraph.Graph) -> omnigraph.Graph:
    graph.load([person("a"), person("b")])
    return graph


TORN = {"empty": b"", "zeros": bytes(4096), "cut short": None}


def _versions(graph: omnigraph.Graph) -> Path:
    return Path(graph.uri) / "__manifest" / "_versions"


def _newest(graph: omnigraph.Graph) -> Path:
    version = graph.snapshot().state.version
    return Path(graph.uri) / manifest_file("__manifest", version)


def _tear_next(graph: omnigraph.Graph, content: bytes | None) -> Path:
    """What a power cut leaves of the commit after the newest one, which never succeeded."""
    last = _newest(graph)
    torn = Path(graph.uri) / manifest_file("__manifest", graph.snapshot().state.version + 1)
    torn.write_bytes(last.read_bytes()[:-20] if content is None else content)
    return torn


@pytest.mark.parametrize("content", TORN.values(), ids=TORN)
@pytest.mark.parametrize("is_warm", [True, False], ids=["warm", "cold"])
def test_a_torn_version_that_never_succeeded_blocks_neither_readers_nor_writers(
    populated: omnigraph.Graph, content: bytes | None, is_warm: bool, caplog: pytest.LogCaptureFixture
) -> None:
    before = names(populated)
    head = populated.snapshot().commit_id
    torn = _tear_next(populated, content)
    graph = populated if is_warm else reopen(populated)
    with caplog.at_level(logging.WARNING):
        assert names(graph) == before
    assert "set aside" in caplog.text
    assert not torn.exists()
    assert len(list((Path(populated.uri) / newest.ASIDE).rglob("*.manifest.*"))) == 1, "nothing is deleted"
    insert(graph, "after")
    assert torn.exists(), "the next commit takes the number"
    assert [commit.id for commit in graph.commits()][1] == head
    assert graph.verify().is_clean


@pytest.mark.parametrize("content", TORN.values(), ids=TORN)
def test_a_writer_that_has_not_looked_goes_on_past_a_torn_version(
    populated: omnigraph.Graph, content: bytes | None
) -> None:
    insert(populated, "first")
    _tear_next(populated, content)
    insert(populated, "second")
    assert {"first", "second"} <= set(names(reopen(populated)))


@pytest.mark.parametrize("content", TORN.values(), ids=TORN)
def test_a_torn_version_that_was_published_is_never_set_aside(
    populated: omnigraph.Graph, content: bytes | None
) -> None:
    last = _newest(populated)
    last.write_bytes(last.read_bytes()[:-20] if content is None else content)
    with pytest.raises(CorruptionError, match=last.name):
        reopen(populated).snapshot()
    assert last.exists()


@pytest.mark.parametrize("is_warm", [True, False], ids=["warm", "cold"])
def test_a_missing_newest_version_is_noticed(populated: omnigraph.Graph, is_warm: bool) -> None:
    last = _newest(populated)
    last.unlink()
    graph = populated if is_warm else reopen(populated)
    with pytest.raises(CorruptionError, match=last.name):
        graph.query("query q() { match { $p: Person } return { $p.name } }")


@pytest.mark.parametrize("is_warm", [True, False], ids=["warm", "cold"])
def test_a_disk_that_cannot_be_asked_for_the_next_version_is_an_error(
    populated: omnigraph.Graph, is_warm: bool
) -> None:
    """A failure that is taken for "no such version" answers with an older commit."""
    following = Path(populated.uri) / manifest_file("__manifest", populated.snapshot().state.version + 1)
    following.symlink_to(following)
    graph = populated if is_warm else reopen(populated)
    with pytest.raises(StorageError) as refused:
        names(graph)
    assert not isinstance(refused.value, CorruptionError)


def test_a_version_is_complete_and_durable_before_it_has_its_name(
    populated: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class of the bug: any moment at which the newest name exists while its content is not on disk."""
    durable = omnigraph.open(populated.uri)
    synced: set[int] = set()
    linked: list[bool] = []
    fsync, link = os.fsync, os.link

    def watched_fsync(descriptor: int) -> None:
        fsync(descriptor)
        synced.add(os.fstat(descriptor).st_ino)

    def watched_link(source: str, target: str) -> None:
        if os.path.dirname(target) == str(_versions(populated)):
            linked.append(os.stat(source).st_ino in synced)
        link(source, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "link", watched_link)
    for number in range(3):
        insert(durable, f"n{number}")
    assert linked == [True, True, True]


def test_two_processes_that_meet_a_torn_version_never_set_aside_a_published_one(
    populated: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one has judged the file before the first one freed its name and a writer took it."""
    torn = _tear_next(populated, b"")
    other = reopen(populated)
    first_look = newest.is_torn
    looks: list[int] = []

    def slow(root: newest.Root, location: str, version: int) -> bool:
        answer = first_look(root, location, version)
        looks.append(version)
        if len(looks) == 1:
            insert(other, "meanwhile")
        return answer

    monkeypatch.setattr(newest, "is_torn", slow)
    assert "meanwhile" in names(reopen(populated))
    assert torn.exists()


def _scratch_files(graph: omnigraph.Graph) -> list[Path]:
    return [path for path in (Path(graph.uri) / "__manifest" / "_beside").rglob("*") if path.is_file()]


def test_a_process_keeps_one_scratch_file_and_leaves_none(populated: omnigraph.Graph) -> None:
    for number in range(3):
        insert(populated, f"n{number}")
    assert [path.suffix for path in _scratch_files(populated)] == [".manifest"]
    uri = populated.uri
    program = f"import omnigraph\nomnigraph.open({uri!r}).load([{person('child')!r}])"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert len(_scratch_files(populated)) == 1
    assert "child" in names(populated)


def test_a_scratch_directory_that_cleanup_removed_is_made_again(populated: omnigraph.Graph) -> None:
    insert(populated, "first")
    shutil.rmtree(Path(populated.uri) / "__manifest" / "_beside")
    insert(populated, "second")
    assert {"first", "second"} <= set(names(reopen(populated)))


def test_a_lost_commit_leaves_nothing_that_a_later_one_builds_on(populated: omnigraph.Graph) -> None:
    """The version that another process published has the number of the version that was committed in vain."""
    other = reopen(populated)
    for number in range(5):
        insert(populated, f"own{number}")
        insert(other, f"other{number}")
    expected = {"a", "b", *(f"{who}{number}" for who in ("own", "other") for number in range(5))}
    assert set(names(reopen(populated))) == expected
    assert populated.verify().is_clean


def test_doctor_reports_what_was_set_aside(populated: omnigraph.Graph) -> None:
    _tear_next(populated, b"")
    names(reopen(populated))
    [finding] = [finding for finding in reopen(populated).doctor() if finding.check == "set aside"]
    assert "1 damaged file below aside/" in finding.found
