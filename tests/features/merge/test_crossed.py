"""Crossed histories whose best common ancestors have other schemas, or blobs that are stored more than once."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import SchemaConflict
from tests.features.merge.graphs import kinds, refused
from tests.features.merge.test_merge import doc
from tests.promises.protocol.graphs import contents, create, person, run

START = """
node Person { name: String @key
    age: I32? }
node City { title: String @key }
"""
WAYS = [("b", "main"), ("main", "b")]


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    """Main and b, which are the same."""
    made = create(tmp_path, START)
    made.load([person("ann", age=1), person("bo", age=2)])
    made.create_branch("b")
    return made


def changed(old: str, new: str) -> str:
    assert old in START
    return START.replace(old, new)


def cross(graph: omnigraph.Graph, main: Callable[[], object] = list, b: Callable[[], object] = list) -> None:
    """Merge each branch's present head into the other one, after something was done there to make it possible."""
    for branch in ("main", "b"):
        graph.create_branch(f"before-{branch}", branch)
    for branch, other, prepare in (("main", "b", main), ("b", "main", b)):
        prepare()
        graph.merge(f"before-{other}", branch)


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_what_one_ancestor_declared_and_a_side_dropped_again_is_gone(
    graph: omnigraph.Graph, source: str, target: str
) -> None:
    graph.apply_schema(changed("age: I32?", "age: I32? x: I32?"))
    graph.apply_schema(changed("age: I32?", "age: I32? y: I32?"), branch="b")
    for branch, name in (("main", "x"), ("b", "y")):
        run(graph, f'update Person set {{{name}: 5}} where name = "ann"', branch=branch)
    cross(graph)
    assert contents(graph) == contents(graph.snapshot("b"))
    graph.apply_schema(changed("age: I32?", "age: I32? y: I32?"), branch=source)
    run(graph, 'update Person set {y: 6} where name = "ann"', branch=source)
    run(graph, 'update Person set {x: 7, age: 8} where name = "bo"', branch=target)
    graph.merge(source, target)
    assert contents(graph.snapshot(target))["Person"] == [
        {"name": "ann", "age": 1, "y": 6},
        {"name": "bo", "age": 8},
    ]
    assert graph.verify(deep=True).is_clean


SUM, MAX = (changed("age: I32?", f"age: I32? @merge({policy})") for policy in ("sum", "max"))
DROPPED = changed("node City { title: String @key }", "")
LARGER = changed("title: String @key", "title: String @key size: I32?")


@pytest.mark.parametrize(("source", "target"), WAYS)
@pytest.mark.parametrize(
    ("one", "other", "type_"), [(SUM, MAX, "Person"), (DROPPED, LARGER, "City")], ids=["changed", "dropped"]
)
def test_schemas_that_were_settled_differently_are_a_conflict(
    graph: omnigraph.Graph, one: str, other: str, type_: str, source: str, target: str
) -> None:
    first = graph.apply_schema(one).commit
    assert first is not None
    graph.apply_schema(other, branch="b")
    # A type that is declared again is another one; only a revert brings it back.
    back = partial(graph.apply_schema, other) if type_ == "Person" else partial(graph.revert, first.id)
    cross(graph, back, partial(graph.apply_schema, one, branch="b"))
    head = graph.snapshot(target).commit_id
    for act in (graph.merge_preview, graph.merge):
        with pytest.raises(SchemaConflict, match=f"2 best common ancestors .* {type_};") as conflict:
            act(source, target)
        assert conflict.value.facts["types"] == [type_]
    assert graph.snapshot(target).commit_id == head
    # As the error says: one schema for both.
    graph.apply_schema(one)
    run(graph, 'update Person set {age: 9} where name = "bo"', branch=source)
    graph.merge(source, target)
    assert contents(graph.snapshot(target)) == contents(graph.snapshot(source))


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_schemas_that_were_settled_alike_go_on(graph: omnigraph.Graph, source: str, target: str) -> None:
    graph.apply_schema(SUM)
    graph.apply_schema(MAX, branch="b")
    cross(graph, partial(graph.apply_schema, MAX), partial(graph.apply_schema, SUM, branch="b"))
    graph.apply_schema(MAX, branch="b")
    graph.apply_schema(MAX.replace("node City", "node Pet { name: String @key }\nnode City"), branch=source)
    run(graph, 'insert Pet {name: "rex"} update Person set {age: 5} where name = "ann"', branch=source)
    run(graph, 'update Person set {age: 3} where name = "ann"', branch=target)
    graph.merge(source, target)
    assert contents(graph.snapshot(target)) == {
        "Person": [{"age": 2, "name": "bo"}, {"age": 5, "name": "ann"}],
        "Pet": [{"name": "rex"}],
    }


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_a_blob_that_was_only_moved_is_no_change(tmp_path: Path, source: str, target: str) -> None:
    graph = create(tmp_path, "node Doc { name: String @key\n body: Blob?\n n: I64?\n m: I64? }")
    graph.load([doc("other", body=b"o"), doc("a", body=b"old")])
    graph.create_branch("b")
    run(graph, 'update Doc set {n: 1} where name = "a"')
    run(graph, 'update Doc set {m: 1} where name = "a"', branch="b")
    cross(graph)
    # Every write of an entity stores its blob again.
    run(graph, 'update Doc set {n: 2} where name = "a"', branch=source)
    graph.load([doc("a", body=b"new", n=1, m=1)], branch=target)
    assert graph.merge(source, target).outcome.value == "merged"
    [row, _] = graph.snapshot(target).to_arrow("node:Doc").sort_by("id").to_pylist()
    assert row == {"id": "a", "name": "a", "body": b"new", "n": 2, "m": 1}
    # Other bytes of the same size are another value.
    graph.load([doc("a", body=b"two", n=2, m=1)], branch=source)
    assert kinds(refused(graph, source, target)) == [("divergent_update", "a", "body")]
