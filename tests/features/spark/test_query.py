"""Queries with Spark: results, laziness, choice of the engine, and endings. Answers: ``tests/promises/parity``."""

from __future__ import annotations

import json
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import DataFrame

from omnigraph.engine.graph import Graph, create
from omnigraph.engine.query.choice import SPARK_FROM_ROWS, VARIABLE, estimated_rows
from omnigraph.engine.query.result import QueryResult
from omnigraph.errors import InputError, LimitExceeded, QueryCancelled, UsageError
from omnigraph.query.ir import QueryIR
from omnigraph.spark import query
from omnigraph.spark.cluster import limits
from omnigraph.spark.query.rankings import with_computed
from omnigraph.wire.results import result_json
from tests.features.cli.run import run
from tests.features.exec.people import RECORDS, SCHEMA, FixedClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AGES = "query ages() { match { $p: Person } return { $p.name as name, $p.age, $p.visits } order { $p.age desc } }"
TWO_HOPS = "query n() { match { $a: Person $a knows $b $b knows $c } return { count($c) as n } }"
ENDLESS = f"query n() {{ match {{ {' '.join(f'$p{n}: Person' for n in range(16))} }} return {{ count($p0) as n }} }}"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = create(tmp_path_factory.mktemp("graph") / "g", SCHEMA, durability="os", clock=FixedClock())
    made.load(RECORDS, "append")
    return made


def jobs(spark: SparkSession, group: str) -> int:
    """How many jobs the threads of a group have run."""
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))


def jobs_end(spark: SparkSession) -> bool:
    """Cancelling is asynchronous in Spark: its scheduler and its listeners take the message later."""
    tracker = spark.sparkContext.statusTracker()
    ends = time.monotonic() + 60
    while tracker.getActiveJobsIds() and time.monotonic() < ends:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        threading.Event().wait(0.05)
    return not tracker.getActiveJobsIds()


def test_a_frame_has_the_columns_and_the_order_of_the_result(spark: SparkSession, graph: Graph) -> None:
    frame = graph.query(AGES, engine="spark", spark=spark)
    assert isinstance(frame, DataFrame)
    assert frame.columns == ["name", "p.age", "p.visits"]
    assert dict(frame.dtypes) == {"name": "string", "p.age": "int", "p.visits": "decimal(20,0)"}
    rows = [tuple(row) for row in frame.collect()]
    assert rows == [tuple(row.values()) for row in graph.query(AGES)]
    assert rows[0] == ("Ann", 30, Decimal(2**64 - 1))


def test_a_frame_runs_when_it_is_read(spark: SparkSession, graph: Graph) -> None:
    spark.sparkContext.setJobGroup("lazy", "")
    frame = graph.query(TWO_HOPS, engine="spark", spark=spark)
    assert jobs(spark, "lazy") == 0
    assert [row.n for row in frame.collect()] == [7]
    assert jobs(spark, "lazy") > 0


def test_a_frame_is_about_one_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    graph = create(tmp_path / "g", SCHEMA, durability="os")
    graph.load(RECORDS, "append")
    frame = graph.query("query n() { match { $p: Person } return { count($p) as n } }", engine="spark", spark=spark)
    graph.load([{"type": "Person", "data": {"name": "Fay"}}], "append")
    assert [row.n for row in frame.collect()] == [5]


def test_paths_that_are_counted_are_two_reads_of_the_edges(spark: SparkSession, graph: Graph) -> None:
    plan = graph.query(TWO_HOPS, engine="spark", spark=spark)._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("MapInArrow") == 2, plan


def test_vectors_and_searched_texts_stay_in_the_tasks(graph: Graph) -> None:
    order = "order { nearest($d.vec, [0.0, 0.0]) } limit 1"
    text = f'query q() {{ match {{ $d: Doc search($d.body, "fox") }} return {{ $d }} {order} }}'

    def columns(query: QueryIR, _: object) -> set[str]:
        root, computed = with_computed(query.root)
        assert len(computed) == 2
        return {name for name in str(root).replace("'", " ").split() if name in ("vec", "body")}

    assert graph.query_with(columns, text) == set()


def test_limits_belong_to_results_and_not_to_frames(spark: SparkSession, graph: Graph) -> None:
    with pytest.raises(UsageError, match="takes no limits"):
        graph.query(AGES, engine="spark", spark=spark, timeout=1)  # type: ignore[call-overload] # refused at runtime too
    with pytest.raises(UsageError, match="unknown engine: 'duck'"):
        graph.query(AGES, engine="duck")  # type: ignore[call-overload] # refused at runtime too


