"""Loading: three modes, every kind of input, one commit or nothing."""

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import ConflictError, InputError, KeyConflictError, NotFoundError, UsageError, ViolationError
from tests.promises.protocol.graphs import contents, edge, insert, lines, names, note, person, reopen

RECORDS = [person("a", age=1), person("b"), edge("Knows", "a", "b", since="2020-01-02")]
PEOPLE = pa.table({"name": ["a", "b"], "age": pa.array([1, None], pa.int32())})


def _file(path: Path) -> Any:
    return lines(path / "input.jsonl", *RECORDS)


@pytest.mark.parametrize(
    "give",
    [
        _file,
        lambda path: str(_file(path)),
        lambda path: io.BytesIO(_file(path).read_bytes()),
        lambda path: _file(path).open("rb"),
        lambda path: list(RECORDS),
        lambda path: iter(RECORDS),
    ],
    ids=["path", "text", "bytes", "stream", "list", "iterator"],
)
def test_records_load_from_files_streams_and_iterables(graph: omnigraph.Graph, tmp_path: Path, give: Any) -> None:
    data = give(tmp_path)
    result = graph.load(data, "append")
    if hasattr(data, "close"):
        data.close()
    assert contents(graph)["Person"] == [{"name": "a", "age": 1}, {"name": "b"}]
    assert [(row["from"], row["to"]) for row in contents(graph)["Knows"]] == [("a", "b")]
    assert (result.nodes, result.edges, result.total) == ({"Person": 2}, {"Knows": 1}, 3)


@pytest.mark.parametrize(
    "give",
    [
        lambda: PEOPLE,
        lambda: PEOPLE.to_batches()[0],
        PEOPLE.to_reader,
        lambda: PEOPLE.to_pandas(types_mapper=pd.ArrowDtype),
        lambda: pl.from_arrow(PEOPLE),
    ],
    ids=["table", "batch", "reader", "pandas", "polars"],
)
def test_one_type_loads_from_arrow_and_frames(graph: omnigraph.Graph, give: Any) -> None:
    graph.load(give(), "append", type_name="Person")
    assert contents(graph) == {"Person": [{"name": "a", "age": 1}, {"name": "b"}]}


def test_edges_load_from_arrow(graph: omnigraph.Graph) -> None:
    graph.load(PEOPLE, type_name="Person")
    graph.load(pa.table({"from": ["a"], "to": ["b"]}), type_name="Knows")
    assert contents(graph)["Knows"] == [{"from": "a", "to": "b"}]


def test_tables_of_several_types_are_one_commit(graph: omnigraph.Graph) -> None:
    knows = pa.table({"from": ["a", "b"], "to": ["b", "c"]})
    before = graph.snapshot().commit_id
    with pytest.raises(ViolationError, match=r"<Knows>:2: .*c"):
        graph.load({"Knows": knows, "Person": PEOPLE})
    assert graph.snapshot().commit_id == before
    loaded = graph.load({"Knows": knows.slice(0, 1), "Person": pl.from_arrow(PEOPLE)}, "append")
    assert (loaded.nodes, loaded.edges) == ({"Person": 2}, {"Knows": 1})
    assert [commit.kind.value for commit in graph.commits()] == ["load", "init"]


@pytest.mark.parametrize(
    ("data", "type_name", "hint_part"),
    [
        ({"Person": PEOPLE, "limit": 3}, None, 'a single record need type_name="Person"'),
        ({"Person": PEOPLE}, "Person", "leave out type_name"),
    ],
)
def test_a_mapping_that_is_no_set_of_tables_is_refused(
    graph: omnigraph.Graph, data: Any, type_name: str | None, hint_part: str
) -> None:
    with pytest.raises(UsageError) as refused:
        graph.load(data, type_name=type_name)
    assert hint_part in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("data", "type_name"),
    [({"type": "Person", "data": {"name": "a"}}, None), ({"name": "a"}, "Person")],
    ids=["envelope", "plain"],
)
def test_a_single_record_needs_no_list(graph: omnigraph.Graph, data: Any, type_name: str | None) -> None:
    assert graph.load(data, type_name=type_name).nodes == {"Person": 1}
    assert [row["name"] for row in graph.nodes("Person")] == ["a"]


def test_a_table_needs_the_name_of_its_type(graph: omnigraph.Graph) -> None:
    with pytest.raises(UsageError, match="type"):
        graph.load(PEOPLE)
    with pytest.raises(NotFoundError, match="Persons") as refused:
        graph.load(PEOPLE, type_name="Persons")
    assert "Person" in (refused.value.hint or "")


def test_append_refuses_what_exists_and_names_its_line(graph: omnigraph.Graph, tmp_path: Path) -> None:
    insert(graph, "b")
    before = graph.snapshot().commit_id
    with pytest.raises(KeyConflictError, match=r"input\.jsonl:2: Person 'b' exists already"):
        graph.load(_file(tmp_path), "append")
    assert graph.snapshot().commit_id == before
    assert names(graph) == ["b"]


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_key_twice_in_one_input_is_refused_in_every_mode(graph: omnigraph.Graph, mode: str) -> None:
    with pytest.raises((ConflictError, InputError), match="twice"):
        graph.load([person("a", age=1), person("a", age=2)], mode)
    assert names(graph) == []


def test_in_merge_the_last_of_equal_ids_wins_for_entities_without_a_key(graph: omnigraph.Graph) -> None:
    graph.load([note("n", "first"), note("n", "last")], "merge")
    assert contents(graph)["Note"] == [{"text": "last"}]
    with pytest.raises((ConflictError, InputError), match="twice"):
        graph.load([note("m", "first"), note("m", "last")], "append")


