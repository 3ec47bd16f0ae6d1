"""Entity resolution on Spark finds what the embedded engine finds, for any number of buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph
from tests.features.resolve.people import RULES, graph_of, person, random_records
from tests.support.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Several fragments, so that several tasks read."""
    made = graph_of(tmp_path_factory.mktemp("resolve") / "g", *random_records(5, 150))
    for number in range(3):
        made.load([person(f"q{number}{other}", f"extra {other}", email=f"{other}@x") for other in range(30)])
    return tuned(made, partition_rows=60)


@pytest.mark.parametrize(
    ("rules", "partitions"),
    [
        (RULES, 1),
        (RULES, 7),
        # Blocks that are too large at first are compared once they have shrunk.
        ({**RULES, "blocks": ["city", "email", "tokens(name)"], "block_max": 40, "review": 0.6}, 3),
    ],
)
def test_spark_finds_what_the_embedded_engine_finds(
    spark: SparkSession, graph: Graph, rules: dict[str, Any], partitions: int
) -> None:
    here = graph.resolve_preview("Person", rules, engine="embedded")
    there = graph.resolve_preview("Person", rules, engine="spark", spark=spark, partitions=partitions)
    assert there.found.engine == "spark"
    assert there.found.rounds == here.found.rounds
    assert there.pairs.equals(here.pairs)
    assert there.clusters.equals(here.clusters)
    assert there.found.compared == here.found.compared
    assert there.remarks == here.remarks
    assert there.changes.to_arrow().equals(here.changes.to_arrow())


def test_a_resolution_on_spark_is_one_commit(spark: SparkSession, graph: Graph) -> None:
    options: dict[str, Any] = {"engine": "spark", "spark": spark, "branch": "spark", "base": "main"}
    result = graph.resolve("Person", RULES, **options)
    embedded = graph.resolve("Person", RULES, engine="embedded", branch="embedded", base="main")
    assert result.commit is not None
    assert result.commit.provenance["engine"] == "spark"
    assert list(graph.export("spark")) == list(graph.export("embedded"))
    assert embedded.tables == result.tables
    assert graph.resolve("Person", RULES, **options).commit is None
