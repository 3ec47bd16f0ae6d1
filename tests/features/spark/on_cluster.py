"""A program: the driver of loads on a standalone cluster, and of what follows them; tells what came of it as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import Graph, create
from omnigraph.spark import load, register
from omnigraph.wire.maintenance import optimize_json
from tests.features.spark import faulty_cluster
from tests.features.spark.standalone import LOOPBACK, QUICK

SCHEMA = """
node Person {
    name: String @key
    age: I32?
}
node Note {
    text: String?
}
edge Knows: Person -> Person @card(0..2)
"""
PARTITIONS = 4


def session(master: str, python_path: str) -> Any:
    """A session as a user makes one, without any help of ours."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.executorEnv.PYTHONPATH": python_path,
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": QUICK,
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
        "spark.cores.max": "2",
        **faulty_cluster.SETTINGS,
    }
    builder = SparkSession.builder.appName("test").master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    register(started)
    return started


def executors(spark: Any) -> list[str]:
    """The executors that took part in a job, and that they have this package from where the driver has it."""

    def where(batches: Any) -> Any:
        import os

        import pyarrow as pa

        import omnigraph

        for _ in batches:
            said = json.dumps([os.environ["SPARK_EXECUTOR_DIRS"], omnigraph.__file__])
            yield pa.RecordBatch.from_pydict({"said": [said]})

    rows = spark.range(0, 8, 1, 8).mapInArrow(where, "said string").collect()
    return sorted({row.said for row in rows})


def main(request: dict[str, Any]) -> None:
    spark = session(request["master"], request["python_path"])
    report: dict[str, Any] = {"executors": executors(spark)}
    store, options = request["store"], request["options"]
    # Without it, tables of these sizes are worth neither an index nor a job.
    tuning = Tuning(index_rows_min=0, spark_table_rows_min=0)
    graph = create(store, SCHEMA, storage_options=options, tuning=tuning)
    first = load(graph, request["files"], "append", spark=spark, partitions=PARTITIONS, checks="driver")
    second = load(graph, request["merged"], "merge", spark=spark, partitions=PARTITIONS, checks="cluster")
    report["loaded"] = [first.total, second.total]
    report["optimized"] = optimize_json(graph.optimize(engine="spark", spark=spark))["tables"]
    for kind in ("Person", "Knows"):
        report[kind] = read(spark, store, options, kind)
    report["disturbed"] = faulty_cluster.disturbed_loads(spark, Path(request["directory"]))
    report["analysis"] = faulty_cluster.analysis_without_an_executor(spark, graph)
    edit(graph)
    mark = Path(request["directory"]) / "killed"
    merged = faulty_cluster.disturbed_merge(spark, graph, "theirs", "ours", mark)
    report["merged"] = [merged.engine, [asdict(item) for item in merged.tables], mark.exists()]
    spark.stop()
    print("report", json.dumps(report))


def edit(graph: Graph) -> None:
    """Two branches that change the same tables, and entities of each that the other one changes as well."""
    for branch, first in (("ours", 0), ("theirs", 100)):
        graph.create_branch(branch)
        people = [{"type": "Person", "data": {"name": f"p{n}", "age": n if n < 150 else first}} for n in range(200)]
        ends = [
            {"edge": "Knows", "from": f"p{n}", "to": f"p{first}", "data": {"id": f"{branch}{n}"}} for n in range(60)
        ]
        graph.load([*people[first : first + 150], *ends[first // 2 : first // 2 + 10]], "merge", branch=branch)
        graph.mutate(f'query q() {{ delete Person where name = "p{300 + first // 2}" }}', branch=branch)


def read(spark: Any, store: str, options: dict[str, str], kind: str) -> list[dict[str, Any]]:
    """A table as the data source reads it."""
    storage = {f"storage.{name}": value for name, value in options.items()}
    frame = spark.read.format("omnigraph").options(store=store, type=kind, **storage).load()
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: str(row["id"]))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
