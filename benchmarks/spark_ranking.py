"""Ranking texts by relevance, in process and on Spark: the same ten documents of many, with and without an index.

`python -m benchmarks.spark_ranking`, `--documents 100000` for fewer. A document has twelve words of a vocabulary in
which some are much more common than others; two words are searched, a common and a rare one. Every way runs once to
warm up, then several times in turn; medians are shown, and all answers are compared.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.graph import Graph, create
from omnigraph.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Document { slug: String @key\n body: String @index }"
DOCUMENTS = 1_000_000
WORDS = 12
VOCABULARY = 20_000
RUNS = 3
QUERY = (
    "query q($words: String) { match { $d: Document } "
    "return { $d.slug, bm25($d.body, $words) as score } order { bm25($d.body, $words) } limit 10 }"
)
SEARCHED = "word3 word777"


def make_graph(place: Path, documents: int) -> Graph:
    chance = np.random.default_rng(7)
    vocabulary = pa.array([f"word{number}" for number in range(VOCABULARY)])
    drawn = (VOCABULARY * chance.random(documents * WORDS) ** 3).astype(np.int64)
    lists = pa.ListArray.from_arrays(
        np.arange(0, documents * WORDS + 1, WORDS, dtype=np.int32), vocabulary.take(pa.array(drawn))
    )
    slugs = pa.array([f"d{number:08d}" for number in range(documents)])
    graph = create(place, SCHEMA, durability="os")
    rows = pa.table({"slug": slugs, "body": pc.binary_join(lists, " ")})
    graph.load(rows, "append", type_name="Document")
    return graph


def ways(spark: SparkSession, graph: Graph) -> dict[str, Callable[[], list[dict[str, Any]]]]:
    parameters = {"words": SEARCHED}
    return {
        "in process": lambda: graph.query(QUERY, parameters).to_pylist(),
        "on Spark": lambda: graph.query(QUERY, parameters, engine="spark", spark=spark).toArrow().to_pylist(),
    }


def measure(spark: SparkSession, graph: Graph, label: str, runs: int) -> None:
    contestants = ways(spark, graph)
    answers = {name: [tuple(row.values()) for row in way()] for name, way in contestants.items()}
    assert answers["in process"] == answers["on Spark"], answers
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(runs):
        for name, way in contestants.items():
            start = time.perf_counter()
            way()
            taken[name].append(time.perf_counter() - start)
    print(
        f"| {label} | " + " | ".join(f"{statistics.median(times):.2f} s" for times in taken.values()) + " |", flush=True
    )


def main(documents: int = DOCUMENTS, runs: int = RUNS) -> None:
    with tempfile.TemporaryDirectory(prefix="omnigraph-benchmark-") as scratch:
        spark = session()
        graph = make_graph(Path(scratch) / "graph", documents)
        print(f"| {documents:,} documents | in process | on Spark |\n|---|---|---|")
        measure(spark, graph, "no index: counted and scored", runs)
        graph.optimize()
        measure(spark, graph, "scores from an index", runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--runs", type=int, default=RUNS)
    given = parser.parse_args()
    main(given.documents, given.runs)
