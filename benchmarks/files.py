"""Everyday files: embedded loads of CSV and Parquet against ``lance.write_dataset`` fed by DuckDB from the same file.

    python -m benchmarks.files [--rows 10000000] [--rounds 3]

Each load runs in a process of its own, graph and Lance in turns, so that memory is the peak of one load and both sides
meet the same machine. The graph checks every value and every id; Lance writes what DuckDB reads.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

SCHEMA = """
node Person {
  name: String
  email: String?
  age: I32?
  score: F64?
  born: Date?
  active: Bool?
}
"""
PEOPLE = """
SELECT i AS id, 'Person number ' || i AS name, 'user' || i || '@example.org' AS email, (i * 7919) % 100 AS age,
       round((i * 31337 % 1000003) / 1000.0, 3) AS score, DATE '1950-01-01' + CAST((i * 31) % 25000 AS INTEGER) AS born,
       i % 3 = 0 AS active
FROM range({rows}) numbers(i)
"""
FORMATS = {"csv": "(FORMAT csv, HEADER)", "parquet": "(FORMAT parquet)"}


def write_files(directory: str, rows: int) -> None:
    """The same rows in every format."""
    import duckdb

    for suffix, form in FORMATS.items():
        path = os.path.join(directory, f"people.{suffix}")
        duckdb.sql(f"COPY ({PEOPLE.format(rows=rows)}) TO '{path}' {form}")


def load_graph(path: str, target: str) -> Callable[[], object]:
    import omnigraph

    graph = omnigraph.create(target, SCHEMA)
    graph.load([{"id": "warm", "name": "up"}], type_name="Person", branch="warm", base="main")
    return lambda: graph.load(path, "append", type_name="Person")


def write_lance(path: str, target: str) -> Callable[[], object]:
    import duckdb
    import lance

    source = duckdb.read_csv(path) if path.endswith(".csv") else duckdb.read_parquet(path)
    return lambda: lance.write_dataset(source.to_arrow_reader(65_536), target)


SYSTEMS = {"graph": load_graph, "lance": write_lance}


def measure_one(system: str, path: str, target: str) -> None:
    """One load in this process; prints seconds, processor seconds and peak memory as JSON."""
    run = SYSTEMS[system](path, target)
    wall, processor = time.perf_counter(), time.process_time()
    run()
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - wall,
                "processor": time.process_time() - processor,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )


def compare(rows: int, rounds: int) -> None:
    """Rounds of every format and system; prints medians and ratios."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCHMARK_DIRECTORY")) as directory:
        write_files(directory, rows)
        target = os.path.join(directory, "out")
        print("| File | side | seconds | processor seconds | peak MB |\n|---|---|---|---|---|")
        for suffix in FORMATS:
            path = os.path.join(directory, f"people.{suffix}")
            found: dict[str, list[dict[str, float]]] = {system: [] for system in SYSTEMS}
            for _ in range(rounds):
                for system, results in found.items():
                    shutil.rmtree(target, ignore_errors=True)
                    words = [sys.executable, "-m", "benchmarks.files", "--one", system, path, target]
                    done = subprocess.run(words, check=True, capture_output=True, text=True)
                    results.append(json.loads(done.stdout))
            medians = {
                system: {key: statistics.median(result[key] for result in results) for key in results[0]}
                for system, results in found.items()
            }
            for system, one in medians.items():
                print(f"| {suffix} | {system} | {one['seconds']:.1f} | {one['processor']:.1f} | {one['peak_mb']:.0f} |")
            ratio = {key: medians["graph"][key] / medians["lance"][key] for key in medians["graph"]}
            print(f"| {suffix} | ratio | {ratio['seconds']:.2f} | {ratio['processor']:.2f} | {ratio['peak_mb']:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=3, metavar=("SYSTEM", "FILE", "TARGET"))
    given = parser.parse_args()
    if given.one:
        measure_one(*given.one)
    else:
        compare(given.rows, given.rounds)


if __name__ == "__main__":
    main()
