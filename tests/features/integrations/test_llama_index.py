"""LlamaIndex: a property graph store that agrees with the one in memory, and an index on top of it.

LlamaIndex publishes no suite for property graph stores; its store in memory defines what callers rely on.
"""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra llama-index")

from llama_index.core import Document, MockEmbedding, PropertyGraphIndex
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    ChunkNode,
    EntityNode,
    Relation,
    Triplet,
)
from llama_index.core.indices.property_graph import VectorContextRetriever
from llama_index.core.schema import TransformComponent
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)

import omnigraph
from omnigraph.errors import UsageError
from omnigraph.integrations.llama_index import OmnigraphPropertyGraphStore
from tests.features.server.live import running, serving_of

PEOPLE = [
    EntityNode(name="Ada", label="Person", properties={"born": 1815}, embedding=[1.0, 0.0]),
    EntityNode(name="Babbage", label="Person", properties={"born": 1791}, embedding=[0.6, 0.8]),
    EntityNode(name="Engine", label="Machine", properties={"kind": "analytical"}, embedding=[0.0, 2.0]),
    ChunkNode(id_="c1", text="Ada knew Babbage.", properties={"page": 1}),
]
LINKS = [
    Relation(label="KNEW", source_id="Ada", target_id="Babbage", properties={"since": 1833}),
    Relation(label="BUILT", source_id="Babbage", target_id="Engine"),
    Relation(label="DESCRIBED", source_id="Ada", target_id="Engine"),
    Relation(label="OF", source_id="Engine", target_id="Brass"),
]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[OmnigraphPropertyGraphStore, SimplePropertyGraphStore]:
    ours = OmnigraphPropertyGraphStore(tmp_path_factory.mktemp("llama") / "kg.omni", durability="os")
    theirs = SimplePropertyGraphStore()
    for store in (ours, theirs):
        store.upsert_nodes(PEOPLE)
        store.upsert_relations(LINKS)
    return ours, theirs


def nodes(found: list[Any]) -> list[tuple[Any, ...]]:
    return sorted((node.id, node.label, str(node), sorted(node.properties.items())) for node in found)


def triplets(found: list[Triplet]) -> list[tuple[Any, ...]]:
    return sorted({(a.id, r.label, b.id, str(sorted(r.properties.items()))) for a, r, b in found})


@pytest.mark.parametrize(
    "given",
    [{}, {"ids": ["Ada", "c1", "none"]}, {"properties": {"born": 1815}}, {"ids": ["Ada"], "properties": {"born": 1}}],
)
def test_nodes_are_those_of_the_store_in_memory(given: dict[str, Any], stores: Any) -> None:
    ours, theirs = (nodes(store.get(**given)) for store in stores)
    assert ours == theirs


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"entity_names": ["Ada"]},
        {"relation_names": ["BUILT", "KNEW"]},
        {"properties": {"since": 1833}},
        {"properties": {"kind": "analytical"}},
        {"ids": ["Engine"], "relation_names": ["BUILT"]},
        {"entity_names": ["Ada"], "ids": ["Babbage"]},
    ],
)
def test_triplets_are_those_of_the_store_in_memory(given: dict[str, Any], stores: Any) -> None:
    ours, theirs = (triplets(store.get_triplets(**given)) for store in stores)
    assert ours == theirs


@pytest.mark.parametrize("given", [{"depth": 1}, {"depth": 2}, {"depth": 3, "ignore_rels": ["BUILT"]}])
def test_the_relations_around_nodes_are_those_of_the_store_in_memory(given: dict[str, Any], stores: Any) -> None:
    ours, theirs = (triplets(store.get_rel_map(store.get(ids=["Ada"]), **given)) for store in stores)
    assert ours == theirs