# --- auto ------------------------------------------------------------------------------------------------


def test_auto_takes_spark_for_many_rows_and_gives_the_ordinary_result(
    spark: SparkSession, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.sparkContext.setJobGroup("small", "")
    small = graph.query(AGES, engine="auto", spark=spark)
    assert jobs(spark, "small") == 0
    monkeypatch.setenv(VARIABLE, "5")
    spark.sparkContext.setJobGroup("large", "")
    large = graph.query(AGES, engine="auto", spark=spark)
    assert jobs(spark, "large") > 0
    assert isinstance(large, QueryResult)
    assert result_json(large) == result_json(small)
    monkeypatch.setenv(VARIABLE, "many")
    with pytest.raises(UsageError, match="'many'"):
        graph.query(AGES, engine="auto")


def test_the_estimate_counts_rows_of_tables_and_edges_for_every_hop(graph: Graph) -> None:
    def estimate(text: str) -> int:
        return graph.query_with(lambda query, view: estimated_rows(query.root, view.state), text)

    assert estimate(AGES) == 5
    assert estimate(TWO_HOPS) == 5 + 6 + 6
    assert estimate("query n() { match { $a: Person $a knows{1,3} $b } return { $b } }") == 5 + 18
    assert SPARK_FROM_ROWS > 10**8


# --- ends ------------------------------------------------------------------------------------------------


def test_time_that_runs_out_ends_the_jobs(spark: SparkSession, graph: Graph) -> None:
    with pytest.raises(LimitExceeded, match="longer than 1"):
        query(graph, ENDLESS, spark=spark, timeout=1)
    assert jobs_end(spark)


def test_a_cancelled_query_ends_its_jobs(spark: SparkSession, graph: Graph) -> None:
    cancel = threading.Event()
    timer = threading.Timer(1, cancel.set)
    timer.start()
    with pytest.raises(QueryCancelled):
        query(graph, ENDLESS, spark=spark, cancel=cancel)
    timer.join()
    assert jobs_end(spark)


def test_an_overflow_is_the_same_error_whatever_the_session_says(spark: SparkSession, graph: Graph) -> None:
    text = "query q() { match { $p: Person } return { $p.big * $p.big * $p.big } }"
    before = spark.conf.get("spark.sql.ansi.enabled")
    for ansi in ("true", "false"):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        try:
            with pytest.raises(InputError, match="arithmetic does not fit I64"):
                query(graph, text, spark=spark)
        finally:
            spark.conf.set("spark.sql.ansi.enabled", before)


def test_an_offset_beyond_what_spark_can_skip_leaves_nothing(spark: SparkSession, graph: Graph) -> None:
    text = f"query q() {{ match {{ $p: Person }} return {{ $p }} order {{ $p }} limit {2**40} offset {2**40} }}"
    assert len(query(graph, text, spark=spark)) == 0


def test_names_that_differ_in_case_are_different(spark: SparkSession, tmp_path: Path) -> None:
    graph = create(tmp_path / "g", "node N { k: String @key ab: I32 aB: I32 }", durability="os")
    graph.load(
        [{"type": "N", "data": {"k": "x", "ab": 1, "aB": 2}}, {"type": "N", "data": {"k": "y", "ab": 3, "aB": 4}}]
    )
    text = "query q() { match { $nn: N $nN: N $nn.ab < $nN.ab } return { $nn.ab, $nn.aB, $nN.ab, $nN.aB, $nn, $nN } }"
    assert query(graph, text, spark=spark).to_pylist() == graph.query(text).to_pylist()


def test_many_hops_end_when_nothing_is_reached(spark: SparkSession, graph: Graph) -> None:
    text = "query q() { match { $p: Person $p knows{1,60} $q } return { $p, $q } order { $p, $q } }"
    spark.sparkContext.setJobGroup("hops", "")
    assert query(graph, text, spark=spark).to_pylist() == graph.query(text).to_pylist()
    assert jobs(spark, "hops") < 60
    assert limits.UNROLLED_HOPS < 60


# --- command line ----------------------------------------------------------------------------------------


def test_the_command_prints_what_the_embedded_one_prints(spark: SparkSession, graph: Graph) -> None:
    path = graph.uri.removeprefix("file-object-store://")
    embedded, on_spark = (
        run("query", "--store", path, "-e", AGES, "--engine", engine, "--json") for engine in ("embedded", "spark")
    )
    assert json.loads(on_spark.output) == json.loads(embedded.output)
    refused = run("query", "--store", path, "-e", AGES, "--engine", "spark", "--stats")
    assert refused.exit_code == 2
