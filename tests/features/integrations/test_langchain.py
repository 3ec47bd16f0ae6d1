"""LangChain: its own suites for vector stores and retrievers, and what they do not ask for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_tests", reason="needs the extra langchain, and langchain-tests")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

import omnigraph
from omnigraph.errors import UsageError
from omnigraph.integrations.langchain import OmnigraphGraph, OmnigraphRetriever, OmnigraphVectorStore
from tests.features.server.live import running, serving_of


@dataclass
class Node:
    """A node of a graph document. Several packages of LangChain define these classes; their attributes are the same."""

    id: str
    type: str
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass
class Relationship:
    source: Node
    target: Node
    type: str
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass
class GraphDocument:
    nodes: list[Node]
    relationships: list[Relationship]
    source: Document


EMBEDDING = DeterministicFakeEmbedding(size=6)
TEXTS = ["graphs have nodes", "branches are merged", "commits have parents", "vectors are close", "nodes have labels"]
METADATAS = [{"topic": "graph", "n": number % 2, "tags": ["a", "b"]} for number in range(5)]


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[OmnigraphVectorStore]:  # type: ignore[override] # a fixture
        return OmnigraphVectorStore(tmp_path / "documents.omni", self.get_embeddings(), durability="os")


class TestRetriever(RetrieversIntegrationTests):
    known: omnigraph.Graph

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _graph(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        cls.known = articles(tmp_path_factory.mktemp("retriever"))

    @property
    def retriever_constructor(self) -> type[OmnigraphRetriever]:
        return OmnigraphRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"graph": self.known, "types": ["Article"], "embedding": EMBEDDING}

    @property
    def retriever_query_example(self) -> str:
        return "graphs"


def articles(place: Path) -> omnigraph.Graph:
    """Typed nodes with texts, vectors and edges."""
    graph = omnigraph.create(
        place / "kb.omni",
        "node Article { slug: String @key  body: String  embedding: Vector(6)? }\n"
        "node Author { name: String @key }\nedge Wrote: Author -> Article",
        durability="os",
    )
    vectors = EMBEDDING.embed_documents(TEXTS)
    graph.load(
        {
            "Article": [
                {"slug": f"a{number}", "body": text, "embedding": vector}
                for number, (text, vector) in enumerate(zip(TEXTS, vectors, strict=True))
            ],
            "Author": [{"name": "ann"}],
            "Wrote": [{"src": "ann", "dst": "a0"}, {"src": "ann", "dst": "a4"}],
        }
    )
    return graph


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[OmnigraphVectorStore, InMemoryVectorStore]:
    ids = [str(number) for number in range(5)]
    place = tmp_path_factory.mktemp("stores") / "d.omni"
    ours = OmnigraphVectorStore.from_texts(TEXTS, EMBEDDING, METADATAS, ids=ids, graph=place)
    theirs = InMemoryVectorStore.from_texts(TEXTS, EMBEDDING, METADATAS, ids=ids)
    return ours, theirs


def test_the_scores_are_those_of_the_store_in_memory(
    stores: tuple[OmnigraphVectorStore, InMemoryVectorStore],
) -> None:
    ours, theirs = (store.similarity_search_with_score("nodes", k=5) for store in stores)
    assert [document.id for document, _ in ours] == [document.id for document, _ in theirs]
    assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=1e-5)
    mine, other = (store.max_marginal_relevance_search("nodes", k=3, fetch_k=5) for store in stores)
    assert [document.id for document in mine] == [document.id for document in other]


def test_a_filter_selects_documents_before_they_are_ranked(
    stores: tuple[OmnigraphVectorStore, InMemoryVectorStore],
) -> None:
    ours, theirs = stores
    odd = theirs.similarity_search("nodes", k=5, filter=lambda document: document.metadata["n"] == 1)
    assert ours.similarity_search("nodes", k=5, filter={"n": 1}) == odd
    assert len(ours.similarity_search("x", k=9, filter={"n": {"$in": [0, 1]}, "topic": "graph"})) == 5
    assert ours.similarity_search("x", filter={"topic": "other"}) == []
    assert ours.similarity_search("x", filter={"n": {"$in": []}}) == []
    assert len(ours.similarity_search("x", k=1, filter={"tags": ["a", "b"]})) == 1
    with pytest.raises(UsageError, match="unknown condition on 'n'"):
        ours.similarity_search("x", filter={"n": {"$gt": 1}})


async def test_relevance_is_between_zero_and_one(
    stores: tuple[OmnigraphVectorStore, InMemoryVectorStore],
) -> None:
    for _, score in stores[0].similarity_search_with_relevance_scores(TEXTS[0], k=5):
        assert 0 <= score <= 1
    assert (await stores[0].asimilarity_search_with_relevance_scores(TEXTS[0], k=1))[0][1] == pytest.approx(1, abs=1e-6)
    found = await stores[0].amax_marginal_relevance_search("nodes", k=2)
    assert len(found) == 2


def test_documents_are_entities_with_history_and_branches(tmp_path: Path) -> None:
    store = OmnigraphVectorStore(tmp_path / "d.omni", EMBEDDING, dims=6)
    store.add_documents([Document(id="1", page_content="old")])
    store.graph.create_branch("draft")
    draft = OmnigraphVectorStore(store.graph, EMBEDDING, branch="draft")
    draft.add_documents([Document(id="1", page_content="new"), Document(id="2", page_content="more")])
    assert [document.page_content for document in store.get_by_ids(["1", "2"])] == ["old"]
    store.graph.merge("draft")
    assert [document.page_content for document in store.get_by_ids(["1", "2"])] == ["new", "more"]
    assert store.graph.sql("select count(*) as n from Document").to_dicts() == [{"n": 2}]
    assert store.delete()
    assert store.similarity_search("new") == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store: store.add_texts(["a"], ids=["1", "2"]), "1 texts have 2 ids"),
        (lambda store: store.similarity_search_by_vector([1.0]), "1 numbers is compared with embeddings of 6"),
        (lambda store: OmnigraphVectorStore.from_texts(["a"], EMBEDDING), "no graph is given"),
        (lambda store: OmnigraphVectorStore(store.graph, EMBEDDING, dims=7), r"no property embedding: Vector\(7\)"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    call: Any, message: str, stores: tuple[OmnigraphVectorStore, InMemoryVectorStore]
) -> None:
    with pytest.raises(UsageError, match=message):
        call(stores[0])


def test_a_retriever_finds_typed_nodes_by_words_and_names_their_neighbours(tmp_path: Path) -> None:
    graph = articles(tmp_path)
    found = OmnigraphRetriever(graph=graph, mode="text", neighbours=True, k=9).invoke("nodes")
    assert [(document.id, document.page_content.splitlines()[-1]) for document in found] == [
        ("a0", TEXTS[0]),
        ("a4", TEXTS[4]),
    ]
    assert found[0].metadata["neighbours"] == [{"edge": "Wrote", "type": "Author", "id": "ann"}]
    assert found[0].metadata["commit"] == graph.snapshot().commit_id
    closest = OmnigraphRetriever(graph=graph, types=["Article"], mode="vector", embedding=EMBEDDING, k=1)
    assert closest.invoke(TEXTS[2])[0].id == "a2"
    with pytest.raises(UsageError, match="none of the types has properties to search by vector"):
        OmnigraphRetriever(graph=graph, types=["Author"], mode="vector", embedding=EMBEDDING).invoke("x")
    with running(serving_of(graph)) as live, omnigraph.open(f"{live.address}/graphs/kb", token=None) as remote:
        assert OmnigraphRetriever(graph=remote, mode="text", neighbours=True, k=9).invoke("nodes") == found


def test_graph_documents_become_nodes_and_relations_as_one_commit(tmp_path: Path) -> None:
    store = OmnigraphGraph(tmp_path / "g.omni")
    ada, babbage = Node(id="Ada", type="Person", properties={"born": 1815}), Node(id="Babbage", type="Person")
    knows = Relationship(source=ada, target=babbage, type="KNOWS", properties={"since": 1833})
    document = GraphDocument(
        nodes=[ada, babbage],
        relationships=[knows],
        source=Document(page_content="Ada knew Babbage.", metadata={"p": 1}),
    )
    before = len(list(store.graph.commits()))
    store.add_graph_documents([document], include_source=True)
    assert len(list(store.graph.commits())) == before + 1
    rows = store.query(
        "query q($label: String) { match { $a: Entity $a $r: relation $b $r.label = $label }"
        " return { $a.name as a, $b.name as b, $r.properties as properties } }",
        {"label": "KNOWS"},
    )
    assert rows == [{"a": "Ada", "b": "Babbage", "properties": '{"since": 1833}'}]
    mentions = store.query(
        'query q() { match { $d: Entity { label: "Document" } $d $r: relation $e } return { $e.name as e } }'
    )
    assert sorted(row["e"] for row in mentions) == ["Ada", "Babbage"]
    # Properties that a later document does not name are kept.
    again = GraphDocument(
        nodes=[Node(id="Ada", type="Person", properties={"died": 1852})],
        relationships=[Relationship(source=ada, target=babbage, type="KNOWS", properties={"met": "London"})],
        source=Document(page_content=""),
    )
    store.add_graph_documents([again])
    read = 'query q() { match { $a: Entity { name: "Ada" } } return { $a.properties as p } }'
    assert store.query(read) == [{"p": '{"born": 1815, "died": 1852}'}]
    link = 'query q() { match { $a: Entity $a $r: relation $b $r.label = "KNOWS" } return { $r.properties as p } }'
    assert store.query(link) == [{"p": '{"since": 1833, "met": "London"}'}]
    assert "node Entity" in store.get_schema
    assert {"start": "Entity", "type": "Relation", "end": "Entity"} in store.get_structured_schema["relationships"]
