"""Queries on Spark against hand-written Spark SQL and against the embedded executor: same graph, same questions.

`python -m benchmarks.spark_query DIR` with one million edges, `--edges 10000000` with ten. The SQL runs over the tables
of the graph as the data source reads them, and over Parquet files of the same columns, which Spark reads itself. It is
written by hand and optimised: it multiplies degrees instead of materialising paths. Goal: at most 1.3 times the SQL
over the data source. Every question runs once to warm up, then several times in turn; medians are shown.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import omnigraph
from benchmarks.engine_data import Data, Size, ensure
from benchmarks.engine_queries import SCHEMA
from benchmarks.engine_systems import reader
from omnigraph.engine.graph import Graph
from omnigraph.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EDGES = 1_000_000
PERSONS_SHARE = 10
"""Edges per person."""

RUNS = 3
GOAL = 1.3

PAIRS = "(select distinct src, dst from {follows})"


@dataclass(frozen=True)
class Question:
    """A query and the equivalent SQL."""

    name: str
    query: str
    sql: str


QUESTIONS = (
    Question(
        "two hops, counted",
        "query q() { match { $a: Person $a follows $b $b follows $c } return { count($c) as n } }",
        f"""select sum(i.n * o.n) n
        from (select dst, count(*) n from {PAIRS} group by dst) i
        join (select src, count(*) n from {PAIRS} group by src) o on i.dst = o.src""",
    ),
    Question(
        "two hops over edges, counted",
        "query q() { match { $a: Person $a $e: follows $b $b $f: follows $c } return { count($c) as n } }",
        """select sum(i.n * o.n) n
        from (select dst, count(*) n from {follows} group by dst) i
        join (select src, count(*) n from {follows} group by src) o on i.dst = o.src""",
    ),
    Question(
        "the ten most followed",
        "query q() { match { $b: Person $a follows $b }"
        " return { $b, $b.name as name, count($a) as n } order { n desc } limit 10 }",
        f"""select id, name, n from (select dst, count(*) n from {PAIRS} group by dst)
        join {{persons}} on id = dst order by n desc, id, name limit 10""",
    ),
    Question(
        "the ten most followed, by edges",
        "query q() { match { $b: Person $a $e: follows $b }"
        " return { $b, $b.name as name, count($a) as n } order { n desc } limit 10 }",
        """select id, name, n from (select dst, count(*) n from {follows} group by dst)
        join {persons} on id = dst order by n desc, id, name limit 10""",
    ),
)
"""Questions about the whole graph. Analytics (PageRank, components) are measured beside them, not as queries."""


def made(directory: Path, edges: int) -> tuple[Graph, Data]:
    """The graph with that number of edges, created if missing."""
    size = Size(f"spark-{edges}", edges // PERSONS_SHARE, edges, 1_000)
    data = ensure(size, directory / size.name)
    place = data.directory / "graph.omni"
    if not place.exists():
        graph = omnigraph.create(place, SCHEMA)
        graph.load(reader(data.persons), "append", type_name="Person")
        graph.load(reader(data.follows, ["from", "to", "since"]), "append", type_name="Follows")
        graph.optimize()
    return omnigraph.open(place), data


def views(spark: SparkSession, graph: Graph, data: Data) -> None:
    """Register the tables of the SQL, once over the data source and once over Parquet."""
    columns = {"Person": ("persons", "id,name"), "Follows": ("follows", "src,dst")}
    for type_name, (name, wanted) in columns.items():
        source = spark.read.format("omnigraph").option("store", graph.uri).option("type", type_name)
        source.option("columns", wanted).load().createOrReplaceTempView(f"source_{name}")
    persons = spark.read.parquet(str(data.persons)).selectExpr("key id", "name")
    follows = spark.read.parquet(str(data.follows)).selectExpr("`from` src", "`to` dst")
    persons.createOrReplaceTempView("parquet_persons")
    follows.createOrReplaceTempView("parquet_follows")


def ways(question: Question, spark: SparkSession, graph: Graph) -> dict[str, Callable[[], Any]]:
    """The executors of a question, by name."""

    def sql(kind: str) -> Callable[[], Any]:
        text = question.sql.format(follows=f"{kind}_follows", persons=f"{kind}_persons")
        return lambda: spark.sql(text).toArrow().to_pylist()

    return {
        "spark": lambda: graph.query(question.query, engine="spark", spark=spark).toArrow().to_pylist(),
        "embedded": lambda: graph.query(question.query).to_pylist(),
        "sql": sql("source"),
        "parquet": sql("parquet"),
    }


def measured(ways: dict[str, Callable[[], Any]], runs: int) -> dict[str, float]:
    """Median seconds of every executor; raises if their rows differ."""
    answers = {name: [tuple(row.values()) for row in way()] for name, way in ways.items()}
    different = [name for name, rows in answers.items() if rows != answers["embedded"]]
    if different:
        raise AssertionError(f"{different[0]} gives {answers[different[0]]}, embedded {answers['embedded']}")
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def main(directory: str | None = None, edges: int = EDGES, runs: int = RUNS) -> None:
    with tempfile.TemporaryDirectory(prefix="omnigraph-benchmark-") as scratch:
        graph, data = made(Path(directory or scratch), edges)
        spark = session()
        views(spark, graph, data)
        print(f"| {edges:,} edges | spark | SQL, data source | ratio | goal | SQL, Parquet | ratio | embedded |")
        print("|---|---|---|---|---|---|---|---|")
        for question in QUESTIONS:
            took = measured(ways(question, spark, graph), runs)
            ratio = took["spark"] / took["sql"]
            word = "met" if ratio <= GOAL else "missed"
            print(
                f"| {question.name} | {took['spark']:.2f} s | {took['sql']:.2f} s | {ratio:.2f}x | {word}"
                f" | {took['parquet']:.2f} s | {took['spark'] / took['parquet']:.2f}x | {took['embedded']:.3f} s |",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", nargs="?")
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--runs", type=int, default=RUNS)
    given = parser.parse_args()
    main(given.directory, given.edges, given.runs)
