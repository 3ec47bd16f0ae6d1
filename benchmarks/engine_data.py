"""The social graphs of the engine benchmark: persons, who follows whom, and documents with vectors, as Parquet files.

Everything is determined by the size and a seed. In-degrees and out-degrees are skewed independently of each other. A
few persons have no outgoing edge. There are no parallel edges and no self-loops, so that systems which count parallel
edges differently still find the same paths and neighbours.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.engine_queries import VECTOR

Random = np.random.Generator

SKEW = 0.6
"""The weight of the person of rank r is r to the power of minus this."""

SILENT = 0.03
"""The share of persons without outgoing edges."""

CITIES = 200
COHORT = 1_000
"""Persons in one cohort, whatever the size of the graph: a predicate that chooses about a thousand of them."""

VOCABULARY = 5_000
CLUSTERS = 400
QUERIES = 20
"""Different parameters of every query, so that no system answers from a result cache."""

ROW_GROUP = 500_000


@dataclass(frozen=True)
class Size:
    name: str
    persons: int
    edges: int
    documents: int
    seed: int = 11


SIZES = {
    size.name: size
    for size in (
        Size("tiny", 5_000, 50_000, 2_000),
        Size("small", 100_000, 1_000_000, 100_000),
        Size("large", 1_000_000, 10_000_000, 100_000),
    )
}


@dataclass(frozen=True)
class Data:
    """The files of one graph, and the parameters that queries about it take."""

    size: Size
    directory: Path
    choices: dict[str, Any]

    @property
    def persons(self) -> Path:
        return self.directory / "persons.parquet"

    @property
    def follows(self) -> Path:
        return self.directory / "follows.parquet"

    @property
    def documents(self) -> Path:
        return self.directory / "documents.parquet"


def ensure(size: Size, directory: Path) -> Data:
    """The files of a graph, generated if missing. The choices are written last and mark the files as complete."""
    directory.mkdir(parents=True, exist_ok=True)
    done = directory / "choices.json"
    data = Data(size, directory, {})
    if not done.exists() or json.loads(done.read_text())["size"] != asdict(size):
        random = np.random.default_rng(size.seed)
        persons = _persons(size, random)
        pq.write_table(persons, data.persons, row_group_size=ROW_GROUP)
        sources, targets = _edges(size, random)
        _write_follows(data.follows, persons["key"].combine_chunks(), sources, targets, random)
        documents, search = _documents(size, random)
        pq.write_table(documents, data.documents, row_group_size=20_000)
        starts = _starts(persons["key"].combine_chunks(), np.bincount(sources, minlength=size.persons))
        lookups = persons["key"].take(random.integers(0, size.persons, QUERIES)).to_pylist()
        done.write_text(json.dumps({"size": asdict(size), "starts": starts, "lookups": lookups, "search": search}))
    return Data(size, directory, json.loads(done.read_text()))


def keys(count: int) -> pa.Array:
    """Different texts in no order, as keys are: an odd factor permutes the numbers of 32 bits."""
    numbers = (np.arange(count, dtype=np.uint64) * np.uint64(2_654_435_761)) & np.uint64(0xFFFFFFFF)
    return pa.array([f"p{number:08x}" for number in numbers.tolist()], pa.string())


def words() -> list[str]:
    """Made-up words that no stemmer shortens to the same stem."""
    syllables = [first + last for first in "bdfgklmnprstvz" for last in "aeiou"]
    return [
        syllables[n % 70] + syllables[(n // 70) % 70] + syllables[(n * 31) % 70] + f"x{n % 10}"
        for n in range(VOCABULARY)
    ]


def _texts(count: int, length: int, random: Random) -> pa.Array:
    vocabulary = pa.array(words())
    ranks = np.minimum(random.zipf(1.3, (length, count)) - 1, VOCABULARY - 1)
    return pc.binary_join_element_wise(*(vocabulary.take(pa.array(row)) for row in ranks), " ")


def _persons(size: Size, random: Random) -> pa.Table:
    count = size.persons
    first = pa.array([word.capitalize() for word in words()[:300]])
    last = pa.array([word.capitalize() for word in words()[300:1300]])
    names = pc.binary_join_element_wise(
        first.take(pa.array(random.integers(0, 300, count))), last.take(pa.array(random.integers(0, 1000, count))), " "
    )
    cities = pa.array([f"city-{number:03d}" for number in range(CITIES)])
    return pa.table(
        {
            "key": keys(count),
            "name": names,
            "age": pa.array(random.integers(18, 90, count), pa.int32()),
            "city": cities.take(pa.array(np.minimum(random.zipf(1.4, count) - 1, CITIES - 1))),
            "cohort": pa.array(random.permutation(count) // COHORT, pa.int32()),
            "about": _texts(count, 8, random),
        }
    )


def _edges(size: Size, random: Random) -> tuple[np.ndarray, np.ndarray]:
    silent = random.random(size.persons) < SILENT
    outward = _ladder(size.persons, random, silent)
    inward = _ladder(size.persons, random, np.zeros(size.persons, bool))
    drawn = int(size.edges * 1.25)
    pairs = np.searchsorted(outward, random.random(drawn)) * size.persons
    pairs += np.searchsorted(inward, random.random(drawn))
    pairs.sort()
    different = np.ones(len(pairs), bool)
    different[1:] = pairs[1:] != pairs[:-1]
    pairs = pairs[different]
    pairs = pairs[pairs // size.persons != pairs % size.persons]
    if len(pairs) < size.edges:
        raise ValueError(f"only {len(pairs)} different edges were drawn; {size.edges} are needed: draw more of them")
    pairs = random.permutation(pairs)[: size.edges]
    return pairs // size.persons, pairs % size.persons


def _ladder(count: int, random: Random, without: np.ndarray) -> np.ndarray:
    weights = random.permutation((np.arange(count) + 1.0) ** -SKEW)
    weights[without] = 0.0
    ladder = np.cumsum(weights)
    return ladder / ladder[-1]


def _write_follows(path: Path, key: pa.Array, sources: np.ndarray, targets: np.ndarray, random: Random) -> None:
    """Edges with the keys of both ends and, for systems that number persons, with their row numbers."""
    since = random.integers(2005, 2025, len(sources))
    schema = pa.schema(
        {"from": pa.string(), "to": pa.string(), "since": pa.int32(), "source": pa.int32(), "target": pa.int32()}
    )
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, len(sources), ROW_GROUP):
            part = slice(start, start + ROW_GROUP)
            source, target = pa.array(sources[part], pa.int32()), pa.array(targets[part], pa.int32())
            columns = [key.take(source), key.take(target), pa.array(since[part], pa.int32()), source, target]
            writer.write_table(pa.table(columns, schema))


def _documents(size: Size, random: Random) -> tuple[pa.Table, list[dict[str, Any]]]:
    """Vectors in clusters, as embeddings are, and the queries: the neighbourhood of a document, and some words."""
    centres = random.normal(size=(CLUSTERS, VECTOR)).astype(np.float32)
    cluster = random.integers(0, CLUSTERS, size.documents)
    vectors = centres[cluster] + random.normal(scale=0.5, size=(size.documents, VECTOR)).astype(np.float32)
    texts = _texts(size.documents, 20, random)
    table = pa.table(
        {
            "slug": pa.array([f"doc-{number:06d}" for number in range(size.documents)]),
            "body": texts,
            "embedding": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), VECTOR),
        }
    )
    search = []
    for _ in range(QUERIES):
        near = vectors[random.integers(size.documents)] + random.normal(scale=0.3, size=VECTOR)
        rare = [words()[number] for number in random.integers(50, 1000, 2)]
        distances = ((vectors - near.astype(np.float32)) ** 2).sum(axis=1)
        exact = np.argsort(distances, kind="stable")[:10]
        search.append(
            {
                "vector": [float(value) for value in near.astype(np.float32)],
                "words": " ".join(rare),
                "exact": [f"doc-{number:06d}" for number in exact.tolist()],
            }
        )
    return table, search


def _starts(key: pa.Array, degrees: np.ndarray) -> list[str]:
    """Persons with about the average out-degree."""
    typical = np.argsort(np.abs(degrees - degrees.mean()), kind="stable")[:QUERIES]
    return key.take(pa.array(typical)).to_pylist()