def test_merge_replaces_whole_entities_and_adds_the_others(graph: omnigraph.Graph) -> None:
    graph.load([person("a", age=1, email="a@x"), person("b", age=2)])
    result = graph.load([person("a", age=9), person("c")], "merge")
    assert {row["name"]: row.get("age") for row in contents(graph)["Person"]} == {"a": 9, "b": 2, "c": None}
    assert not [row for row in contents(graph)["Person"] if "email" in row]
    [change] = result.commit.tables
    assert (change.inserted, change.updated, change.deleted) == (1, 1, 0)


def test_overwrite_replaces_the_types_in_the_input_and_no_others(graph: omnigraph.Graph) -> None:
    graph.load([person("a"), person("b"), note("n")])
    graph.load([person("c")], "overwrite")
    assert names(graph) == ["c"]
    assert graph.snapshot().counts()["node:Note"] == 1


def test_overwrite_may_not_strand_an_edge_that_stays(graph: omnigraph.Graph) -> None:
    graph.load([person("a"), person("b"), edge("Knows", "a", "b")])
    with pytest.raises(ViolationError, match="'b' not found in Person"):
        graph.load([person("a")], "overwrite")
    assert names(graph) == ["a", "b"]
    graph.load([person("a"), edge("Knows", "a", "a")], "overwrite")
    assert contents(graph) == {"Person": [{"name": "a"}], "Knows": [{"from": "a", "to": "a"}]}


def test_edges_may_stand_before_their_nodes(graph: omnigraph.Graph) -> None:
    graph.load([edge("Knows", "a", "b"), person("a"), person("b")], "append")
    assert len(contents(graph)["Knows"]) == 1


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_an_empty_load_makes_a_commit_and_changes_nothing(graph: omnigraph.Graph, mode: str) -> None:
    insert(graph, "a")
    result = graph.load([], mode)
    assert result.commit.id == graph.snapshot().commit_id
    assert names(graph) == ["a"]


def test_an_unknown_mode_is_refused(graph: omnigraph.Graph) -> None:
    with pytest.raises(UsageError, match="upsert, update, merge, append, overwrite"):
        graph.load([], "replace")


def test_a_missing_file_is_named(graph: omnigraph.Graph, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nothing"):
        graph.load(tmp_path / "nothing.jsonl")


def test_a_missing_branch_is_forked_from_a_base_if_one_is_named(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    with pytest.raises(NotFoundError, match="review"):
        graph.load([person("b")], branch="review")
    result = graph.load([person("b")], branch="review", base="main")
    assert result.branch_created
    assert names(graph.snapshot("review")) == ["a", "b"]
    assert not graph.load([person("c")], branch="review", base="main").branch_created
    assert names(graph) == ["a"]


def test_a_refused_load_takes_the_branch_it_forked_away_again(graph: omnigraph.Graph) -> None:
    with pytest.raises(ViolationError):
        graph.load([{"edge": "Knows", "from": "nobody", "to": "nobody"}], branch="draft", base="main")
    assert [branch.name for branch in graph.branches()] == ["main"]


def test_an_export_loads_into_an_equal_graph(graph: omnigraph.Graph, tmp_path: Path) -> None:
    graph.load([*RECORDS, note("n", rank=3), edge("Wrote", "a", "n")])
    exported = tmp_path / "export.jsonl"
    exported.write_bytes(b"".join(graph.export()))
    other = omnigraph.create(tmp_path / "other", graph.schema_text(), durability="os")
    other.load(exported, "append")
    assert b"".join(other.export()) == exported.read_bytes()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"type": "Person", "data": {"name": "x"', "line 2|:2"),
        ('{"type": "Persn", "data": {}}', "Persn"),
        ('{"type": "Person", "data": {"name": "x", "age": "old"}}', "age"),
        ('{"type": "Person", "data": {"name": "x", "agee": 1}}', "agee"),
        ('{"type": "Person", "data": {}}', "name"),
        ('{"edge": "Knows", "from": "a", "to": "nobody", "data": {}}', "nobody"),
        ('{"edge": "Knows", "from": "a", "data": {}}', "to"),
        ("[]", "object"),
    ],
)
def test_a_bad_line_is_named_by_its_file_and_number_and_nothing_changes(
    graph: omnigraph.Graph, tmp_path: Path, line: str, problem: str
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(json.dumps(person("a")) + "\n" + line + "\n" + json.dumps(person("z")) + "\n")
    before = graph.snapshot().commit_id
    with pytest.raises(ViolationError, match=problem) as refused:
        graph.load(file, "append")
    [sample] = refused.value.samples
    assert (sample.place.source, sample.place.line) == (str(file), 2)
    assert f"{file}:2" in str(refused.value)
    assert graph.snapshot().commit_id == before
    assert names(reopen(graph)) == []


def test_all_violations_are_counted_and_some_are_shown(graph: omnigraph.Graph) -> None:
    with pytest.raises(ViolationError) as refused:
        graph.load([person(f"p{number}", age=-1) for number in range(500)] + [person("x", mood="sad")])
    assert refused.value.total == 501
    assert sum(refused.value.counts.values()) == 501
    assert 1 < len(refused.value.samples) < 100
    assert "501 violations" in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "load\\(\\) missing a required argument: 'data'"),
        ({"data": [], "mod": "merge"}, "load\\(\\) got an unexpected keyword argument 'mod'"),
    ],
)
def test_wrong_arguments_of_a_load_are_named_as_those_of_any_function(
    graph: omnigraph.Graph, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        graph.load(**arguments)
    assert graph.load(data=[person("a")], mode="append").total == 1
