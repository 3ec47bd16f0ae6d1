"""`nearest` through a vector index: recall, conditions, changes, and the exact answer wherever there is no index."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.exec.rank import nearest
from tests.support.tuning import EAGER, retuned

SCHEMA = """
node Doc {
  slug: String @key
  group: I64 @index
  v: Vector(16)? @index
}
"""
ROWS = 20_000
BY_INDEX = Tuning(vectors_held_after=10**9)
"""Vectors are never kept in memory."""
BY_INDEX_AT_ONCE = replace(EAGER, vectors_held_after=10**9)
DIMENSION = 16
Matrix = npt.NDArray[np.float32]


def matrix(seed: int, rows: int) -> Matrix:
    """Vectors in clusters, as embeddings are."""
    drawn = np.random.default_rng(seed)
    centres = drawn.standard_normal((200, DIMENSION))
    return (centres[drawn.integers(0, 200, rows)] + 0.3 * drawn.standard_normal((rows, DIMENSION))).astype(np.float32)


def docs(vectors: Matrix, start: int = 0) -> pa.Table:
    numbers = np.arange(start, start + len(vectors))
    missing = pa.array(numbers % 97 == 0)
    values = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSION, mask=missing)
    return pa.table({"slug": [f"d{number:06}" for number in numbers], "group": numbers % 100, "v": values})


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    graph = omnigraph.create(tmp_path_factory.mktemp("nearest") / "g", SCHEMA, durability="os", tuning=BY_INDEX)
    graph.load(docs(matrix(1, ROWS)), "append", type_name="Doc")
    graph.optimize()
    return graph


@pytest.fixture
def requested_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of rows of each request to the index."""
    counts: list[int] = []
    original = nearest.nearest_rows

    def nearest_rows(store: Any, pin: Any, column: str, query: Any, count: int) -> Any:
        counts.append(count)
        return original(store, pin, column, query, count)

    monkeypatch.setattr(nearest, "nearest_rows", nearest_rows)
    return counts


def ask(graph: omnigraph.Graph, vector: Matrix, condition: str = "", limit: int = 10, more: str = "") -> list[str]:
    text = (
        f"query q($v: Vector({DIMENSION})) {{ match {{ $d: Doc {condition} }} return {{ $d.slug }} "
        f"order {{ nearest($d.v, $v) }} limit {limit} {more} }}"
    )
    return [row["d.slug"] for row in graph.query(text, {"v": vector.tolist()}).to_pylist()]


def exact(graph: omnigraph.Graph, *arguments: Any, **options: Any) -> list[str]:
    with retuned(graph, exact_nodes_max=10**9):
        return ask(graph, *arguments, **options)


def questions(count: int) -> Iterator[Matrix]:
    vectors = matrix(1, ROWS)
    drawn = np.random.default_rng(5)
    for number in drawn.integers(0, ROWS, count):
        yield vectors[number] + 0.1 * drawn.standard_normal(DIMENSION).astype(np.float32)


def recall(graph: omnigraph.Graph, condition: str = "") -> float:
    hits = [len({*ask(graph, vector, condition)} & {*exact(graph, vector, condition)}) for vector in questions(40)]
    return sum(hits) / (10 * len(hits))


def test_the_index_finds_nearly_all_of_the_ten_closest(
    indexed: omnigraph.Graph, requested_rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recall(indexed) >= 0.95
    assert requested_rows == [50] * 40


def test_a_graph_of_neighbours_over_vectors_without_clusters_finds_them_as_well(
    tmp_path: Path, requested_rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning = replace(BY_INDEX_AT_ONCE, graph_vectors_min=4_000)
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=tuning)
    vectors = np.random.default_rng(3).standard_normal((6_000, DIMENSION)).astype(np.float32)
    graph.load(docs(vectors), "append", type_name="Doc")
    graph.optimize()
    graph.load(docs(vectors[:1_000] + 0.5, 6_000), "append", type_name="Doc")
    graph.optimize()
    pin = graph.snapshot().state.tables["node:Doc"]
    described = graph._store.open(pin.location, pin.lance_version).describe_indices()
    (index,) = [item for item in described if item.index_type.startswith("IVF")]
    assert (index.index_type, len(index.segments)) == ("IVF_HNSW_SQ", 2)
    assert recall(graph) >= 0.95
    assert len(requested_rows) == 40


def test_conditions_that_leave_many_are_met_and_the_index_is_asked_for_more(
    indexed: omnigraph.Graph, requested_rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recall(indexed, "$d.group < 20") >= 0.95
    assert set(requested_rows) == {200}


def test_conditions_that_leave_few_are_answered_exactly(
    indexed: omnigraph.Graph, requested_rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for condition in ("$d.group = 7", "$d.group < 2"):
        assert recall(indexed, condition) == 1.0
    assert requested_rows == []


def test_later_pages_and_the_order_are_those_of_the_exact_answer(
    indexed: omnigraph.Graph, requested_rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = next(questions(1))
    whole = ask(indexed, vector, limit=30)
    assert whole == exact(indexed, vector, limit=30)
    assert ask(indexed, vector, limit=10, more="offset 20") == whole[20:]
    assert len(requested_rows) == 2


def test_equal_distances_are_answered_exactly(tmp_path: Path, requested_rows: list[int]) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=BY_INDEX_AT_ONCE)
    graph.load(docs(np.ones((3_000, DIMENSION), np.float32)), "append", type_name="Doc")
    graph.optimize()
    expected = [f"d{number:06}" for number in range(1, 11)]
    assert ask(graph, np.ones(DIMENSION, np.float32)) == expected
    assert requested_rows


def test_changed_rows_and_rows_that_are_not_covered_are_seen(
    tmp_path: Path, requested_rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=BY_INDEX_AT_ONCE)
    vectors = matrix(2, 3_000)
    graph.load(docs(vectors), "append", type_name="Doc")
    graph.optimize()
    target = vectors[1_234]
    assert ask(graph, target)[0] == "d001234"
    far = np.full((1, DIMENSION), 50, np.float32)
    graph.load(docs(far, 1_234), "merge", type_name="Doc")
    graph.load(docs(np.vstack([target, target + 0.01]), 3_000), "append", type_name="Doc")
    graph.mutate('query q() { delete Doc where slug = "d003001" }')
    found = ask(graph, target)
    assert found == exact(graph, target)
    assert found[0] == "d003000"
    assert not {"d001234", "d003001"} & {*found}
    assert ask(graph, far[0])[0] == "d001234"
    assert len(requested_rows) == 3


def test_a_limit_above_the_number_of_vectors_gives_all_of_them(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=BY_INDEX_AT_ONCE)
    graph.load(docs(matrix(2, 1_100)), "append", type_name="Doc")
    graph.optimize()
    assert len(ask(graph, matrix(2, 1)[0], limit=5_000)) == 1_100 - len(range(0, 1_100, 97))
