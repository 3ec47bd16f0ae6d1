"""A program for ``spark-submit``: a graph in an object store and cells of faults, each if the request has it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import create
from omnigraph.spark import session
from omnigraph.wire.maintenance import optimize_json
from tests.features.spark.fault_cells import run_cells
from tests.features.spark.submitting import report

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


def executors(spark: Any) -> list[str]:
    """The executors that took part in a job, and where they have this package from."""

    def where(batches: Any) -> Any:
        import os

        import pyarrow as pa

        import omnigraph

        for _ in batches:
            said = json.dumps([os.environ["SPARK_EXECUTOR_DIRS"], omnigraph.__file__])
            yield pa.RecordBatch.from_pydict({"said": [said]})

    rows = spark.range(0, 8, 1, 8).mapInArrow(where, "said string").collect()
    return sorted({row.said for row in rows})


def loaded(spark: Any, store: str, options: dict[str, str], files: list[str], merged: list[str]) -> dict[str, Any]:
    """Two loads, maintenance, and the rows that the data source reads afterwards."""
    # Without it, tables of these sizes are worth neither an index nor a job.
    tuning = Tuning(index_rows_min=0, spark_table_rows_min=0)
    graph = create(store, SCHEMA, storage_options=options, tuning=tuning)
    first = graph.load_spark(files, "append", partitions=PARTITIONS, checks="driver")
    second = graph.load_spark(merged, "merge", partitions=PARTITIONS, checks="cluster")
    return {
        "loaded": [first.total, second.total],
        "optimized": optimize_json(graph.optimize(engine="spark"))["tables"],
        "rows": {kind: read(spark, store, options, kind) for kind in ("Person", "Knows")},
    }


def main(request: dict[str, Any]) -> None:
    # Without arguments: the session of the job, with the master that it was submitted to.
    spark = session()
    found: dict[str, Any] = {"master": spark.sparkContext.master, "executors": executors(spark)}
    if "graph" in request:
        found |= loaded(spark, **request["graph"])
    found["cells"] = run_cells(spark, Path(request["directory"]), request["cells"]) if request["cells"] else []
    spark.stop()
    report(found)


def read(spark: Any, store: str, options: dict[str, str], kind: str) -> list[dict[str, Any]]:
    """A table as the data source reads it."""
    storage = {f"storage.{name}": value for name, value in options.items()}
    frame = spark.read.format("omnigraph").options(store=store, type=kind, **storage).load()
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: str(row["id"]))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
