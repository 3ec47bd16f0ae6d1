"""The best rows of a ranking are those of the full ranking, however few rows were measured to find them."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.exec.vectors import Block, Vectors, measured
from tests.support.tuning import retuned

ROWS = 600
DIMENSION = 6
SCHEMA = f"node D {{ slug: String @key  group: I32  body: String?  v: Vector({DIMENSION})? }}"
WORDS = ["fox", "dog", "graph", "table", "river", "stone", "cloud", "quick"]

NEAREST = "nearest($d.v, $v)"
FUSED = "rrf(nearest($d.v, $v), bm25($d.body, $q))"
TEXT_FIRST = "rrf(bm25($d.body, $q), nearest($d.v, $v), 2)"
THREE = "rrf(bm25($d.body, $q), nearest($d.v, $v), nearest($d.v, $w), 5)"
RETURNS = {
    "nearest": (f"$d.slug, {NEAREST} as s", NEAREST),
    "nearest, with the score of a text": ("$d.slug, bm25($d.body, $q) as s", NEAREST),
    "nearest, with a fusion that counts all rows": (f"$d.slug, {FUSED} as s", NEAREST),
    "fusion": (f"$d.slug, {FUSED} as s", FUSED),
    "fusion, text first": (f"$d.slug, {TEXT_FIRST} as s", TEXT_FIRST),
    "fusion of three": (f"$d.slug, {THREE} as s", THREE),
}


def record(rng: Random, slug: str) -> dict[str, Any]:
    """Small whole numbers and few words, so that distances and scores tie."""
    vector = None if rng.random() < 0.1 else [rng.randrange(4) for _ in range(DIMENSION)]
    body = None if rng.random() < 0.1 else " ".join(rng.choices(WORDS, k=rng.randrange(1, 4)))
    return {"type": "D", "data": {"slug": slug, "group": rng.randrange(10), "body": body, "v": vector}}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    rng = Random(1)
    graph = create(tmp_path_factory.mktemp("best") / "g", SCHEMA, durability="os")
    # Slugs in random order: ties are broken by id, not by position.
    slugs = rng.sample([f"d{number:04}" for number in range(ROWS)], ROWS)
    graph.load([record(rng, slug) for slug in slugs], "append")
    graph.mutate("query q() { delete D where group = 9 }")
    graph.load([record(rng, f"e{number:04}") for number in range(60)], "append")
    return graph


def ask(graph: Graph, shown: str, order: str, match: str, limit: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    types = {"v": f"Vector({DIMENSION})?", "w": f"Vector({DIMENSION})?", "q": "String"}
    params = ", ".join(f"${name}: {types[name]}" for name in values)
    text = f"query q({params}) {{ match {{ $d: D {match} }} return {{ {shown} }} order {{ {order} }} limit {limit} }}"
    return graph.query(text, values).to_dicts()


@pytest.mark.parametrize("shape", RETURNS)
def test_the_first_rows_and_scores_are_those_of_the_full_ranking(graph: Graph, shape: str) -> None:
    rng = Random(shape)
    shown, order = RETURNS[shape]
    for number in range(24):
        values: dict[str, Any] = {
            "v": [rng.randrange(5) / 2 for _ in range(DIMENSION)],
            "w": [rng.randrange(4) for _ in range(DIMENSION)],
            "q": " ".join(rng.choices([*WORDS, "nothing"], k=rng.randrange(1, 3))),
        }
        values = {name: value for name, value in values.items() if f"${name}" in shown + order}
        if number % 8 == 7:
            values["v"] = None
        match = rng.choice(["", "", "$d.group < 7"])
        limit = rng.choice(["1", "10", "10 offset 5"])
        with retuned(graph, exact_nodes_max=10, vectors_held_after=0):
            found = ask(graph, shown, order, match, limit, values)
        with retuned(graph, exact_nodes_max=10**9):
            assert found == ask(graph, shown, order, match, limit, values), (values, match, limit)


def test_vectors_in_memory_are_used_after_some_searches(graph: Graph) -> None:
    with retuned(graph, exact_nodes_max=10, vectors_held_after=0):
        assert len(ask(graph, *RETURNS["nearest"], "", "3", {"v": [1] * DIMENSION})) == 3
    searcher = graph._derived.searcher
    assert len(searcher.vectors._blocks) >= 2, "one for every fragment"


def test_a_search_sees_the_vectors_of_its_commit(tmp_path: Path) -> None:
    rng = Random(3)
    graph = create(tmp_path / "g", SCHEMA, durability="os")
    graph.load([record(rng, f"d{number}") for number in range(50)], "append")
    far = [100.0] * DIMENSION
    with retuned(graph, exact_nodes_max=10, vectors_held_after=0):
        before = ask(graph, *RETURNS["nearest"], "", "1", {"v": far})
        graph.load([{"type": "D", "data": {"slug": "far", "group": 1, "v": far}}], "append")
        assert ask(graph, *RETURNS["nearest"], "", "1", {"v": far}) == [{"d.slug": "far", "s": 0.0}]
        graph.mutate('query q() { delete D where slug = "far" }')
        assert ask(graph, *RETURNS["nearest"], "", "1", {"v": far}) == before


def blocks(rng: np.random.Generator, scale: float) -> tuple[Vectors, pa.Array]:
    width = int(rng.integers(1, 9))
    columns = []
    for rows in rng.integers(1, 200, 2):
        numbers = (rng.integers(0, 4, (rows, width)) * scale).astype(np.float32)
        columns.append(
            pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), width, mask=pa.array(rng.random(rows) < 0.1))
        )
    starts = np.array([0, len(columns[0])])
    return Vectors(starts, [Block.of(column) for column in columns]), pa.concat_arrays(columns)


@pytest.mark.parametrize("scale", [1, 1e-3, 1e6])
def test_the_nearest_of_the_vectors_are_found_with_all_ties(scale: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(200):
        vectors, column = blocks(rng, scale)
        query = rng.integers(0, 4, column.type.list_size) * scale
        alive = None if rng.random() < 0.5 else np.append(rng.random(len(column)) < 0.7, False)
        counts = column.is_valid().to_numpy(zero_copy_only=False) & (True if alive is None else alive[:-1])
        rows = np.flatnonzero(counts)
        matrix = np.array(column.take(pa.array(rows)).to_pylist(), np.float32).reshape(len(rows), -1)
        distances = measured(matrix, query)
        wanted = int(rng.integers(1, 20))
        limit = np.sort(distances)[min(wanted, len(rows)) - 1] if len(rows) else 0
        found = vectors.nearest(query, alive, wanted)
        assert found is not None
        assert found[0].tolist() == rows[distances <= limit].tolist()
        assert found[1].tolist() == distances[distances <= limit].tolist()


def test_numbers_whose_squares_overflow_are_left_to_the_full_ranking() -> None:
    column = pa.FixedSizeListArray.from_arrays(pa.array(np.full(8, 3e30, np.float32)), 2)
    assert Vectors(np.array([0]), [Block.of(column)]).nearest(np.zeros(2), None, 1) is None
