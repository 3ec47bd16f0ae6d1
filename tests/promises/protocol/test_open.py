"""Making and opening a graph: what is no graph, or not ours to read, is refused by name and left as it was."""

import os
import pickle
import shutil
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import (
    AlreadyExistsError,
    CompileError,
    CorruptionError,
    FormatError,
    NotAGraphError,
    StorageError,
    UsageError,
)
from omnigraph.manifest import create as creation
from omnigraph.manifest.layout import FORMAT, STAMP_PATH
from omnigraph.storage.objects.sealed import seal, unseal
from tests.promises.protocol.graphs import SCHEMA, contents, create, edge, insert, names, person, reopen, run


def test_a_new_graph_is_empty_and_has_one_commit(graph: omnigraph.Graph) -> None:
    assert set(graph.snapshot().counts().values()) == {0}
    [first] = graph.commits()
    assert first.kind.value == "init"
    assert first.parents == ()
    assert graph.schema_text() == SCHEMA


def test_another_handle_sees_the_same_graph(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    other = reopen(graph)
    assert other.id == graph.id
    assert names(other) == ["a"]
    insert(other, "b")
    assert names(graph) == ["a", "b"]


@pytest.mark.parametrize(("format_", "remedy"), [(FORMAT + 1, "upgrade"), (FORMAT - 1, "export")])
def test_another_format_is_refused_with_the_remedy(graph: omnigraph.Graph, format_: int, remedy: str) -> None:
    stamp = Path(graph.uri, STAMP_PATH)
    stamp.write_bytes(seal({**unseal(stamp.read_bytes(), STAMP_PATH), "format": format_}))
    with pytest.raises(FormatError, match=f"format {format_}") as refused:
        reopen(graph)
    assert remedy in (refused.value.hint or "")
    with pytest.raises(AlreadyExistsError):
        omnigraph.create(graph.uri, SCHEMA)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"format": "one"}'])
def test_a_stamp_that_is_none_is_damage_of_a_graph_and_no_graph_elsewhere(
    graph: omnigraph.Graph, tmp_path: Path, content: bytes
) -> None:
    Path(graph.uri, STAMP_PATH).write_bytes(content)
    with pytest.raises(CorruptionError, match=STAMP_PATH):
        reopen(graph)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / STAMP_PATH).write_bytes(content)
    with pytest.raises(NotAGraphError):
        omnigraph.open(tmp_path / "other")


def test_a_graph_without_its_stamp_is_told_from_a_place_without_a_graph(graph: omnigraph.Graph) -> None:
    Path(graph.uri, STAMP_PATH).unlink()
    with pytest.raises(NotAGraphError, match=f"looks like one, but {STAMP_PATH} is missing") as refused:
        reopen(graph)
    assert "omnigraph.repair" in str(refused.value.hint)


def test_what_is_no_graph_is_refused_and_left_alone(tmp_path: Path) -> None:
    directory, file, missing = tmp_path / "directory", tmp_path / "file", tmp_path / "missing"
    directory.mkdir()
    (directory / "thesis.txt").write_text("years of work")
    file.write_text("a file")
    for place in (directory, file, missing, file / "below"):
        with pytest.raises(NotAGraphError, match="no graph at") as refused:
            omnigraph.open(place)
        assert refused.value.hint
    assert not missing.exists()
    assert sorted(os.listdir(directory)) == ["thesis.txt"]


def test_a_graph_cannot_be_made_over_a_file_or_a_graph(tmp_path: Path, graph: omnigraph.Graph) -> None:
    file = tmp_path / "file"
    file.write_text("a file")
    with pytest.raises(AlreadyExistsError):
        omnigraph.create(file, SCHEMA)
    assert file.read_text() == "a file"
    insert(graph, "a")
    with pytest.raises(AlreadyExistsError):
        omnigraph.create(graph.uri, SCHEMA)
    assert names(reopen(graph)) == ["a"]


def test_a_bad_schema_makes_no_graph(tmp_path: Path) -> None:
    with pytest.raises(CompileError):
        omnigraph.create(tmp_path / "g", "node Person { name: Sting }")
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize("address", ["", "ftp://host/graph", "http://host/graph", "s3://"])
def test_an_address_that_is_no_store_is_refused(address: str) -> None:
    with pytest.raises(UsageError):
        omnigraph.open(address)


@pytest.mark.parametrize("form", ["{}", "file://{}", "file-object-store://{}"])
def test_every_form_of_a_local_address_opens_the_same_graph(graph: omnigraph.Graph, form: str) -> None:
    assert omnigraph.open(form.format(graph.uri)).id == graph.id


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_is_an_error_that_names_the_place(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(StorageError, match="locked"):
        omnigraph.create(locked / "g", SCHEMA)


def test_a_place_where_nothing_can_be_written_is_an_error_that_names_it() -> None:
    # Nobody may write here, not even root.
    with pytest.raises(StorageError, match="/proc/graph"):
        omnigraph.create("/proc/graph", SCHEMA)


def _stop_before_the_stamp(monkeypatch: pytest.MonkeyPatch, path: Path, schema: str) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(creation, "_write_stamp", crash)
        with pytest.raises(KeyboardInterrupt):
            create(path, schema)


def test_a_half_made_graph_is_no_graph_and_making_it_again_finishes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stop_before_the_stamp(monkeypatch, tmp_path, SCHEMA)
    with pytest.raises(NotAGraphError):
        omnigraph.open(tmp_path / "g")
    graph = create(tmp_path)
    insert(graph, "a")
    assert names(reopen(graph)) == ["a"]
    assert graph.verify().is_clean


def test_a_half_made_graph_of_another_schema_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stop_before_the_stamp(monkeypatch, tmp_path, SCHEMA)
    with pytest.raises(AlreadyExistsError, match="another schema"):
        create(tmp_path, "node Other { name: String @key }")


def test_tables_left_by_a_crash_are_empty_in_the_graph_made_over_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(creation, "create_manifest", crash)
        with pytest.raises(KeyboardInterrupt):
            create(tmp_path)
    graph = create(tmp_path)
    assert set(graph.snapshot().counts().values()) == {0}
    insert(graph, "a")
    assert names(graph) == ["a"]


def test_a_copied_graph_works_without_the_original(tmp_path: Path, graph: omnigraph.Graph) -> None:
    graph.load([person("a"), person("b"), edge("Knows", "a", "b")])
    graph.create_branch("review")
    run(graph, 'delete Person where name = "b"', branch="review")
    before = contents(graph)
    shutil.copytree(graph.uri, tmp_path / "copy")
    shutil.rmtree(graph.uri)
    copy = omnigraph.open(tmp_path / "copy", durability="os")
    assert contents(copy) == before
    assert names(copy.snapshot("review")) == ["a"]
    insert(copy, "c")
    assert copy.verify().is_clean


def test_a_graph_and_its_snapshots_can_be_pickled(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    snapshot = pickle.loads(pickle.dumps(graph.snapshot()))
    other = pickle.loads(pickle.dumps(graph))
    insert(other, "b")
    assert names(snapshot) == ["a"]
    assert names(graph) == names(other) == ["a", "b"]
