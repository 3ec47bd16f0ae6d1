"""A graph of a hundred million edges on one machine: load, analyses, a query, maintenance, a merge.

`python -m benchmarks.spark_scale --edges 100000000 --directory DIR`; a tenth as many persons. Every step is a process
of its own with a session of its own, and its numbers are kept in DIR, so that a run that was ended continues with the
next step; `--again STEP` repeats one, `--steps load degrees` runs some. At the end DIR is deleted, unless `--keep` is
given.
A load of 300 million edges alone: `--edges 300000000 --steps input load`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.processes import Sampler, timed
from omnigraph.engine.graph import Graph, create, open_graph
from omnigraph.spark import session

SCHEMA = """
node Person {
    name: String @key
    age: I32?
}
edge Follows: Person -> Person {
    since: I32?
}
"""
EDGES = 2_000_000
EDGES_PER_PERSON = 10
FILE_ROWS = 2_000_000
CHANGES = 1_000_000
ROUNDS = 10
TWO_HOPS = "query hops() { match { $a: Person $a follows $b $b follows $c } return { count(*) as walks } }"


@dataclass(frozen=True)
class Measured:
    """The numbers of one step. Bytes of memory are peaks; files and bytes on disk are those of the graph afterwards."""

    seconds: float
    processor: float
    driver: int
    jvm: int
    workers: int
    files: int
    disk: int
    answer: str


@dataclass(frozen=True)
class Scale:
    """The sizes and places of a run."""

    directory: Path
    edges: int
    memory: str

    @property
    def persons(self) -> int:
        return max(self.edges // EDGES_PER_PERSON, 1_000)

    @property
    def changes(self) -> int:
        return min(CHANGES, self.persons // 2)

    @property
    def input(self) -> Path:
        return self.directory / "input"

    @property
    def place(self) -> Path:
        return self.directory / "graph"

    def graph(self) -> Graph:
        return open_graph(self.place, durability="os")

    def session(self) -> Any:
        return session(memory=self.memory)


def names(numbers: np.ndarray[Any, Any]) -> pa.Array:
    """Names of persons; nine digits, so that texts and numbers sort alike."""
    return pa.array(np.char.add("person-", np.char.zfill(numbers.astype("U9"), 9)))


def make_input(scale: Scale) -> str:
    """Parquet files: persons, edges with a skewed in-degree, and the changes of two branches."""
    chance = np.random.default_rng(7)
    for name in ("persons", "edges", "ours", "theirs"):
        (scale.input / name).mkdir(parents=True, exist_ok=True)
    for start in range(0, scale.persons, FILE_ROWS):
        numbers = np.arange(start, min(start + FILE_ROWS, scale.persons))
        rows = pa.table({"name": names(numbers), "age": pa.array((numbers % 90).astype(np.int32))})
        pq.write_table(rows, scale.input / "persons" / f"{start}.parquet")
    for start in range(0, scale.edges, FILE_ROWS):
        count = min(FILE_ROWS, scale.edges - start)
        sources = chance.integers(0, scale.persons, count)
        targets = (scale.persons * chance.random(count) ** 3).astype(np.int64)
        since = pa.array(chance.integers(1990, 2026, count).astype(np.int32))
        rows = pa.table({"from": names(sources), "to": names(targets), "since": since})
        pq.write_table(rows, scale.input / "edges" / f"{start}.parquet")
    for name, first, count in (("theirs", 0, scale.changes), ("ours", scale.changes, scale.changes // 10)):
        numbers = np.arange(first, first + count)
        rows = pa.table({"name": names(numbers), "age": pa.array((numbers % 90 + 1).astype(np.int32))})
        pq.write_table(rows, scale.input / name / "0.parquet")
    size = sum(file.stat().st_size for file in scale.input.rglob("*.parquet"))
    return f"{size / 2**20:,.0f} MiB of Parquet"


def load(scale: Scale) -> str:
    shutil.rmtree(scale.place, ignore_errors=True)
    graph = create(scale.place, SCHEMA, durability="os")
    mapping = {
        "sources": {name: {"path": str(scale.input / name), "format": "parquet"} for name in ("persons", "edges")},
        "load": [
            {"source": "persons", "node": "Person"},
            {"source": "edges", "edge": "Follows", "from": "from", "to": "to"},
        ],
    }
    loaded = graph.load_spark(None, "append", mapping=mapping, spark=scale.session())
    return f"{loaded.total:,} rows"


def degrees(scale: Scale) -> str:
    found = scale.graph().analyze.degrees("Follows", engine="spark", spark=scale.session())
    return f"largest in-degree {found.facts['in_degree_max']:,}"


def pagerank(scale: Scale) -> str:
    analyze = scale.graph().analyze
    ranks = analyze.pagerank("Follows", tolerance=0, max_iterations=ROUNDS, engine="spark", spark=scale.session())
    return f"largest rank {ranks.top(1).to_pylist()[0]['rank']:.3g}"


def components(scale: Scale) -> str:
    found = scale.graph().analyze.components("Follows", engine="spark", spark=scale.session())
    return f"{found.facts['components']:,} components"


def two_hops(scale: Scale) -> str:
    rows = scale.graph().query(TWO_HOPS, engine="spark", spark=scale.session()).collect()
    return f"{rows[0].walks:,} walks"


def optimize(scale: Scale) -> str:
    result = scale.graph().optimize(engine="spark", spark=scale.session())
    return f"{len(result.commits)} commits"


def merge(scale: Scale) -> str:
    """A million persons changed on a branch, a tenth as many others on main, merged."""
    graph, spark = scale.graph(), scale.session()
    if "theirs" in [branch.name for branch in graph.branches()]:
        graph.delete_branch("theirs")
    graph.create_branch("theirs")
    graph.load(scale.input / "theirs" / "0.parquet", "merge", type_name="Person", branch="theirs")
    graph.load(scale.input / "ours" / "0.parquet", "merge", type_name="Person")
    merged = graph.merge("theirs", engine="spark", spark=spark)
    return f"{sum(table.updated for table in merged.tables):,} updated"


STEPS: dict[str, Callable[[Scale], str]] = {
    "input": make_input,
    "load": load,
    "degrees": degrees,
    "pagerank": pagerank,
    "components": components,
    "two hops": two_hops,
    "optimize": optimize,
    "merge": merge,
}


def child(scale: Scale, step: str) -> None:
    """One step in this process; prints its time and answer."""
    answer: list[str] = []
    cost = timed(lambda: answer.append(STEPS[step](scale)))
    print("measured", json.dumps([cost.seconds, cost.processor, answer[0]]), flush=True)


def run_step(scale: Scale, step: str) -> Measured:
    command = [sys.executable, "-m", "benchmarks.spark_scale", "--child", step, "--directory", str(scale.directory)]
    command += ["--edges", str(scale.edges), "--memory", scale.memory]
    # Sessions keep shuffles and spilled rows below the directory, which is deleted at the end.
    scratch = scale.directory / "scratch"
    scratch.mkdir(exist_ok=True)
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(scratch), "TMPDIR": str(scratch)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    with Sampler(process.pid) as sampler:
        output, _ = process.communicate()
    shutil.rmtree(scratch, ignore_errors=True)
    lines = [line for line in output.splitlines() if line.startswith("measured ")]
    if process.returncode or not lines:
        raise SystemExit(f"{step} failed with exit code {process.returncode}; the steps before it are kept")
    seconds, processor, answer = json.loads(lines[0].removeprefix("measured "))
    sizes = [file.stat().st_size for file in scale.place.rglob("*.lance")] if scale.place.exists() else []
    return Measured(seconds, processor, *sampler.peak, len(sizes), sum(sizes), answer)


def show(scale: Scale, found: dict[str, Measured]) -> None:
    print(f"\n{scale.edges:,} edges, {scale.persons:,} persons, {os.cpu_count()} cores\n")
    print("| Step | Seconds | Processor s | Driver MiB | JVM MiB | Workers MiB | Files | GiB on disk | Result |")
    print("|---|---|---|---|---|---|---|---|---|")
    for step, item in found.items():
        memory = " | ".join(f"{size / 2**20:,.0f}" for size in (item.driver, item.jvm, item.workers))
        print(
            f"| {step} | {item.seconds:,.0f} | {item.processor:,.0f} | {memory} | {item.files:,} "
            f"| {item.disk / 2**30:.2f} | {item.answer} |"
        )


def main(edges: int = EDGES, directory: str | None = None, steps: list[str] | None = None, **given: Any) -> None:
    place = Path(directory or tempfile.mkdtemp(prefix="omnigraph-scale-"))
    place.mkdir(parents=True, exist_ok=True)
    scale = Scale(place, edges, given.get("memory") or "4g")
    notes = place / f"measured-{edges}.json"
    known = json.loads(notes.read_text()) if notes.exists() else {}
    found = {step: Measured(**numbers) for step, numbers in known.items()}
    for step in steps or list(STEPS):
        if step in found and step not in (given.get("again") or ()):
            print(f"{step}: kept from an earlier run", flush=True)
            continue
        start = time.strftime("%H:%M:%S")
        found[step] = run_step(scale, step)
        print(f"{start} {step}: {found[step].seconds:,.0f} s, {found[step].answer}", flush=True)
        notes.write_text(json.dumps({name: asdict(item) for name, item in found.items()}, indent=1))
    show(scale, {step: found[step] for step in STEPS if step in found})
    if not given.get("keep"):
        shutil.rmtree(place)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--directory", help="place of the data and of the numbers [default: a temporary one]")
    parser.add_argument("--steps", nargs="+", choices=list(STEPS))
    parser.add_argument("--again", nargs="+", choices=list(STEPS))
    parser.add_argument("--memory", default="4g", help="memory of the JVM [default: 4g]")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--child", choices=list(STEPS), help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.child:
        child(Scale(Path(said.directory), said.edges, said.memory), said.child)
    else:
        main(said.edges, said.directory, said.steps, again=said.again, memory=said.memory, keep=said.keep)
