"""Overhead of a graph over raw Lance: one-row commits and loads, against pylance doing the same writes.

`python -m benchmarks.writes` (`--quick` for a short run). Both sides take turns in one process and on one disk, so that
the ratios hold although the machine is shared. The raw side is as durable as the graph: the data file, the manifest
and their directories are synced before a write counts as done.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments

from omnigraph.core.ports import UlidSource
from omnigraph.engine.graph import Graph, create
from omnigraph.engine.load import sources
from omnigraph.ingest.reading import Reading
from omnigraph.rows.arrow_types import table_schema
from omnigraph.rows.violations import Violations

SCHEMA = """
node Person {
    name: String @key
    city: String?
    age: I32?
    score: F64?
    visits: I64?
}
"""
INSERT = """
query add($name: String, $city: String, $age: I32, $score: F64, $visits: I64) {
    insert Person { name: $name, city: $city, age: $age, score: $score, visits: $visits }
}
"""

SYNCING = ThreadPoolExecutor(8)
"""The raw side syncs its files concurrently too, as the graph does."""


@dataclass(frozen=True)
class Sizes:
    commits: int
    small_rounds: int
    large_rows: int
    large_rounds: int


FULL = Sizes(commits=300, small_rounds=30, large_rows=1_000_000, large_rounds=3)
QUICK = Sizes(commits=50, small_rounds=5, large_rows=100_000, large_rounds=1)


def rows(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "name": pa.array([f"person-{number:09d}" for number in numbers], pa.string()),
            "city": pa.array([f"city-{number % 1000}" for number in numbers], pa.string()),
            "age": pa.array([number % 90 for number in numbers], pa.int32()),
            "score": pa.array([number / 7 for number in numbers], pa.float64()),
            "visits": pa.array([number * 3 for number in numbers], pa.int64()),
        }
    )


def stored(table: pa.Table) -> pa.Table:
    """The same rows as a graph stores them: with their id."""
    return table.add_column(0, pa.field("id", pa.string(), nullable=False), table.column("name"))


class RawTable:
    """A Lance dataset and nothing else."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self.path = path
        self.dataset = lance.write_dataset(schema.empty_table(), f"file-object-store://{path}", mode="create")

    def append(self, table: pa.Table) -> None:
        fragments = write_fragments(table, self.dataset, mode="append")
        self.dataset = LanceDataset.commit(
            self.dataset, LanceOperation.Append(fragments), read_version=self.dataset.version
        )
        self._sync([file.path for fragment in fragments for file in fragment.files])

    def write(self, table: pa.Table) -> None:
        """A plain call of ``lance.write_dataset``."""
        self.dataset = lance.write_dataset(table, self.dataset.uri, mode="overwrite")
        self._sync([file.path for fragment in self.dataset.get_fragments() for file in fragment.metadata.files])

    def _sync(self, names: list[str]) -> None:
        manifest = f"{self.path}/_versions/{2**64 - 1 - self.dataset.version:020d}.manifest"
        data = [f"{self.path}/data/{name}" for name in names]
        list(SYNCING.map(_sync, [*data, manifest, f"{self.path}/data", f"{self.path}/_versions"]))


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Cost(NamedTuple):
    """Wall time and processor time in seconds; other load does not change the latter."""

    seconds: float
    processor: float


NOTHING = Cost(0.0, 0.0)
Measured = tuple[str, Cost, Cost, Cost]
"""Name of the write; cost of the graph, of raw Lance, and of parsing, which the graph's cost includes."""


def timed(action: Callable[[], object]) -> Cost:
    start, processor = time.perf_counter(), time.process_time()
    action()
    return Cost(time.perf_counter() - start, time.process_time() - processor)


def middle(costs: list[Cost]) -> Cost:
    return Cost(statistics.median(cost.seconds for cost in costs), statistics.median(cost.processor for cost in costs))


def parsing(path: str, graph: Graph) -> None:
    """Parse JSON lines without writing them."""
    reading = Reading(graph.catalog(), UlidSource().new_ids, Violations())
    for _ in sources.read(path, None, reading, None, {}):
        pass


def one_row(directory: str, sizes: Sizes) -> list[Measured]:
    graph = create(f"{directory}/one-graph", SCHEMA)
    raw = RawTable(f"{directory}/one-raw", _schema(graph))
    graph_costs, raw_costs = [], []
    for number in range(sizes.commits):
        [row] = rows(number, 1).to_pylist()
        table = stored(rows(number, 1)).select(raw.dataset.schema.names)
        raw_costs.append(timed(lambda table=table: raw.append(table)))
        graph_costs.append(timed(lambda row=row: graph.mutate(INSERT, row)))
    return [("one-row commit", middle(graph_costs), middle(raw_costs), NOTHING)]


def loads(directory: str, count: int, rounds: int) -> list[Measured]:
    """Every round writes a new table and two new graphs, and parses the file once more to time parsing alone."""
    table = rows(0, count)
    path = f"{directory}/{count}.jsonl"
    with open(path, "w", encoding="ascii") as file:
        file.writelines(
            f'{{"type":"Person","data":{{"name":"{name}","city":"{city}","age":{age},"score":{score!r},'
            f'"visits":{visits}}}}}\n'
            for name, city, age, score, visits in zip(*(column.to_pylist() for column in table), strict=True)
        )
    arrow, lines, raws, parses = [], [], [], []
    for number in range(rounds):
        graphs = [create(f"{directory}/graph-{count}-{number}-{kind}", SCHEMA) for kind in ("arrow", "lines")]
        raw = RawTable(f"{directory}/raw-{count}-{number}", _schema(graphs[0]))
        with_id = stored(table).select(raw.dataset.schema.names)
        raws.append(timed(lambda raw=raw, with_id=with_id: raw.write(with_id)))
        arrow.append(timed(lambda graph=graphs[0]: graph.load(table, "append", type_name="Person")))
        parses.append(timed(lambda graph=graphs[1]: parsing(path, graph)))
        lines.append(timed(lambda graph=graphs[1]: graph.load(path, "append")))
    name = f"{count:,} rows"
    return [
        (f"{name}, Arrow", middle(arrow), middle(raws), NOTHING),
        (f"{name}, JSON lines", middle(lines), middle(raws), middle(parses)),
    ]


def _schema(graph: Graph) -> pa.Schema:
    return table_schema(graph.catalog().nodes["Person"])


def main(sizes: Sizes = FULL) -> None:
    directory = tempfile.mkdtemp(prefix="omnigraph-writes-")
    try:
        measured = one_row(directory, sizes)
        measured += loads(directory, 1_000, sizes.small_rounds)
        measured += loads(directory, sizes.large_rows, sizes.large_rounds)
    finally:
        shutil.rmtree(directory)
    print("| Write | graph ms | raw Lance ms | parsing ms | (graph - parsing) / raw | the same in processor time |")
    print("|---|---|---|---|---|---|")
    for name, graph, raw, parse in measured:
        parsed = f"{parse.seconds * 1000:.1f}" if parse.seconds else "-"
        ratio = (graph.seconds - parse.seconds) / raw.seconds
        processor = (graph.processor - parse.processor) / raw.processor
        times = f"{graph.seconds * 1000:.1f} | {raw.seconds * 1000:.1f} | {parsed}"
        print(f"| {name} | {times} | {ratio:.2f} | {processor:.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller writes")
    main(QUICK if parser.parse_args().quick else FULL)
