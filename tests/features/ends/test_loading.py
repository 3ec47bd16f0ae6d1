"""Loads of edges over several ends: every format names the types of nodes, and wrong ones are reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph
from omnigraph.errors import ViolationError
from tests.features.ends.graphs import LIKED, NODES, RECORDS, SCHEMA, comment, edge, liked, made, post, rows
from tests.support.tuning import retuned

ONLY_NODES = [record for record in RECORDS if "type" in record]
FORMATS = ("jsonl", "csv", "parquet")


def empty(place: Path) -> omnigraph.Graph:
    """The nodes without the edges."""
    return made(place, SCHEMA, ONLY_NODES)


def test_json_lines_name_the_type_beside_the_id(tmp_path: Path) -> None:
    (tmp_path / "graph.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS))
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    graph.load(tmp_path / "graph.jsonl", "append")
    assert liked(graph) == LIKED


def test_csv_has_a_column_for_the_type(tmp_path: Path) -> None:
    (tmp_path / "likes.csv").write_text(
        "id,from,to,to_type,at\nl1,ann,1,Post,1\nl2,ann,1,Comment,2\nl3,bob,3,Comment,\n"
    )
    graph = empty(tmp_path / "g")
    graph.load({"Likes": tmp_path / "likes.csv"}, "append")
    assert liked(graph) == LIKED


@pytest.mark.parametrize("nested", [False, True])
def test_parquet_has_a_column_for_the_type_or_nested_nodes(tmp_path: Path, nested: bool) -> None:
    targets = [post("1"), comment("1"), comment("3")]
    ends: dict[str, Any] = {"to": targets}
    if not nested:
        ends = {"dst": [node["id"] for node in targets], "dst_type": [node["type"] for node in targets]}
    pq.write_table(pa.table({"id": ["l1", "l2", "l3"], "from": ["ann", "ann", "bob"], **ends}), tmp_path / "l.parquet")
    graph = empty(tmp_path / "g")
    graph.load({"Likes": tmp_path / "l.parquet"}, "append")
    assert liked(graph) == LIKED


def test_an_id_of_one_type_needs_no_type_and_nodes_of_the_load_count(tmp_path: Path) -> None:
    graph = empty(tmp_path / "g")
    new = [{"type": "Comment", "data": {"slug": "9"}}, edge("Likes", "ann", "9", id="l1"), edge("Likes", "ann", "2")]
    graph.load(new, "append")
    assert {row[1:] for row in liked(graph)} == {("ann", "Comment", "9"), ("ann", "Post", "2")}


WRONG = {
    "two types have the id": ("1", "'1' is the id of a Comment and of a Post"),
    "no type has the id": ("77", "'77' not found in Comment or Post"),
    "the type does not have the id": (post("3"), "'3' not found in Post"),
    "a type of another end": ({"type": "Tag", "id": "t"}, "'Tag' is no type of this end (expected: Comment, Post)"),
    "another member": ({"type": "Post", "key": "1"}, 'an object has "type" and "id"'),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_node_is_reported_with_its_line(known: omnigraph.Graph, tmp_path: Path, name: str) -> None:
    target, message = WRONG[name]
    lines = [edge("Likes", "bob", post("1")), edge("Likes", "bob", target)]
    (tmp_path / "likes.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(ViolationError) as caught:
        known.load(tmp_path / "likes.jsonl", "append")
    assert message.strip("'") in str(caught.value)
    assert "likes.jsonl:2" in str(caught.value)


def test_a_pair_that_is_not_connected_is_reported(known: omnigraph.Graph) -> None:
    wrong = edge("Rel", {"type": "Person", "id": "ann"}, post("1"))
    with pytest.raises(ViolationError, match="Rel does not connect Person -> Post"):
        known.load([wrong], "append")


def test_rejected_edges_are_set_aside_as_they_were_written(tmp_path: Path) -> None:
    graph = empty(tmp_path / "g")
    lines = [edge("Likes", "ann", post("1"), id="l1"), edge("Likes", "ann", post("9"), id="l9")]
    result = graph.load(lines, "append", reject_to=str(tmp_path / "rejected.jsonl"))
    assert result.rejected == 1
    [rejected] = [json.loads(line) for line in (tmp_path / "rejected.jsonl").read_text().splitlines()]
    assert rejected["record"]["to"] == post("9")
    assert liked(graph) == LIKED[:1]


def test_a_load_of_the_same_edges_again_changes_nothing(graph: omnigraph.Graph) -> None:
    graph.load(RECORDS, "merge")
    assert liked(graph) == LIKED


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_exported_loads_again_unchanged(known: omnigraph.Graph, tmp_path: Path, format: str) -> None:
    known.export_files(tmp_path / "out", format)
    again = omnigraph.create(tmp_path / "g", (tmp_path / "out" / "schema.pg").read_text(), durability="os")
    again.load(str(tmp_path / "out"), "append")
    assert list(again.export()) == list(known.export())


def test_a_large_load_checks_the_types_it_streams(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    with retuned(graph, buffered_rows_max=4):
        graph.load(RECORDS, "append")
        assert liked(graph) == LIKED
        for target, message in ((post("9"), "'9' not found in Post"), (comment("2"), "'2' not found in Comment")):
            with pytest.raises(ViolationError, match=message):
                graph.load(
                    [edge("Likes", "bob", target), *(edge("Likes", "bob", post("1")) for _ in range(9))], "append"
                )
    assert graph.verify(deep=True).is_clean


def test_tables_of_one_relationship_become_one_edge_type_with_several_ends(tmp_path: Path) -> None:
    files = {
        "people.csv": "pid:ID(Person),name,:LABEL\na,Ann,Person\n",
        "posts.csv": "pid:ID(Post),title,:LABEL\n1,First,Post\n",
        "comments.csv": "cid:ID(Comment),mood,:LABEL\n1,glad,Comment\n",
        "likes_posts.csv": ":START_ID(Person),:END_ID(Post),at:int,:TYPE\na,1,1,LIKES\n",
        "likes_comments.csv": ":START_ID(Person),:END_ID(Comment),:TYPE\na,1,LIKES\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    made_graph = omnigraph.import_data(tmp_path / "g", [str(tmp_path / name) for name in files]).graph
    assert "edge LIKES: Person -> Post, Person -> Comment" in made_graph.schema_text()
    text = "match { $p likes $m } return { type($m) as t, id($m) } order { t }"
    assert rows(made_graph, text) == [("Comment", "1"), ("Post", "1")]


def test_an_end_of_numbers_is_read_as_the_id_of_its_type(tmp_path: Path) -> None:
    schema = f"{NODES} node Photo implements Message {{ number: I64 @key }} edge Likes: Person -> Message"
    graph = made(tmp_path / "g", schema, [*ONLY_NODES[:2], {"type": "Photo", "data": {"number": 7}}])
    graph.load({"Likes": pa.table({"from": ["ann"], "to": [7], "to_type": ["Photo"]})}, "append")
    assert [row[1:] for row in liked(graph)] == [("ann", "Photo", "7")]
