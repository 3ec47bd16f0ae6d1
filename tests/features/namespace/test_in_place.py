"""Tools that open a table directory of a graph are warned, or see the head of a branch; the graph stays what it is."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import lance
import lancedb
import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.engine.mirror import in_place
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.storage.stage.in_place import show_version
from tests.features.cli.run import run

INSERT = 'query q() { insert Person { name: "new", age: 200 } }'


def directory(graph: Graph, key: str = "node:Person") -> Path:
    """The directory of a table."""
    return Path(graph.uri) / graph.snapshot().state.tables[key].location


def counted(graph: Graph) -> dict[str, int]:
    """Rows of every table, as a program sees them that opens the directories."""
    tables = graph.snapshot().state.tables
    return {key: lance.dataset(str(directory(graph, key))).count_rows() for key in tables}


def test_a_directory_opened_without_a_version_says_where_the_rows_are(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "Person.lance").symlink_to(directory(graph))

    by_lance = lance.dataset(str(directory(graph)))
    by_lancedb = lancedb.connect(tmp_path).open_table("Person")

    assert (by_lance.count_rows(), by_lancedb.count_rows()) == (0, 0)
    for schema in (by_lance.schema, by_lancedb.schema):
        assert b"omnigraph.namespace" in schema.metadata[b"omnigraph"]
        assert b"mirror" in schema.metadata[b"omnigraph"]


def test_directories_show_the_head_on_request(graph: Graph, tmp_path: Path) -> None:
    result = graph.mirror(in_place=True)

    (tmp_path / "Person.lance").symlink_to(directory(graph))
    people = lancedb.connect(tmp_path).open_table("Person")
    assert counted(graph) == graph.snapshot().counts() == {"edge:Knows": 1, "node:Note": 0, "node:Person": 20}
    assert (people.count_rows("age < 3"), people.search([7.0, 0.0, 1.0, 2.0]).limit(1).to_list()[0]["name"]) == (
        3,
        "p7",
    )
    assert [(table.name, table.is_changed) for table in result.tables] == [
        ("Knows", True),
        ("Note", False),
        ("Person", True),
    ]
    assert [(mirror.target, mirror.branch) for mirror in graph.mirrors()] == [(graph.uri, "main")]
    assert (graph.verify().problems, graph.verify().remarks) == ((), ())


def test_a_refresh_touches_changed_tables_only(graph: Graph) -> None:
    graph.mirror(in_place=True)
    graph.mutate(INSERT)
    before = counted(graph)

    result = graph.mirror(in_place=True)

    assert (before["node:Person"], counted(graph)["node:Person"]) == (20, 21)
    assert [table.name for table in result.tables if table.is_changed] == ["Person"]
    assert not any(table.is_changed for table in graph.mirror(in_place=True).tables)


def test_another_branch_is_shown_on_request(graph: Graph) -> None:
    graph.create_branch("draft")
    graph.mutate(INSERT, branch="draft")
    graph.mirror(in_place=True)

    graph.mirror(branch="draft", in_place=True)

    assert counted(graph)["node:Person"] == 21
    assert graph.snapshot().counts()["node:Person"] == 20


def test_cleanup_keeps_what_is_shown_and_deletes_what_was(graph: Graph) -> None:
    graph.mirror(in_place=True)
    graph.mutate(INSERT)
    graph.mirror(in_place=True)
    graph.mutate("query q() { delete Person where age < 50 }")
    graph.optimize()
    for _ in range(3):
        graph.cleanup(keep=1, grace="0s")

    shown = lance.dataset(str(directory(graph)))

    assert (shown.count_rows(), shown.to_table().num_rows) == (21, 21)
    assert (graph.verify().problems, graph.verify().remarks) == ((), ())


def test_a_graph_shown_in_place_goes_on_as_before(graph: Graph) -> None:
    graph.mirror(in_place=True)

    graph.mutate(INSERT)
    graph.load([{"type": "Note", "data": {"text": "first"}}], mode="append")
    graph.apply_schema(graph.schema_text().replace("since: I64?", "since: I64? until: I64?"))

    assert omnigraph.open(graph.uri).snapshot().counts() == {"edge:Knows": 1, "node:Note": 1, "node:Person": 21}
    assert not graph.verify(deep=True).problems
    graph.mirror(in_place=True)
    assert counted(graph) == graph.snapshot().counts()


@pytest.mark.parametrize("finished", [0, 1])
def test_an_interrupted_refresh_is_completed_by_the_next(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, finished: int
) -> None:
    graph.mirror(in_place=True)
    graph.mutate('query q() { insert Person { name: "new" } insert Note { text: "x" } }')
    done: list[object] = []

    def interrupted(*arguments: object) -> int:
        if len(done) == finished:
            raise KeyboardInterrupt
        done.append(arguments)
        return show_version(*arguments)  # type: ignore[arg-type] # passed on as they came

    with monkeypatch.context() as patched:
        patched.setattr(in_place, "show_version", interrupted)
        with pytest.raises(KeyboardInterrupt):
            graph.mirror(in_place=True)
    graph.cleanup(keep=1, grace="0s")
    readable = counted(graph)
    graph.mirror(in_place=True)

    assert readable["node:Person"] in (20, 21)
    assert counted(graph) == graph.snapshot().counts() == {"edge:Knows": 1, "node:Note": 1, "node:Person": 21}


def test_a_removed_mirror_leaves_the_first_version(graph: Graph) -> None:
    graph.mirror(in_place=True)
    graph.mutate(INSERT)
    graph.mirror(in_place=True)

    graph.remove_mirror(in_place=True)

    assert set(counted(graph).values()) == {0}
    assert graph.mirrors() == []
    assert graph.verify(deep=True).remarks == ()
    with pytest.raises(NotFoundError, match="no mirror in place"):
        graph.remove_mirror(in_place=True)


def test_a_mirror_has_one_place(graph: Graph, tmp_path: Path) -> None:
    for arguments in ({}, {"target": tmp_path / "tables", "in_place": True}):
        with pytest.raises(UsageError) as refused:
            graph.mirror(**arguments)
        assert "in_place=True" in str(refused.value.hint)


def test_the_command_line_shows_a_graph_in_place(graph: Graph, tmp_path: Path) -> None:
    shown = run("mirror", graph.uri, "--in-place", "--json")
    assert {table["name"]: table["rows"] for table in json.loads(shown.stdout)["tables"]}["Person"] == 20
    assert counted(graph)["node:Person"] == 20
    assert run("mirror", graph.uri, "--in-place", "--remove").exit_code == 0
    assert counted(graph)["node:Person"] == 0
    assert run("mirror", "--store", graph.uri, tmp_path / "tables").exit_code == 0
    assert lance.dataset(str(tmp_path / "tables/Person.lance")).count_rows() == 20
    for wrong in ((graph.uri,), (graph.uri, tmp_path / "tables", "--in-place"), ()):
        refused = run("mirror", *wrong)
        assert refused.exit_code == 2


FOREIGN = {
    "append": lambda path: lance.write_dataset(pa.table({"id": ["x"], "name": ["x"]}), path, mode="append"),
    "overwrite": lambda path: lance.write_dataset(pa.table({"other": [1]}), path, mode="overwrite"),
    "delete": lambda path: lance.dataset(path).delete("true"),
    "add columns": lambda path: lance.dataset(path).add_columns({"more": "1"}),
}
"""Ordinary writes of programs that go around the graph."""


@pytest.mark.parametrize("shown", [False, True], ids=["plain", "in-place"])
@pytest.mark.parametrize("write", FOREIGN)
def test_a_foreign_write_changes_nothing_and_is_noticed(graph: Graph, write: str, shown: bool) -> None:
    if shown:
        graph.mirror(in_place=True)
    head, rows = graph.snapshot().commit_id, graph.nodes("Person").arrow()

    FOREIGN[write](str(directory(graph)))

    reopened = omnigraph.open(graph.uri)
    assert reopened.snapshot().commit_id == head
    assert reopened.nodes("Person").arrow() == rows
    report = reopened.verify(deep=True)
    assert not report.problems
    [remark] = report.remarks
    assert "another program wrote it" in remark.what
    assert remark.path.startswith(graph.snapshot().state.tables["node:Person"].location)
    reopened.mutate(INSERT)
    reopened.cleanup(grace="0s")
    assert reopened.snapshot().counts()["node:Person"] == 21
    after = reopened.verify(deep=True)
    assert (after.problems, after.remarks) == ((), ())
    if shown:
        reopened.mirror(in_place=True)
        assert counted(reopened)["node:Person"] == 21


def test_files_that_a_foreign_cleanup_deleted_are_problems(graph: Graph) -> None:
    """Lance's own cleanup deletes files that no ordinary version names, as those of a graph."""
    lance.dataset(str(directory(graph))).cleanup_old_versions(timedelta(0), delete_unverified=True)

    report = graph.verify()

    assert report.problems
    assert all("is missing" in problem.what or "no readable version" in problem.what for problem in report.problems)


@pytest.mark.parametrize("write", ["append", "overwrite", "delete"])
def test_a_foreign_write_to_the_manifest_is_an_error_and_is_repaired(graph: Graph, write: str) -> None:
    path = f"{graph.uri}/__manifest"
    if write == "append":
        lance.write_dataset(lance.dataset(path).to_table().slice(0, 1), path, mode="append")
    else:
        FOREIGN[write](path)

    assert "__manifest" in [problem.path for problem in omnigraph.open(graph.uri).verify().problems]
    omnigraph.repair(graph.uri, apply=True)

    repaired = omnigraph.open(graph.uri)
    assert repaired.snapshot().counts() == {"edge:Knows": 1, "node:Note": 0, "node:Person": 20}
    assert not repaired.verify(deep=True).problems
