"""The deliberate differences from the reference that `docs/user/coming-from.md` lists.

Those about writers that race, embeddings, `fuzzy` and the sizes of loads have tests of their own.
"""

import json
from pathlib import Path

import pytest

import omnigraph
from omnigraph.engine.graph import Graph
from omnigraph.errors import CompileError, KeyConflictError, MergeConflicts, ParameterError, ViolationError
from tests.promises.protocol.graphs import contents, insert, names, note, person, run

SCHEMA = """
node Doc { slug: String @key
    text: String? @index
    state: enum(open, closed, lost)?
    v: Vector(1)? }
node Old { name: String @key }
"""


@pytest.fixture
def docs(tmp_path: Path) -> Graph:
    """Ten documents in no order: the six with the smallest numbers have a word in common."""
    graph = omnigraph.create(tmp_path / "docs", SCHEMA, durability="os")
    texts = {number: "stone" if number < 6 else "other" for number in (5, 3, 4, 1, 0, 2, 6, 7, 8, 9)}
    rows = [{"slug": f"d{number}", "text": text, "v": [float(number)]} for number, text in texts.items()]
    graph.load([{"type": "Doc", "data": row} for row in rows] + [{"type": "Old", "data": {"name": "o"}}])
    return graph


def ranked(graph: Graph, ranking: str, limit: int) -> list[str]:
    text = f"query q() {{ match {{ $d: Doc }} return {{ $d.slug }} order {{ {ranking} }} limit {limit} }}"
    return [row["d.slug"] for row in graph.query(text).to_pylist()]


def test_inserts_and_deletes_mix_in_one_commit(graph: Graph) -> None:
    insert(graph, "a")
    run(graph, 'insert Person {name: "b"} delete Person where name = "a" insert Person {name: "c"}')
    assert names(graph) == ["b", "c"]
    assert len(list(graph.commits())) == 3


def test_an_id_twice_in_an_input_is_a_violation_and_an_id_of_the_graph_a_key_conflict(graph: Graph) -> None:
    for mode in ("append", "merge", "overwrite"):
        with pytest.raises(ViolationError, match="given twice"):
            graph.load([person("a"), person("a", age=3)], mode)
    for mode in ("append", "overwrite"):
        with pytest.raises(ViolationError, match="given twice"):
            graph.load([note("n"), note("n", rank=1)], mode)
    graph.load([note("n"), note("n", rank=1)], "merge")
    assert [row["rank"] for row in contents(graph)["Note"]] == [1], "without a key the last one counts"
    with pytest.raises(KeyConflictError):
        graph.load([note("n")], "append")


def test_all_violations_are_reported_at_once(graph: Graph) -> None:
    with pytest.raises(ViolationError) as caught:
        graph.load([person("a", age=-1), person("b", email="x"), person("c", age=200)])
    assert sorted(caught.value.counts.values()) == [1, 2]


def test_different_properties_of_one_entity_are_merged_and_one_property_conflicts(graph: Graph) -> None:
    graph.load([person("a", age=1, email="a@x")])
    graph.create_branch("b")
    run(graph, 'update Person set {age: 2} where name = "a"')
    run(graph, 'update Person set {email: "b@x"} where name = "a"', branch="b")
    graph.merge("b")
    assert contents(graph)["Person"] == [{"name": "a", "age": 2, "email": "b@x"}]
    run(graph, 'update Person set {age: 3} where name = "a"')
    run(graph, 'update Person set {age: 4} where name = "a"', branch="b")
    with pytest.raises(MergeConflicts) as caught:
        graph.merge("b")
    assert [(conflict.kind.value, conflict.property) for conflict in caught.value.conflicts] == [
        ("divergent_update", "age")
    ]


def test_a_schema_belongs_to_a_branch_and_to_a_commit(docs: Graph) -> None:
    before = docs.snapshot().commit_id
    docs.create_branch("other")
    docs.apply_schema(SCHEMA.replace("text: String? @index", 'body: String? @index @rename_from("text")'))
    read = 'query q() {{ match {{ $d: Doc {{ slug: "d0" }} }} return {{ $d.{} }} }}'
    assert docs.query(read.format("body")).to_pylist() == [{"d.body": "stone"}]
    assert docs.query(read.format("text"), at=before).to_pylist() == [{"d.text": "stone"}]
    assert docs.query(read.format("text"), branch="other").to_pylist() == [{"d.text": "stone"}]


def test_schema_commits_are_blocks_of_the_feed(docs: Graph) -> None:
    docs.apply_schema(SCHEMA.replace("node Old { name: String @key }", "node New { name: String? }"))
    docs.apply_schema(SCHEMA.replace("text: String? @index", "").replace("node Old { name: String @key }", ""))
    told = {block.commit.id: [(c.op.value, c.type_name, c.id) for c in block] for block in docs.changes("beginning")}
    assert list(told.values())[1:] == [[("delete", "Old", "o")], []]
    assert {commit.id for commit in docs.commits() if commit.kind.value == "schema"} == set(list(told)[1:])
    first = list(docs.commits())[-1]
    assert len(docs.commit_changes(first.id)) == 0, "the first commit made the schema and no entities"


def test_an_enum_is_narrowed_if_no_entity_holds_what_goes_away(docs: Graph) -> None:
    narrow = SCHEMA.replace("open, closed, lost", "open, closed")
    run(docs, 'update Doc set {state: "lost"} where slug = "d0"')
    with pytest.raises(ViolationError, match="'lost'"):
        docs.apply_schema(narrow)
    run(docs, 'update Doc set {state: "open"} where slug = "d0"')
    assert docs.apply_schema(narrow).applied


def test_rankings_are_fused_whole_and_equal_scores_are_ordered_by_id(docs: Graph) -> None:
    relevance = 'bm25($d.text, "stone")'
    assert ranked(docs, relevance, 100) == [f"d{number}" for number in range(6)]
    fused = f"rrf(nearest($d.v, [9.0]), {relevance})"
    # Cut at the limit first, `nearest` would give nothing to d0, and d9 would be as good and come first.
    assert ranked(docs, fused, 2) == ["d0", "d1"] == ranked(docs, fused, 100)[:2]


def test_branches_depend_on_nothing(graph: Graph) -> None:
    first = graph.snapshot().commit_id
    insert(graph, "a")
    graph.create_branch("old", at=first)
    graph.create_branch("old/er", "old")
    graph.delete_branch("old")
    assert names(graph.snapshot("old/er")) == []


def test_undeclared_parameters_are_refused(docs: Graph) -> None:
    text = "query q($state: String?) { match { $d: Doc { state: $state } } return { $d.slug } }"
    with pytest.raises(ParameterError, match="no parameter 'stat'"):
        docs.query(text, {"stat": "open"})


def test_unknown_annotations_are_refused_and_own_ones_kept(tmp_path: Path) -> None:
    for annotation in ('@default("x")', "@kye"):
        with pytest.raises(CompileError, match="S120"):
            omnigraph.create(tmp_path / "wrong", f"node Doc {{ slug: String {annotation} }}")
    graph = omnigraph.create(tmp_path / "own", 'node Doc { slug: String @x_default("x") }')
    assert '@x_default("x")' in graph.schema_text()


def test_exports_have_the_properties_in_the_order_of_the_schema(docs: Graph) -> None:
    lines = b"".join(docs.export()).splitlines()
    first = next(line for line in lines if b'"Doc"' in line)
    assert list(json.loads(first)["data"]) == ["id", "slug", "text", "state", "v"]
