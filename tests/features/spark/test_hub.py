"""One node that most edges meet: every task shares its key, and no result or memory depends on that.

The hub is followed by every person, and follows every hundredth, so that there are far more walks of two hops than rows
that any engine could list.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.engine.analysis.result import AnalysisResult
from omnigraph.engine.graph import create
from tests.features.spark.test_analytics import check_equal
from tests.support.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person { name: String @key }
edge Follows: Person -> Person { since: I32? }
"""
FILES = 4
BLOCKS = 4
FOLLOWED = 100
"""The hub follows one person in a hundred."""
SIZES = [
    50_000,
    pytest.param(5_000_000, marks=[pytest.mark.long, pytest.mark.part("spark-hub")]),
]
RESULT_BYTES_MAX = 100_000
"""What the jobs of a load or a query may bring to the driver: descriptions of files, counts, the rows of the result."""

ANALYSES: dict[str, Callable[..., AnalysisResult]] = {
    "degrees": lambda a, **how: a.degrees("Follows", **how),
    "pagerank": lambda a, **how: a.pagerank("Follows", tolerance=0, max_iterations=2, **how),
    "components": lambda a, **how: a.components("Follows", **how),
}
QUERIES = {
    "two hops": "query q() { match { $a: Person $a follows $b $b follows $c } return { count($c) as walks } }",
    "two edges": "query q() { match { $a: Person $a $e: follows $b $b $f: follows $c } return { count($c) as walks } }",
    "most followed": "query q() { match { $p: Person $f follows $p } "
    "return { $p.name as name, count($f) as followers } order { followers desc, name } limit 3 }",
}


def write_files(directory: Path, edges: int) -> dict[str, Any]:
    """Persons and edges as Parquet files, and the mapping that loads them. The last edges are those of the hub."""
    persons = edges * FOLLOWED // (FOLLOWED + 1)
    names = pa.array(np.char.add("p", np.char.zfill(np.arange(persons).astype("U8"), 8)))
    hub = pa.array(["hub"])
    followed = names.take(pa.array(np.arange(0, persons, FOLLOWED)))
    rows = pa.table(
        {
            "from": pa.concat_arrays([names, pa.repeat(hub[0], len(followed))]),
            "to": pa.concat_arrays([pa.repeat(hub[0], persons), followed]),
            "since": pa.array((np.arange(persons + len(followed)) % 2_000).astype(np.int32)),
        }
    )
    for name, table in (("persons", pa.table({"name": pa.concat_arrays([names, hub])})), ("edges", rows)):
        (directory / name).mkdir()
        size = -(-table.num_rows // FILES)
        for number in range(FILES):
            pq.write_table(table.slice(number * size, size), directory / name / f"{number}.parquet")
    return {
        "sources": {name: {"path": str(directory / name), "format": "parquet"} for name in ("persons", "edges")},
        "load": [
            {"source": "persons", "node": "Person"},
            {"source": "edges", "edge": "Follows", "from": "from", "to": "to"},
        ],
    }


@pytest.mark.parametrize("edges", SIZES)
def test_a_hub_changes_no_result_and_brings_nothing_to_the_driver(
    spark: SparkSession, tmp_path: Path, arriving: list[int], edges: int
) -> None:
    mapping = write_files(tmp_path, edges)
    graph = create(tmp_path / "graph", SCHEMA, durability="os")
    loaded = graph.load_spark(None, "append", mapping=mapping, spark=spark, checks="cluster")
    expected = create(tmp_path / "expected", SCHEMA, durability="os").load(mapping=mapping, mode="append")
    assert (loaded.nodes, loaded.edges) == (expected.nodes, expected.edges)
    assert max(arriving) < RESULT_BYTES_MAX

    persons = loaded.nodes["Person"]
    divided = tuned(graph, divided_nodes_min=0)
    for name, run in ANALYSES.items():
        known = run(graph.analyze, engine="embedded")
        arriving.clear()
        check_equal(run(graph.analyze, engine="spark", spark=spark, partitions=BLOCKS), known)
        # A job brings a vector, and of every task the name of its block.
        assert max(arriving) <= 8 * persons + 400 * BLOCKS
        if edges == SIZES[0] and name == "components":
            # Rounds of divided vectors are many small jobs.
            continue
        arriving.clear()
        check_equal(run(divided.analyze, engine="spark", spark=spark, partitions=BLOCKS), known)
        assert max(arriving) < RESULT_BYTES_MAX

    arriving.clear()
    for text in QUERIES.values():
        frame = graph.query(text, engine="spark", spark=spark)
        assert [row.asDict() for row in frame.collect()] == graph.query(text).to_pylist()
    assert max(arriving, default=0) < RESULT_BYTES_MAX


@pytest.mark.long
@pytest.mark.part("spark-hub")
def test_a_thousand_partitions_are_one_commit_of_few_files(spark: SparkSession, tmp_path: Path) -> None:
    graph = create(tmp_path / "graph", SCHEMA, durability="os")
    frame = spark.range(0, 8_000, 1, 1_000).selectExpr("concat('p', id) as name")
    commits = len(list(graph.commits()))
    graph.load_spark(frame, "append", spark=spark, type_name="Person")
    assert len(list(graph.commits())) == commits + 1
    location = graph.snapshot().state.tables["node:Person"].location
    assert len(list((tmp_path / "graph" / location / "data").glob("*.lance"))) <= 2
    assert graph.query("query q() { match { $p: Person } return { count($p) as n } }").to_pylist() == [{"n": 8_000}]
    assert graph.verify(deep=True).is_clean
