"""A copy with history equals its source in every commit, between any two stores, and is a graph to work with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import AlreadyExistsError, CorruptionError
from tests.promises.copies.graphs import INDEXED, LARGE, content, history, insert
from tests.support.faults.s3 import Bucket, Server


def check_equal(copy: omnigraph.Graph, source: omnigraph.Graph) -> None:
    assert (copy.id, history(copy), content(copy)) == (source.id, history(source), content(source))
    report = copy.verify()
    assert report.is_clean
    assert not report.remarks
    assert copy.read_blob("node", "Person", "painter", "picture").read() == bytes(range(256)) * 512
    assert len(LARGE) > 64 * 1024


def check_alive(copy: omnigraph.Graph) -> None:
    """Indexes answer, and every branch can be written, merged and cleaned."""
    query = "query q() { match { $p: Person { age: 12 } } return { $p.name } }"
    assert copy.query(query).to_arrow().to_pylist() == [{"p.name": "p12"}]
    insert(copy, "new")
    insert(copy, "newer", "kept/branch")
    copy.merge("kept/branch")
    copy.cleanup(keep=1, grace="0s")
    copy.cleanup(keep=1, grace="0s")
    assert copy.verify().is_clean


def test_a_backup_and_its_restore_equal_the_graph(grown_root: Path, tmp_path: Path) -> None:
    source = omnigraph.open(grown_root)
    result = source.backup(tmp_path / "backup.omni")
    assert (result.files_kept, set(result.branches)) == (0, {"main", "kept/branch"})
    assert result.report.is_clean
    check_equal(omnigraph.open(tmp_path / "backup.omni"), source)
    omnigraph.restore(tmp_path / "backup.omni", tmp_path / "restored.omni")
    restored = omnigraph.open(tmp_path / "restored.omni", durability="os", tuning=INDEXED)
    check_equal(restored, source)
    check_alive(restored)
    assert not (tmp_path / "backup.omni" / "cache").exists()


@pytest.mark.s3
def test_copies_between_buckets_and_directories_equal_the_graph(
    grown_root: Path, tmp_path: Path, s3_server: Server, s3_bucket: Bucket
) -> None:
    options = s3_server.storage_options()
    source = omnigraph.open(grown_root)
    places = [s3_bucket.uri("one"), s3_bucket.uri("two/deep")]
    source.copy(places[0], history=True, target_options=options)
    first = omnigraph.open(places[0], storage_options=options)
    first.backup(places[1])
    omnigraph.restore(places[1], tmp_path / "back.omni", storage_options=options)
    back = omnigraph.open(tmp_path / "back.omni", durability="os", tuning=INDEXED)
    second = omnigraph.open(places[1], storage_options=options)
    assert content(second) == content(source)
    assert second.verify().is_clean
    check_equal(back, source)
    check_alive(back)
    # A second run sends nothing but what was added.
    insert(first, "added")
    s3_server.proxy.reset()
    again = first.backup(places[1])
    assert 0 < again.files_copied < 12 < again.files_kept
    assert content(omnigraph.open(places[1], storage_options=options)) == content(first)


def test_a_later_run_copies_the_difference_and_follows_names(grown_root: Path, tmp_path: Path) -> None:
    shutil.copytree(grown_root, tmp_path / "g.omni")
    graph = omnigraph.open(tmp_path / "g.omni", durability="os")
    target = tmp_path / "backup.omni"
    first = graph.backup(target)
    assert graph.backup(target).files_copied == 0
    insert(graph, "added")
    graph.rename_branch("kept/branch", "renamed")
    graph.create_branch("short-lived")
    second = graph.backup(target)
    assert 0 < second.files_copied < first.files_copied // 2
    assert content(omnigraph.open(target)) == content(graph)
    graph.delete_branch("short-lived")
    # The name is used again, for another branch.
    graph.delete_branch("renamed")
    graph.create_branch("renamed")
    graph.backup(target)
    check_equal(omnigraph.open(target), graph)
    assert list(content(omnigraph.open(target))) == ["main", "renamed"]


def test_damage_of_a_backup_is_reported_and_repaired_by_another_run(grown_root: Path, tmp_path: Path) -> None:
    graph, target = omnigraph.open(grown_root), tmp_path / "backup.omni"
    graph.backup(target)
    data = sorted((target / "nodes").rglob("data/*.lance"))
    data[0].write_bytes(bytes(byte ^ 1 for byte in data[0].read_bytes()))
    with pytest.raises(CorruptionError, match=data[0].name) as caught:
        graph.backup(target)
    assert "repeat" in (caught.value.hint or "")
    # Only the sizes are compared.
    assert graph.backup(target, deep=False).report.is_clean
    data[0].unlink()
    data[1].write_bytes(b"short")
    assert graph.backup(target).files_copied == 2
    check_equal(omnigraph.open(target), graph)


def test_damage_of_the_source_ends_the_copy_before_it_is_hidden(grown_root: Path, tmp_path: Path) -> None:
    shutil.copytree(grown_root, tmp_path / "g.omni")
    data = max((tmp_path / "g.omni" / "nodes").rglob("data/*.lance"), key=lambda path: path.stat().st_size)
    data.write_bytes(bytes(byte ^ 1 for byte in data.read_bytes()))
    graph = omnigraph.open(tmp_path / "g.omni")
    with pytest.raises(CorruptionError, match=data.name):
        graph.copy(tmp_path / "copy.omni", history=True)
    assert not (tmp_path / "copy.omni" / "omnigraph.json").exists()


def test_a_backup_that_was_written_to_is_never_overwritten(grown_root: Path, tmp_path: Path) -> None:
    graph, target = omnigraph.open(grown_root), tmp_path / "backup.omni"
    graph.backup(target)
    fork = omnigraph.open(target, durability="os")
    insert(fork, "only-here")
    before = content(fork)
    with pytest.raises(AlreadyExistsError, match="main"):
        graph.backup(target)
    assert content(fork) == before
    # The reverse: the original lacks the commit of its copy.
    with pytest.raises(AlreadyExistsError, match="already"):
        omnigraph.restore(grown_root, target)
    omnigraph.restore(grown_root, target, replace=True)
    check_equal(omnigraph.open(target), graph)
