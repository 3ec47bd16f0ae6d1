"""PageRank and components: ours in one process, ours on Spark, and hand-written DataFrames over the same tables. Strong
components are ours only.

`python -m benchmarks.analytics`, `--edges 10000000` for ten million edges; ten times as many edges as persons. The
hand-written versions join on 64-bit hashes of the ids, which is faster than joining on ids, cache the edges and cut the
lineage in every round. Everything from reading the tables to the answer is timed, after one run on a small graph; the
answers are compared. Goal: on Spark at most 0.3 times the processor time of the hand-written one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.processes import Cost, timed
from omnigraph.engine.graph import Graph, create
from omnigraph.spark import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "node Person { name: String @key }\nedge Follows: Person -> Person"
EDGES = 1_000_000
EDGES_PER_PERSON = 10
ROUNDS = 10
GOAL = 0.3


def make_graph(place: str, edges: int) -> Graph:
    """Random edges with a skewed in-degree: some targets are much more popular than others."""
    chance = np.random.default_rng(7)
    persons = max(edges // EDGES_PER_PERSON, 10)
    names = pa.array([f"person-{number:09d}" for number in range(persons)])
    sources = chance.integers(0, persons, edges)
    targets = (persons * chance.random(edges) ** 3).astype(np.int64)
    graph = create(place, SCHEMA, durability="os")
    graph.load(pa.table({"name": names}), "append", type_name="Person")
    ends = pa.table({"src": names.take(pa.array(sources)), "dst": names.take(pa.array(targets))})
    graph.load(ends, "append", type_name="Follows")
    return graph


# --- hand-written ----------------------------------------------------------------------------------------


def _tables(spark: SparkSession, graph: Graph) -> tuple[DataFrame, DataFrame]:
    def read(name: str, columns: str) -> DataFrame:
        options = {"store": graph.uri, "type": name, "columns": columns}
        return spark.read.format("omnigraph").options(**options).load()

    nodes = read("Person", "id").selectExpr("xxhash64(id) id").persist()
    edges = read("Follows", "src,dst").selectExpr("xxhash64(src) src", "xxhash64(dst) dst").persist()
    return nodes, edges


def written_pagerank(spark: SparkSession, graph: Graph) -> float:
    """The largest rank."""
    nodes, edges = _tables(spark, graph)
    count = nodes.count()
    leaving = edges.groupBy("src").count()
    links = edges.join(leaving, "src").selectExpr("src", "dst", "1 / count share").persist()
    stuck = nodes.join(leaving, nodes.id == leaving.src, "left_anti").persist()
    ranks = nodes.selectExpr("id", f"1D / {count} rank").localCheckpoint()
    for _ in range(ROUNDS):
        lost = stuck.join(ranks, "id").selectExpr("sum(rank) lost").first()
        base = 0.15 / count + 0.85 * ((lost and lost.lost) or 0.0) / count
        parts = links.join(ranks, links.src == ranks.id).selectExpr("dst", "rank * share part")
        arriving = parts.groupBy("dst").sum("part")
        ranks = (
            nodes.join(arriving, nodes.id == arriving.dst, "left")
            .selectExpr("id", f"{base} + 0.85 * coalesce(`sum(part)`, 0) rank")
            .localCheckpoint()
        )
    largest = ranks.selectExpr("max(rank) m").first()
    spark.catalog.clearCache()
    assert largest is not None
    return float(largest.m)


def written_components(spark: SparkSession, graph: Graph) -> int:
    """The number of components."""
    nodes, edges = _tables(spark, graph)
    both = edges.union(edges.selectExpr("dst", "src")).distinct().persist()
    labels = nodes.selectExpr("id", "id label").localCheckpoint()
    while True:
        near = both.join(labels, both.src == labels.id).groupBy("dst").min("label")
        following = (
            labels.join(near, labels.id == near.dst, "left")
            .selectExpr("id", "label old", "least(label, coalesce(`min(label)`, label)) label")
            .localCheckpoint()
        )
        labels = following.select("id", "label")
        if following.where("old <> label").limit(1).count() == 0:
            break
    found = labels.select("label").distinct().count()
    spark.catalog.clearCache()
    return found


# --- measuring -------------------------------------------------------------------------------------------


def measured(work: Callable[[], Any], is_embedded: bool) -> tuple[Cost, Any]:
    """The cost and the answer. Workers of Spark that end meanwhile would take their seconds out of the sum."""
    answers: list[Any] = []
    cost = timed(lambda: answers.append(work()), time.process_time if is_embedded else None)
    return cost, answers[0]


def largest_rank(graph: Graph, **how: Any) -> float:
    ranks = graph.analyze.pagerank("Follows", tolerance=0, max_iterations=ROUNDS, **how)
    return float(ranks.top(1).to_pylist()[0]["rank"])


def components(graph: Graph, **how: Any) -> int:
    return int(graph.analyze.components("Follows", **how).facts["components"])


def strong_components(graph: Graph, **how: Any) -> int:
    return components(graph, strong=True, **how)


IN_PROCESS, BY_HAND = "in process", "hand-written on Spark"


def contestants(spark: SparkSession, graph: Graph) -> dict[str, dict[str, Callable[[], Any]]]:
    spark_engine: dict[str, Any] = {"engine": "spark", "spark": spark}
    return {
        f"PageRank, {ROUNDS} rounds": {
            f"{IN_PROCESS}, first": lambda: largest_rank(graph, engine="embedded"),
            f"{IN_PROCESS}, again": lambda: largest_rank(graph, engine="embedded"),
            "on Spark": lambda: largest_rank(graph, **spark_engine),
            BY_HAND: lambda: written_pagerank(spark, graph),
        },
        "components": {
            IN_PROCESS: lambda: components(graph, engine="embedded"),
            "on Spark": lambda: components(graph, **spark_engine),
            BY_HAND: lambda: written_components(spark, graph),
        },
        "strong components": {
            IN_PROCESS: lambda: strong_components(graph, engine="embedded"),
            "on Spark": lambda: strong_components(graph, **spark_engine),
        },
    }


def main(edges: int = EDGES) -> None:
    directory = tempfile.mkdtemp(prefix="omnigraph-benchmark-")
    try:
        spark = session()
        warm = make_graph(os.path.join(directory, "warm"), 1_000)
        for ways in contestants(spark, warm).values():
            for work in ways.values():
                work()
        graph = make_graph(os.path.join(directory, "graph"), edges)
        print(f"{edges:,} edges, {edges // EDGES_PER_PERSON:,} persons, {os.cpu_count()} cores, goal {GOAL}")
        for question, ways in contestants(spark, graph).items():
            taken = {name: measured(work, name.startswith(IN_PROCESS)) for name, work in ways.items()}
            by_hand = taken[BY_HAND][0].processor if BY_HAND in taken else None
            _, expected = next(iter(taken.values()))
            for name, (cost, answer) in taken.items():
                assert abs(answer - expected) <= 1e-9 * abs(expected), (question, name, answer, expected)
                ratio = "" if by_hand is None else f"{cost.processor / by_hand:6.2f}x of the hand-written"
                print(
                    f"{question:<22} {name:<22} {cost.seconds:8.1f} s {cost.processor:8.1f} processor s {ratio}",
                    flush=True,
                )
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, default=EDGES)
    main(parser.parse_args().edges)
