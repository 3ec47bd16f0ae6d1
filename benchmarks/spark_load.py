"""Loading with Spark against Spark's own writing, Lance in one process and the embedded load: same input, one run.

`python -m benchmarks.spark_load --persons 400000`; five edges each. JSON lines, persons in one file and edges in
another. `--full` takes ten million persons and fifty million edges. Goals: without checks at least 1.5 times the speed
of Spark writing Parquet, with all checks at least half of it. `--vectors 1000000` loads Parquet files of vectors of 256
numbers instead, as arrays and as bytes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from typing import TYPE_CHECKING

import lance
import numpy as np
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from benchmarks.processes import Cost, processor_seconds, timed
from omnigraph.engine.graph import Graph, create
from omnigraph.spark import session
from omnigraph.spark.cluster.progress import LoadProgress

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
NUMBERS = 256
VECTOR_SCHEMA = f"node Item {{ number: I64 @key  place: Vector({NUMBERS}) }}"
VECTORS_PER_FILE = 50_000
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
        self.reading = Cost(0.0, 0.0)

    def _graph(self, name: str) -> Graph:
        return create(os.path.join(self._directory, name), SCHEMA)

    def spark(self, name: str, checks: str) -> None:
        stages: dict[str, Cost] = {}

        def note(progress: LoadProgress) -> None:
            if progress.stage not in stages:
                stages[progress.stage] = Cost(time.perf_counter(), processor_seconds())

        self._graph(name).load_spark(self._paths, "append", spark=self._spark, checks=checks, progress=note)
        start, end = stages["reading"], stages["checking"]
        self.reading = Cost(end.seconds - start.seconds, end.processor - start.processor)

    def embedded(self, name: str) -> None:
        self._graph(name).load(self._paths, "append")

    def parquet(self, name: str) -> None:
        for path, columns in zip(self._paths, (NODE_COLUMNS, EDGE_COLUMNS), strict=True):
            target = os.path.join(self._directory, name, os.path.basename(path))
            self._spark.read.schema(columns).json(path).write.parquet(target)

    def lance(self, name: str) -> None:
        for path in self._paths:
            rows = pj.open_json(path, pj.ReadOptions(block_size=16 * 1024 * 1024))
            schema = _flat(rows.schema.empty_table()).schema
            batches = (batch for block in rows for batch in _flat(pa.Table.from_batches([block])).to_batches())
            reader = pa.RecordBatchReader.from_batches(schema, batches)
            lance.write_dataset(reader, os.path.join(self._directory, name, os.path.basename(path)))


def _flat(rows: pa.Table) -> pa.Table:
    plain = rows.flatten()
    return plain.rename_columns([name.replace(".", "_") for name in plain.column_names])


def write_vectors(directory: str, count: int) -> dict[str, str]:
    """The same vectors as arrays and as bytes; a directory for each."""
    paths = {name: os.path.join(directory, name) for name in ("arrays", "bytes")}
    numbers = np.random.default_rng(7)
    for path in paths.values():
        os.mkdir(path)
    for start in range(0, count, VECTORS_PER_FILE):
        rows = min(VECTORS_PER_FILE, count - start)
        values = pa.array(numbers.random(rows * NUMBERS, dtype=np.float32))
        keys = pa.array(range(start, start + rows), pa.int64())
        packed = pa.Array.from_buffers(pa.binary(4 * NUMBERS), rows, [None, values.buffers()[1]])
        for name, column in (
            ("arrays", pa.FixedSizeListArray.from_arrays(values, NUMBERS).cast(pa.list_(pa.float32()))),
            ("bytes", packed.cast(pa.binary())),
        ):
            table = pa.table({"number": keys, "place": column})
            pq.write_table(table, os.path.join(paths[name], f"{start}.parquet"), use_dictionary=False)
    return paths


def load_vectors(spark: SparkSession, directory: str, source: str, name: str) -> None:
    """Load files of vectors through a mapping."""
    graph = create(os.path.join(directory, name), VECTOR_SCHEMA)
    mapping = {
        "sources": {"items": {"path": source, "format": "parquet"}},
        "load": [{"source": "items", "node": "Item"}],
    }
    graph.load_spark(None, "append", mapping=mapping, spark=spark)


def show(taken: dict[str, Cost], rows: int) -> None:
    base = taken["Spark to Parquet"]
    print(f"{'':<40} {'seconds':>9} {'rows/s':>12} {'speed':>7} {'processor s':>12} {'speed':>7}")
    for name, cost in taken.items():
        print(
            f"{name:<40} {cost.seconds:9.1f} {rows / cost.seconds:12,.0f} {base.seconds / cost.seconds:6.2f}x "
            f"{cost.processor:12.1f} {base.processor / cost.processor:6.2f}x"
        )


def compare_rows(spark: SparkSession, directory: str, persons: int) -> None:
    paths = write_input(directory, persons)
    rows = persons * (1 + EDGES_PER_PERSON)
    size = sum(os.path.getsize(path) for path in paths) / 2**20
    print(f"{rows:,} rows, {size:,.0f} MiB of JSON lines, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    loads = Loads(spark, directory, paths)
    # Workers import Lance and the JVM compiles its code once; neither belongs to a load.
    warm = Loads(spark, os.path.join(directory, "warm"), write_input(tempfile.mkdtemp(dir=directory), 100))
    warm.spark("driver", "driver")
    warm.spark("cluster", "cluster")
    warm.parquet("parquet")
    taken = {
        "Spark to Parquet": timed(lambda: loads.parquet("parquet")),
        "Spark load, checked by the driver": timed(lambda: loads.spark("driver", "driver")),
    }
    taken["the same without checks and publishing"] = loads.reading
    taken["Spark load, checked by the cluster"] = timed(lambda: loads.spark("cluster", "cluster"))
    # Workers of Spark that end meanwhile would take their seconds out of the sum.
    taken["embedded load"] = timed(lambda: loads.embedded("embedded"), time.process_time)
    taken["Lance in one process, nothing checked"] = timed(lambda: loads.lance("lance"), time.process_time)
    show(taken, rows)


def compare_vectors(spark: SparkSession, directory: str, count: int) -> None:
    sources = write_vectors(directory, count)
    warm = write_vectors(tempfile.mkdtemp(dir=directory), 100)
    for name, path in warm.items():
        load_vectors(spark, directory, path, f"warm-{name}")
        spark.read.parquet(path).write.parquet(os.path.join(directory, f"warm-parquet-{name}"))
    print(f"{count:,} vectors of {NUMBERS} numbers, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    show(
        {
            "Spark to Parquet": timed(
                lambda: spark.read.parquet(sources["arrays"]).write.parquet(os.path.join(directory, "parquet"))
            ),
            "Spark load, vectors as arrays": timed(lambda: load_vectors(spark, directory, sources["arrays"], "a")),
            "Spark load, vectors as bytes": timed(lambda: load_vectors(spark, directory, sources["bytes"], "b")),
        },
        count,
    )


def main(persons: int = PERSONS, vectors: int = 0) -> None:
    directory = tempfile.mkdtemp(prefix="omnigraph-benchmark-")
    try:
        if vectors:
            compare_vectors(session(), directory, vectors)
        else:
            compare_rows(session(), directory, persons)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, default=PERSONS)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--vectors", type=int, default=0)
    given = parser.parse_args()
    main(PERSONS_FULL if given.full else given.persons, given.vectors)
