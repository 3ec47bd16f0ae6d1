"""A text of `nearest` is embedded once, before the query runs, by a model that fits the property."""

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.core.ports import EmbeddingRole
from omnigraph.embed import MockEmbedder, from_environment
from omnigraph.errors import EmbeddingError
from tests.features.embed.documents import Recording

SCHEMA = """
node Doc { slug: String @key
    text: String? @index
    vec: Vector(3)? @embed(text) @index
    named: Vector(3)? @embed(text, model="model-a")
    wide: Vector(5)? }
node Topic { name: String @key
    vec: Vector(3)? }
edge About: Doc -> Topic
"""
TEXTS = {"a": "apples and pears", "b": "boats", "c": "cities at night"}
NEAREST = "query q($t: String) { match { $d: Doc } return { $d.slug } order { nearest($d.vec, $t) } limit 2 }"


def vector(text: str, dimension: int = 3) -> list[float]:
    return list(MockEmbedder().embed([text], dimension, "document")[0])


@pytest.fixture
def embedder() -> Recording:
    return Recording()


@pytest.fixture
def graph(tmp_path: Path, embedder: Recording) -> omnigraph.Graph:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", embedder=embedder)
    records: list[dict[str, Any]] = [
        {
            "type": "Doc",
            "data": {"slug": slug, "text": text, "vec": vector(text), "named": vector(text), "wide": vector(text, 5)},
        }
        for slug, text in TEXTS.items()
    ]
    records += [{"type": "Doc", "data": {"slug": "none"}}]
    records += [{"type": "Topic", "data": {"name": text, "vec": vector(text)}} for text in TEXTS.values()]
    records += [{"edge": "About", "from": slug, "to": text} for slug, text in TEXTS.items()]
    graph.load(records)
    return graph


def slugs(graph: omnigraph.Graph, text: str, params: dict[str, object] | None = None) -> list[str]:
    return [row["d.slug"] for row in graph.query(text, params)]


@pytest.mark.parametrize(("slug", "text"), TEXTS.items())
def test_a_text_finds_what_its_own_vector_finds(
    graph: omnigraph.Graph, embedder: Recording, slug: str, text: str
) -> None:
    by_text = slugs(graph, NEAREST, {"t": text})
    by_vector = slugs(graph, NEAREST.replace("String", "Vector(3)"), {"t": vector(text)})
    assert by_text == by_vector
    assert by_text[0] == slug
    assert embedder.requests == [([text], 3, "query")]


def test_a_literal_is_embedded_as_well(graph: omnigraph.Graph) -> None:
    query = 'query q() { match { $d: Doc } return { $d.slug } order { nearest($d.vec, "boats") } limit 1 }'
    assert slugs(graph, query) == ["b"]


def test_equal_texts_are_embedded_once_and_those_of_one_dimension_together(
    graph: omnigraph.Graph, embedder: Recording
) -> None:
    query = (
        "query q($t: String, $u: String) { match { $d: Doc } return { $d.slug, nearest($d.vec, $t) as again } "
        "order { rrf(nearest($d.vec, $t), nearest($d.named, $u), nearest($d.wide, $t), bm25($d.text, $t)) } limit 3 }"
    )
    graph.query(query, {"t": "boats", "u": "apples"})
    assert embedder.requests == [(["apples", "boats"], 3, "query"), (["boats"], 5, "query")]


def test_a_variable_that_was_reached_is_ranked_by_text_too(graph: omnigraph.Graph) -> None:
    query = (
        "query q($t: String) { match { $d: Doc $d about $topic } return { $d.slug, nearest($topic.vec, $t) as far } "
        "order { nearest($topic.vec, $t) } limit 1 }"
    )
    (row,) = graph.query(query, {"t": "cities at night"})
    assert row == {"d.slug": "c", "far": 0.0}


def test_an_optional_variable_is_ranked_by_text_too(graph: omnigraph.Graph) -> None:
    query = (
        "query q($t: String) { match { $d: Doc maybe { $d about $topic } } return { $d.slug } "
        "order { nearest($topic.vec, $t) } limit 9 }"
    )
    assert slugs(graph, query, {"t": "boats"})[0] == "b"


def test_a_query_without_such_a_text_embeds_nothing(graph: omnigraph.Graph, embedder: Recording) -> None:
    slugs(graph, NEAREST.replace("String", "Vector(3)"), {"t": [1, 0, 0]})
    slugs(graph, 'query q() { match { $d: Doc search($d.text, "boats") } return { $d.slug } }')
    assert embedder.requests == []


def test_without_an_embedder_only_a_query_that_needs_one_fails(graph: omnigraph.Graph) -> None:
    plain = omnigraph.open(graph.uri)
    assert slugs(plain, NEAREST.replace("String", "Vector(3)"), {"t": vector("boats")})[0] == "b"
    with pytest.raises(EmbeddingError, match="without one"):
        plain.query(NEAREST, {"t": "boats"})


def test_the_environment_needs_no_key_unless_a_text_is_embedded(graph: omnigraph.Graph) -> None:
    opened = omnigraph.open(graph.uri, embedder=from_environment({}))
    assert slugs(opened, NEAREST.replace("String", "Vector(3)"), {"t": vector("boats")})[0] == "b"
    with pytest.raises(EmbeddingError, match="no API key"):
        opened.query(NEAREST, {"t": "boats"})


def test_a_model_other_than_the_recorded_one_is_an_error_that_names_both(graph: omnigraph.Graph) -> None:
    other = Recording("model-b")
    opened = omnigraph.open(graph.uri, embedder=other)
    query = NEAREST.replace("$d.vec", "$d.named")
    with pytest.raises(EmbeddingError, match=r"Doc\.named.*'model-a'.*'model-b'"):
        opened.query(query, {"t": "boats"})
    assert other.requests == []
    assert slugs(opened, NEAREST, {"t": "boats"})[0] == "b"
    assert slugs(graph, query, {"t": "boats"})[0] == "b"


def test_a_null_text_is_near_to_nothing(graph: omnigraph.Graph, embedder: Recording) -> None:
    assert slugs(graph, NEAREST.replace("String", "String?")) == []
    assert slugs(graph, NEAREST.replace("String", "Vector(3)?")) == []
    assert embedder.requests == []


@pytest.mark.parametrize("wrong", [[], [[1.0]], [[1.0, 2.0, float("nan")]], [[1.0, 0.0, 0.0]] * 2])
def test_a_vector_of_no_use_is_an_error_whoever_gave_it(graph: omnigraph.Graph, wrong: list[list[float]]) -> None:
    class Broken(Recording):
        def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
            return wrong

    with pytest.raises(EmbeddingError, match="the embedder gave"):
        omnigraph.open(graph.uri, embedder=Broken()).query(NEAREST, {"t": "boats"})


def test_a_graph_keeps_its_embedder_when_it_is_pickled(graph: omnigraph.Graph) -> None:
    opened = omnigraph.open(graph.uri, embedder=MockEmbedder("model-a"))
    assert slugs(pickle.loads(pickle.dumps(opened)), NEAREST, {"t": "boats"})[0] == "b"
