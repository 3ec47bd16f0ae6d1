"""Loading with Spark against Spark's own writing, Lance in one process and the embedded load: same input, one run.

`python -m benchmarks.spark_load --persons 400000`; five edges each. JSON lines, persons in one file and edges in
another. `--full` takes ten million persons and fifty million edges. Goals: without checks at least 1.5 times the speed
of Spark writing Parquet, with all checks at least half of it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
import pyarrow.json as pj

from omnigraph.engine.graph import Graph, create
from omnigraph.spark import session
from omnigraph.spark.progress import LoadProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person {
    name: String @key
    mail: String? @unique
    age: I32?
}
edge Follows: Person -> Person {
    since: I32?
}
"""
EDGES_PER_PERSON = 5
PERSONS, PERSONS_FULL = 400_000, 10_000_000
NODE_COLUMNS = "type string, data struct<name: string, mail: string, age: int>"
EDGE_COLUMNS = "edge string, `from` string, `to` string, data struct<since: int>"


def write_input(directory: str, persons: int) -> list[str]:
    """The two files."""
    paths = [os.path.join(directory, name) for name in ("persons.jsonl", "edges.jsonl")]
    with open(paths[0], "w", encoding="ascii") as file:
        for number in range(persons):
            file.write(
                f'{{"type":"Person","data":{{"name":"person-{number:09d}","mail":"{number:x}@example.org",'
                f'"age":{number % 100}}}}}\n'
            )
    with open(paths[1], "w", encoding="ascii") as file:
        for number in range(persons * EDGES_PER_PERSON):
            target = (number * 7919) % persons
            file.write(
                f'{{"edge":"Follows","from":"person-{number // EDGES_PER_PERSON:09d}","to":"person-{target:09d}",'
                f'"data":{{"since":{number % 2000}}}}}\n'
            )
    return paths


class Loads:
    """The contestants, each into a directory of its own."""

    def __init__(self, spark: SparkSession, directory: str, paths: list[str]) -> None:
        self._spark = spark
        self._directory = directory
        self._paths = paths
        self.reading = 0.0

    def _graph(self, name: str) -> Graph:
        return create(os.path.join(self._directory, name), SCHEMA)

    def spark(self, name: str, checks: str) -> None:
        stages: dict[str, float] = {}

        def note(progress: LoadProgress) -> None:
            stages.setdefault(progress.stage, time.perf_counter())

        self._graph(name).load_spark(self._paths, "append", spark=self._spark, checks=checks, progress=note)
        self.reading = stages["checking"] - stages["reading"]

    def embedded(self, name: str) -> None:
        self._graph(name).load(self._paths, "append")

    def parquet(self, name: str) -> None:
        for path, columns in zip(self._paths, (NODE_COLUMNS, EDGE_COLUMNS), strict=True):
            target = os.path.join(self._directory, name, os.path.basename(path))
            self._spark.read.schema(columns).json(path).write.parquet(target)

    def lance(self, name: str) -> None:
        for path in self._paths:
            rows = pj.read_json(path, pj.ReadOptions(block_size=16 * 1024 * 1024)).flatten()
            plain = pa.table({column.replace(".", "_"): rows.column(column) for column in rows.column_names})
            lance.write_dataset(plain, os.path.join(self._directory, name, os.path.basename(path)))


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(persons: int = PERSONS) -> None:
    directory = tempfile.mkdtemp(prefix="omnigraph-benchmark-")
    try:
        paths = write_input(directory, persons)
        rows = persons * (1 + EDGES_PER_PERSON)
        size = sum(os.path.getsize(path) for path in paths) / 2**20
        print(f"{rows:,} rows, {size:,.0f} MiB of JSON lines, {os.cpu_count()} cores")
        spark = session()
        loads = Loads(spark, directory, paths)
        # Workers import Lance and the JVM compiles its code once; neither belongs to a load.
        warm = write_input(tempfile.mkdtemp(dir=directory), 100)
        Loads(spark, os.path.join(directory, "warm"), warm).spark("spark", "driver")
        Loads(spark, os.path.join(directory, "warm"), warm).parquet("parquet")
        taken = {
            "Spark to Parquet": seconds(lambda: loads.parquet("parquet")),
            "Spark load, checked by the driver": seconds(lambda: loads.spark("driver", "driver")),
        }
        taken["the same without checks and publishing"] = loads.reading
        taken["Spark load, checked by the cluster"] = seconds(lambda: loads.spark("cluster", "cluster"))
        taken["embedded load"] = seconds(lambda: loads.embedded("embedded"))
        taken["Lance in one process, nothing checked"] = seconds(lambda: loads.lance("lance"))
        base = taken["Spark to Parquet"]
        for name, took in taken.items():
            print(f"{name:<40} {took:8.1f} s {rows / took:12,.0f} rows/s {base / took:6.2f}x of Spark to Parquet")
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, default=PERSONS)
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    main(PERSONS_FULL if given.full else given.persons)