def test_vectors_are_ranked_by_their_cosine_under_filters(stores: Any) -> None:
    store = stores[0]

    def search(**given: Any) -> tuple[list[str], list[float]]:
        found, scores = store.vector_query(VectorStoreQuery(query_embedding=[1.0, 0.0], **given))
        return [node.id for node in found], [round(score, 3) for score in scores]

    assert search(similarity_top_k=2) == (["Ada", "Babbage"], [1.0, 0.6])
    equal = MetadataFilter(key="kind", value="analytical")
    early = MetadataFilter(key="born", value=[1791], operator=FilterOperator.IN)
    one = MetadataFilters(filters=[equal])
    either = MetadataFilters(filters=[equal, early], condition=FilterCondition.OR)
    neither = MetadataFilters(filters=[equal, early], condition=FilterCondition.NOT)
    assert search(similarity_top_k=1, filters=one) == (["Engine"], [0.0])
    assert search(similarity_top_k=3, filters=either)[0] == ["Babbage", "Engine"]
    assert search(similarity_top_k=3, filters=neither)[0] == ["Ada"]
    assert store.vector_query(VectorStoreQuery(query_str="no vector")) == ([], [])
    later = MetadataFilters(filters=[MetadataFilter(key="born", value=1800, operator=FilterOperator.GT)])
    with pytest.raises(UsageError, match="filters by '>' are not supported"):
        search(filters=later)


def test_structured_queries_read_the_whole_graph(stores: Any) -> None:
    store = stores[0]
    text = (
        "query q($label: String) { match { $a: Entity $a $r: relation $b $r.label = $label }"
        " return { $a.name as a, $b.name as b } }"
    )
    assert store.structured_query(text, {"label": "KNEW"}) == [{"a": "Ada", "b": "Babbage"}]
    assert "node Entity" in store.get_schema()


async def test_deletions_take_relations_along_and_every_method_can_be_awaited(tmp_path: Path) -> None:
    local = omnigraph.create(tmp_path / "kg.omni", "node Other { name: String @key }")
    with running(serving_of(local)) as live:
        store = OmnigraphPropertyGraphStore(f"{live.address}/graphs/kb")
        with store.client:
            await store.aupsert_nodes(PEOPLE)
            await store.aupsert_relations(LINKS)
            await store.adelete(relation_names=["DESCRIBED"])
            assert triplets(await store.aget_triplets(ids=["Ada"])) == [("Ada", "KNEW", "Babbage", "[('since', 1833)]")]
            await store.adelete(properties={"kind": "analytical"})
            assert triplets(await store.aget_triplets(entity_names=["Babbage"]))[0][:3] == ("Ada", "KNEW", "Babbage")
            assert len(await store.aget_rel_map(await store.aget(ids=["Ada"]))) == 1
            found, _ = await store.avector_query(VectorStoreQuery(query_embedding=[0.0, 1.0], similarity_top_k=9))
            assert [node.id for node in found] == ["Babbage", "Ada"]
            await store.adelete(entity_names=["Ada"])
            assert await store.aget_triplets(ids=["Babbage"]) == []
            rows = await store.astructured_query("query q() { match { $e: Entity } return { count($e) as n } }")
            assert rows == [{"n": 3}]


class Extractor(TransformComponent):
    """Finds the same two people in every text."""

    def __call__(self, nodes: Any, **kwargs: Any) -> Any:
        for node in nodes:
            node.metadata[KG_NODES_KEY] = [EntityNode(name="Ada"), EntityNode(name="Babbage")]
            node.metadata[KG_RELATIONS_KEY] = [Relation(label="KNEW", source_id="Ada", target_id="Babbage")]
        return nodes


def test_an_index_keeps_its_graph_and_its_vectors_in_the_store(tmp_path: Path) -> None:
    model = MockEmbedding(embed_dim=4)
    store = OmnigraphPropertyGraphStore(tmp_path / "index.omni", durability="os")
    PropertyGraphIndex.from_documents(
        [Document(text="Ada knew Babbage. " * 3, doc_id="d1")],
        kg_extractors=[Extractor()],
        property_graph_store=store,
        embed_model=model,
    )
    assert store.client.counts()["EntityVector"] == 3
    again = OmnigraphPropertyGraphStore(store.client)
    retriever = VectorContextRetriever(again, embed_model=model, include_text=True)
    assert "Ada knew Babbage." in retriever.retrieve("who knew Babbage?")[0].text
