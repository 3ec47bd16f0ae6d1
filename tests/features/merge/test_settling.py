"""Conflicts that the caller settles: by expressions, and broken constraints for one side."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.compare.tables import rows_of
from omnigraph.errors import CompileError, UsageError
from omnigraph.wire.merges import load_merge_preview, save_merge_preview
from omnigraph.write.merge import tables as merge_keeping
from tests.features.merge.graphs import edges, fresh, kinds, people, put, refused
from tests.promises.protocol.graphs import create, edge, run


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return fresh(tmp_path)


@pytest.mark.parametrize(("take", "left"), [("source", {"w1"}), ("target", {"w2"})])
def test_too_many_edges_are_those_of_one_side(graph: omnigraph.Graph, take: str, left: set[str]) -> None:
    graph.load([edge("WorksAt", "bo", "acme", "w1"), edge("WorksAt", "cy", "acme", "w3")], branch="b")
    graph.load([edge("WorksAt", "bo", "acme", "w2")])
    assert kinds(refused(graph)) == [("cardinality_violation", "bo", "src")]
    rule = {"type": "WorksAt", "kind": "cardinality_violation", "take": take}
    for other in ({"take": take}, {**rule, "id": "cy"}):
        assert kinds(refused(graph, resolutions=[other])) == [("cardinality_violation", "bo", "src")]
    graph.merge("b", resolutions=[{**rule, "id": "bo"}])
    assert set(edges(graph, "WorksAt")) == left | {"w3"}
    assert graph.verify(deep=True).is_clean


@pytest.mark.parametrize(("take", "left"), [("source", "bd"), ("target", "cd")])
def test_too_few_edges_come_back_as_one_side_has_them(tmp_path: Path, take: str, left: str) -> None:
    graph = create(tmp_path, "node P { name: String @key }\nedge Needs: P -> P @card(2..3) { n: I64? }")
    graph.load([{"type": "P", "data": {"name": name}} for name in "abcd"])
    graph.load([edge("Needs", "a", end, f"a-{end}", n=1) for end in "bcd"])
    graph.create_branch("b")
    run(graph, 'delete Needs where to = "c"', branch="b")
    run(graph, 'delete Needs where to = "b"')
    result = graph.merge("b", resolutions=[{"kind": "cardinality_violation", "take": take}])
    assert edges(graph, "Needs") == {f"a-{end}": ("a", end) for end in left}
    counts = [(item.inserted, item.updated, item.deleted) for item in result.tables]
    # What the target has alike is not written again.
    assert counts == ([(1, 0, 1)] if take == "source" else [])


@pytest.mark.parametrize("take", ["source", "target"])
@pytest.mark.parametrize("deleted_on", ["b", "main"])
@pytest.mark.parametrize("is_whole", [True, False])
def test_an_edge_and_the_node_at_its_end_are_as_one_side_has_them(
    graph: omnigraph.Graph, take: str, deleted_on: str, is_whole: bool
) -> None:
    other = "main" if deleted_on == "b" else "b"
    put(graph, "dan", city="Rome")
    graph.merge("main", "b")
    run(graph, 'delete Person where name = "dan"', branch=deleted_on)
    graph.load([edge("Knows", "ann", "dan", "new")], branch=other)
    if not is_whole:
        put(graph, "ann", other, city="Oslo")
        graph.load([edge("Knows", "ann", "cy", "more")], branch=deleted_on)
    assert kinds(refused(graph)) == [("orphan_edge", "new", "dst")]
    graph.merge("b", resolutions=[{"kind": "orphan_edge", "take": take}])
    is_kept = (take == "source") == (other == "b")
    assert ("new" in edges(graph)) == is_kept
    assert people(graph).get("dan") == ({"age": 1, "city": "Rome"} if is_kept else None)
    assert graph.verify(deep=True).is_clean


@pytest.mark.parametrize("take", ["source", "target"])
def test_both_holders_of_a_unique_value_are_as_one_side_has_them(graph: omnigraph.Graph, take: str) -> None:
    put(graph, "ann", "b", email="same", city="S")
    put(graph, "bo", email="same", city="T")
    put(graph, "cy", "b", age=5)
    assert [kind for kind, _, _ in kinds(refused(graph))] == ["unique_violation"]
    graph.merge("b", resolutions=[{"kind": "unique_violation", "take": take}])
    changed: dict[str, Any] = {"age": 1, "email": "same"}
    expected = (
        {"ann": {**changed, "city": "S"}, "bo": {"age": 1}}
        if take == "source"
        else {"ann": {"age": 1}, "bo": {**changed, "city": "T"}}
    )
    assert people(graph) == {**expected, "cy": {"age": 5}, "dan": {"age": 1}}


@pytest.mark.parametrize("both_have_edges", [False, True])
@pytest.mark.parametrize("take", ["source", "target", "delete"])
@pytest.mark.parametrize("branch", ["main", "b"])
def test_a_node_that_goes_away_as_settled_leaves_no_edge(
    graph: omnigraph.Graph, branch: str, take: str, both_have_edges: bool
) -> None:
    other = "b" if branch == "main" else "main"
    new = {"type": "Person", "data": {"name": "eve", "email": "same"}}
    graph.load([new, edge("Knows", "eve", "cy", "k1"), edge("Knows", "dan", "eve", "k2")], branch=branch)
    put(graph, "bo", other, email="same")
    if both_have_edges:
        graph.load([edge("Knows", "cy", "dan", "k3")], branch=other)
    rules = [{"kind": "unique_violation", "take": take}]
    preview = graph.merge_preview("b", resolutions=rules)
    if preview.conflicts:
        assert {kind for kind, _, _ in kinds(preview.conflicts)} == {"orphan_edge"}
        rules.append({"kind": "orphan_edge", "take": "delete"})
    graph.merge("b", resolutions=rules)
    ids = set(people(graph))
    assert len(ids & {"bo", "eve"}) == (2 if take == ("source" if branch == "b" else "target") else 1)
    assert {end for ends in edges(graph).values() for end in ends} <= ids
    assert graph.verify(deep=True).is_clean


def test_many_broken_constraints_are_settled_by_reading_once(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(branch: str, names: Iterable[str]) -> None:
        rows = [{"type": "Person", "data": {"name": name, "email": f"e{n}"}} for n, name in enumerate(names)]
        graph.load(rows, "merge", branch=branch)

    load("b", [f"s{number}" for number in range(30)])
    load("main", [f"t{number}" for number in range(30)])
    put(graph, "ann", age=2)
    assert len(refused(graph)) == 30
    asked: list[int] = []

    def counted(*given: Any) -> Any:
        asked.append(len(given[-1]))
        return rows_of(*given)

    monkeypatch.setattr(merge_keeping, "rows_of", counted)
    graph.merge("b", resolutions=[{"kind": "unique_violation", "take": "source"}])
    assert asked == [60, 60]  # on both sides
    assert {name[0] for name in people(graph)} == {"a", "b", "c", "d", "s"}


# --- expressions -----------------------------------------------------------------------------------------


def expression(text: str, property_: str = "age", type_: str = "Person") -> list[dict[str, Any]]:
    return [{"type": type_, "property": property_, "expression": text}]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("$source + $target - $base", 110),
        ("($source - $base) * 2", 18),
        ("-$target % 7", -3),
        ("7", 7),
        ("$source", 10),
    ],
)
def test_an_expression_makes_the_value_of_a_property(graph: omnigraph.Graph, text: str, made: int) -> None:
    put(graph, "ann", "b", age=10)
    put(graph, "ann", age=101)
    graph.merge("b", resolutions=expression(text))
    assert people(graph)["ann"] == {"age": made}


def test_an_expression_is_part_of_a_preview_and_knows_no_base_of_what_was_inserted(
    graph: omnigraph.Graph, tmp_path: Path
) -> None:
    for branch, size in (("b", 3), ("main", 4)):
        graph.load([{"type": "Person", "data": {"name": "eve", "age": size}}], branch=branch)
    rules = expression("$source * $target")
    preview = graph.merge_preview("b", resolutions=rules)
    assert preview.outcome.value == "merged"
    save_merge_preview(preview, tmp_path / "preview.json")
    graph.merge(load_merge_preview(tmp_path / "preview.json"))
    assert people(graph)["eve"] == {"age": 12}


def test_an_expression_without_a_value_that_fits_settles_nothing(graph: omnigraph.Graph) -> None:
    put(graph, "ann", "b", legal="s", age=10)
    put(graph, "ann", legal="t", age=101)
    rules = [*expression("$source * 9223372036854775807"), *expression("$source", "legal")]
    [conflict] = refused(graph, resolutions=rules)
    assert (conflict.id, conflict.property) == ("ann", "age")
    assert conflict.message.endswith("and the expression has no value of the type")


def test_an_expression_makes_no_number_that_is_not_finite(tmp_path: Path) -> None:
    graph = create(tmp_path, "node P { name: String @key\n score: F64? }")
    graph.create_branch("b")
    for branch, score in (("b", 1e308), ("main", 9e307)):
        graph.load([{"type": "P", "data": {"name": "a", "score": score}}], "merge", branch=branch)
    [conflict] = refused(graph, resolutions=expression("$source * $target", "score", "P"))
    assert conflict.message.endswith("and the expression has no value of the type")


@pytest.mark.parametrize(
    ("rule", "error", "match"),
    [
        (expression("$source +"), CompileError, "expected an expression"),
        (expression("$source $target"), CompileError, "expected the end"),
        (expression("$src"), CompileError, "`\\$src` is not bound"),
        (expression("$source.age"), CompileError, "source"),
        (expression('$source + "a"'), CompileError, "number"),
        (expression("$source / 2"), CompileError, "has type F64"),
        (expression("$source > 2"), CompileError, "has type Bool"),
        (expression("$source", "city") + expression("now()"), CompileError, "not allowed here"),
        (expression("$source", "ag"), UsageError, "no property 'ag'"),
        (expression("$source", type_="Parson"), UsageError, "no type 'Parson'"),
        ([{"property": "age", "expression": "1"}], UsageError, "needs a type and a property"),
        ([{"type": "Person", "property": "age", "expression": 1}], UsageError, "must be a string"),
        ([{"type": "Person", "take": "source", "expression": "1"}], UsageError, "exactly one of"),
        ([{"type": "Person", "take": "expression"}], UsageError, "unknown take"),
    ],
)
def test_an_expression_that_makes_no_sense_is_refused_before_anything_is_read(
    graph: omnigraph.Graph, rule: list[dict[str, Any]], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        graph.merge("b", resolutions=rule)
