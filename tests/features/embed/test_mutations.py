"""Mutations make the vectors of `@embed` properties by the rules of loads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.core.ports import EmbeddingRole
from omnigraph.errors import EmbeddingError, EmbeddingUnavailable, ViolationError
from tests.features.embed.documents import SCHEMA, Recording, doc, note, stored, vector

OWN = [0.0, 0.0, 1.0]


@pytest.fixture
def embedder() -> Recording:
    return Recording()


@pytest.fixture
def graph(tmp_path: Path, embedder: Recording) -> omnigraph.Graph:
    return omnigraph.create(tmp_path / "g", SCHEMA, durability="os", embedder=embedder)


def run(graph: omnigraph.Graph, statements: str, **options: Any) -> Any:
    return graph.mutate(f"query q() {{ {statements} }}", **options)


def test_an_insert_makes_missing_vectors_and_keeps_given_ones(graph: omnigraph.Graph, embedder: Recording) -> None:
    run(
        graph,
        """insert Doc { slug: "a", text: "apples" }
        insert Doc { slug: "b", text: "boats", vec: [0.0, 0.0, 1.0] }
        insert Doc { slug: "c", text: "boats", vec: null }
        insert Doc { slug: "none" }
        insert Doc { slug: "blank", text: " " }
        insert Note { slug: "n", body: "apples" }""",
    )
    assert {role for _, _, role in embedder.requests} == {"document"}
    assert embedder.texts() == ["apples", "boats"], "no text twice, whatever property or type it is for"
    found = stored(graph)
    assert found["a"]["vec"] == found["a"]["named"] == found["n"]["vec"] == vector("apples")
    assert found["a"]["wide"] == vector("apples", 5)
    assert (found["b"]["vec"], found["b"]["named"]) == (OWN, vector("boats"))
    assert found["c"]["vec"] == vector("boats")
    assert not {"vec", "named", "wide"} & {*found["none"], *found["blank"]}


def test_an_insert_over_a_node_keeps_the_vector_of_a_text_that_stays(
    graph: omnigraph.Graph, embedder: Recording
) -> None:
    graph.load([doc("a", text="apples", vec=OWN), doc("b", text="boats")])
    embedder.requests.clear()
    run(graph, 'insert Doc { slug: "a", text: "apples", year: 7 } insert Doc { slug: "b", text: "birds" }')
    assert embedder.texts() == ["birds"]
    assert stored(graph)["a"]["vec"] == OWN
    assert stored(graph)["b"]["vec"] == vector("birds")


def test_an_update_of_the_text_makes_its_vectors_anew(graph: omnigraph.Graph, embedder: Recording) -> None:
    graph.load([doc("a", text="apples"), doc("b", text="boats", vec=OWN), doc("c", text="cars"), note("n", body="old")])
    embedder.requests.clear()
    run(graph, 'update Doc set { text: "pears" } where slug = "a" update Note set { body: "new" } where slug = "n"')
    assert embedder.texts() == ["new", "pears"]
    run(graph, 'update Doc set { text: "boats" } where slug = "b"')
    assert embedder.texts() == [], "the text is the same"
    run(graph, 'update Doc set { text: "trains", vec: [0.0, 0.0, 1.0] } where slug = "c"')
    found = stored(graph)
    assert found["a"]["vec"] == found["a"]["named"] == vector("pears")
    assert (found["a"]["wide"], found["n"]["vec"]) == (vector("pears", 5), vector("new"))
    assert found["b"]["vec"] == OWN
    assert (found["c"]["vec"], found["c"]["named"]) == (OWN, vector("trains"))


def test_the_last_statement_about_a_node_decides_its_vector(graph: omnigraph.Graph, embedder: Recording) -> None:
    run(
        graph,
        """insert Doc { slug: "a", text: "one" }
        update Doc set { text: "two" } where slug = "a"
        insert Doc { slug: "b", text: "three" }
        update Doc set { vec: [0.0, 0.0, 1.0] } where slug = "b"
        insert Doc { slug: "c", text: "four", vec: [0.0, 0.0, 1.0] }
        update Doc set { text: "five" } where slug = "c"
        insert Doc { slug: "d", text: "gone" }
        delete Doc where slug = "d" """,
    )
    assert embedder.texts() == ["five", "three", "two"]
    found = stored(graph)
    assert {slug: found[slug]["vec"] for slug in "abc"} == {"a": vector("two"), "b": OWN, "c": vector("five")}


def test_an_update_without_a_text_gives_up_the_vector(graph: omnigraph.Graph, embedder: Recording) -> None:
    graph.load([doc("a", text="apples"), note("n", body="body")])
    embedder.requests.clear()
    run(graph, 'update Doc set { text: null } where slug = "a"')
    assert "vec" not in stored(graph)["a"]
    with pytest.raises(ViolationError, match=r"missing required property Note\.vec \(Vector\(3\)\)"):
        run(graph, 'update Note set { body: " " } where slug = "n"')
    assert embedder.requests == []


def test_an_update_of_something_else_embeds_nothing(graph: omnigraph.Graph, embedder: Recording) -> None:
    omnigraph.open(graph.uri).load([doc("a", text="apples")])
    run(graph, 'update Doc set { year: 7 } where slug = "a"')
    assert embedder.requests == []
    assert "vec" not in stored(graph)["a"]
    run(graph, 'update Doc set { vec: null } where slug = "a"')
    assert stored(graph)["a"]["vec"] == vector("apples"), "a vector that is missing is made, as by a load"


def test_without_an_embedder_mutations_make_no_vector_and_keep_the_one_there_is(graph: omnigraph.Graph) -> None:
    plain = omnigraph.open(graph.uri)
    run(plain, 'insert Doc { slug: "a", text: "apples" } insert Note { slug: "n", body: "x", vec: [0.0, 0.0, 1.0] }')
    run(plain, 'update Note set { body: "y" } where slug = "n"')
    assert "vec" not in stored(graph)["a"]
    assert stored(graph)["n"]["vec"] == OWN
    with pytest.raises(ViolationError, match=r"missing required property Note\.vec"):
        run(plain, 'insert Note { slug: "m", body: "here" }')


def test_the_environment_may_name_the_embedder(graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    run(omnigraph.open(graph.uri), 'insert Note { slug: "n", body: "apples" }')
    assert stored(graph)["n"]["vec"] == vector("apples")


def test_an_embedder_is_looked_for_only_where_there_are_vectors_to_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise EmbeddingError("the environment is wrong")

    monkeypatch.setattr("omnigraph.embed.configured", broken)
    schema = "node A { k: String @key } node B { k: String @key t: String? v: Vector(3)? @embed(t) }"
    graph = omnigraph.create(tmp_path / "other", schema, durability="os")
    run(graph, 'insert A { k: "a" } delete B where k = "b"')
    with pytest.raises(EmbeddingError, match="the environment is wrong"):
        run(graph, 'insert B { k: "b", t: "text" }')


def test_nothing_is_embedded_for_a_mutation_that_breaks_a_rule(graph: omnigraph.Graph, embedder: Recording) -> None:
    broken = [
        'insert Doc { slug: "b", text: "boats", year: 4000 }',
        'insert About { from: "nowhere", to: "nowhere" }',
        'insert Note { slug: "n", body: " " }',
    ]
    for statement in broken:
        with pytest.raises(ViolationError):
            run(graph, f'insert Doc {{ slug: "a", text: "apples" }} {statement}')
    assert embedder.requests == []
    assert stored(graph) == {}


def test_an_embedder_that_fails_or_has_another_model_changes_nothing(graph: omnigraph.Graph) -> None:
    class Failing(Recording):
        def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
            raise EmbeddingUnavailable("no answer")

    head = graph.snapshot().commit_id
    with pytest.raises(EmbeddingUnavailable):
        run(omnigraph.open(graph.uri, embedder=Failing()), 'insert Doc { slug: "a", text: "apples" }')
    with pytest.raises(EmbeddingError, match=r"Doc\.named.*'model-a'.*'model-b'"):
        run(omnigraph.open(graph.uri, embedder=Recording("model-b")), 'insert Doc { slug: "a", text: "apples" }')
    assert graph.snapshot().commit_id == head


def test_a_preview_embeds_and_changes_nothing(graph: omnigraph.Graph, embedder: Recording) -> None:
    head = graph.snapshot().commit_id
    seen = graph.mutate_preview('query q() { insert Note { slug: "n", body: "apples" } }')
    assert [(change.key, change.inserted) for change in seen.tables] == [("node:Note", 1)]
    assert embedder.texts() == ["apples"]
    assert graph.snapshot().commit_id == head
    with pytest.raises(ViolationError):
        graph.mutate_preview('query q() { insert Note { slug: "n", body: "" } }')


def test_a_mutation_that_is_prepared_again_embeds_no_text_again(graph: omnigraph.Graph) -> None:
    class Overtaken(Recording):
        """Another writer commits while the first text is embedded."""

        def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
            if not self.requests:
                run(omnigraph.open(graph.uri), 'insert Doc { slug: "other" }')
            return super().embed(texts, dimension, role)

    slow = Overtaken()
    run(omnigraph.open(graph.uri, embedder=slow), 'insert Doc { slug: "a", text: "apples" }')
    assert slow.texts() == ["apples"]
    assert stored(graph)["a"]["vec"] == vector("apples")
    assert "other" in stored(graph)
