"""Every kind of job on a cluster, each with a fault, beside the embedded engine.

A cell is a job on a copy of one graph with one fault. The same job runs on another copy in this process, undisturbed.
For the fault ``break`` the job must fail, and the graph must stay as it was.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import Graph, create, open_graph
from omnigraph.errors import OmnigraphError
from omnigraph.spark import export, port  # noqa: F401 # the port imports every module with tasks
from omnigraph.spark.analytics import api  # noqa: F401 # and so do analyses
from tests.features.documents.texts import PIPELINE, write_texts
from tests.features.spark.disturbing import BROKEN, Fault, disturbing
from tests.promises.cleanup.reachable import garbage
from tests.promises.crash.cells import CELLS, Cell

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? }
node Document { path: String @key  title: String?  digest: String? }
node Chunk { text: String  number: I32?  start: I32?  vector: Vector(4)? }
edge Knows: Person -> Person { since: I32? }
edge PartOf: Chunk -> Document
edge Mentions: Chunk -> Person { times: I32? }
"""
SETTINGS = {
    "spark.task.maxFailures": "3",
    # A task that takes far longer than the others is started a second time, on another host.
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "2s",
    "spark.speculation.multiplier": "1000",
}
"""What cells ask of the session."""

PERSONS = 1_200
PARTS = 6
ENDED_SECONDS_MAX = 30.0
TUNING = Tuning(
    index_rows_min=0,
    spark_table_rows_min=0,
    merged_rows=400,
    partition_rows=300,
    grouped_facts=400,
)
RULES = {"blocks": ["mail"], "compare": {"mail": "exact"}}
HOPS = "query q() { match { $a: Person $a knows $b $b knows $c } return { count(*) as n } }"


def person(number: int, **values: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": f"p{number:05}", **values}}


def knows(number: int, other: int, name: str) -> dict[str, Any]:
    ends = {"from": f"p{number:05}", "to": f"p{other:05}"}
    return {"edge": "Knows", **ends, "data": {"id": f"{name}{number:05}", "since": number}}


def build(place: Path) -> None:
    """A graph in several fragments, with a branch that changes what main changes, and without garbage."""
    graph = create(place, SCHEMA, durability="os", tuning=TUNING)
    for start in range(0, PERSONS, 300):
        numbers = range(start, start + 300)
        graph.load([person(n, age=n, mail=f"m{n // 2 if n % 100 < 50 else n}") for n in numbers], "append")
        graph.load([knows(n, n // 2, "k") for n in numbers], "append")
    graph.create_branch("theirs")
    graph.load([person(n, age=-n) for n in range(400)], "upsert", branch="theirs")
    graph.load([person(n, age=7) for n in range(600, 900)], "upsert")
    graph.load([knows(n, 3, "t") for n in range(200)], "append", branch="theirs")
    graph.load([knows(n, 4, "o") for n in range(200)], "append")
    for _ in range(2):
        graph.cleanup(grace="0s")


@dataclass(frozen=True)
class Job:
    """A job on a graph with an engine; returns what can be compared."""

    run: Callable[[Graph, Any, Path], Any]
    positions: tuple[int, ...] = (0, 3)


def load_lines(graph: Graph, spark: Any, place: Path) -> Any:
    data = place / "more.jsonl"
    rows = [
        *(person(n, age=1) for n in range(PERSONS, 2 * PERSONS)),
        *(knows(n, n - 7, "n") for n in range(PERSONS, 2 * PERSONS)),
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if spark is None:
        return graph.load(data, "append").total
    return graph.load_spark(data, "append", spark=spark, partitions=PARTS, checks="driver").total


def load_frame(graph: Graph, spark: Any, place: Path) -> Any:
    data = place / "people.csv"
    data.write_text("name,age\n" + "".join(f"p{n:05},{n * 3}\n" for n in range(600, 2 * PERSONS)))
    mapping = {"sources": {"people": {"path": str(data)}}, "load": [{"source": "people", "node": "Person"}]}
    if spark is None:
        return graph.load(mapping=mapping, mode="merge").total
    frame = {
        "people": spark.read.option("header", "true")
        .csv(str(data))
        .repartition(PARTS, "name")
        .sortWithinPartitions("name")
    }
    return graph.load_spark(frame, "merge", mapping={"load": mapping["load"]}, spark=spark, checks="cluster").total


def merge(graph: Graph, spark: Any, place: Path) -> Any:
    merged = graph.merge("theirs", engine="embedded" if spark is None else "spark", spark=spark)
    return [[table.key, table.inserted, table.updated, table.deleted] for table in merged.tables]


def optimize(graph: Graph, spark: Any, place: Path) -> Any:
    result = graph.optimize(engine="embedded" if spark is None else "spark", spark=spark)
    return [[table.key, table.rows] for table in result.tables]


def cleanup(graph: Graph, spark: Any, place: Path) -> Any:
    graph.delete_branch("theirs")
    for _ in range(2):
        graph.cleanup(keep=1, grace="0s", engine="embedded" if spark is None else "spark", spark=spark)
    return len(list(graph.commits()))


def export_lines(graph: Graph, spark: Any, place: Path) -> Any:
    target = place / "exported"
    if spark is None:
        return sorted(line.decode() for part in graph.export() for line in part.splitlines())
    written = export(graph, target, spark=spark)
    names = {file.path for file in written} | {"schema.pg"}
    assert names == {path.name for path in target.iterdir()}, "an export leaves its files and nothing else"
    return sorted(line for file in written for line in (target / file.path).read_text().splitlines())


def pagerank(graph: Graph, spark: Any, place: Path) -> Any:
    ranks = graph.analyze.pagerank("Knows", engine="embedded" if spark is None else "spark", spark=spark, partitions=4)
    return [round(value, 9) for value in ranks.to_arrow()["rank"].to_pylist()]


def divided_components(graph: Graph, spark: Any, place: Path) -> Any:
    engine = "embedded" if spark is None else "spark"
    found = graph.analyze.components("Knows", engine=engine, spark=spark, partitions=4)
    return found.to_arrow()["component"].to_pylist()


def resolve(graph: Graph, spark: Any, place: Path) -> Any:
    result = graph.resolve("Person", RULES, engine="embedded" if spark is None else "spark", spark=spark, partitions=4)
    return result.clusters.to_pylist()


def documents(graph: Graph, spark: Any, place: Path) -> Any:
    texts = write_texts(place / "texts", 12)
    pipeline = {**PIPELINE, "mentions": [{"node": "Person", "edge": "Mentions", "names": ["name"]}]}
    engine = {"engine": "embedded"} if spark is None else {"engine": "spark", "spark": spark, "partitions": 6}
    return graph.load_documents(texts, pipeline, **engine).counts.summary()


def query(graph: Graph, spark: Any, place: Path) -> Any:
    if spark is None:
        return graph.query(HOPS).to_pylist()
    return [row.asDict() for row in graph.query(HOPS, engine="spark", spark=spark).collect()]


JOBS: dict[str, Job] = {
    "load lines": Job(load_lines),
    "load frame": Job(load_frame),
    "merge": Job(merge),
    "optimize": Job(optimize),
    "cleanup": Job(cleanup),
    "export": Job(export_lines),
    "pagerank": Job(pagerank, (0, 9)),
    "divided components": Job(divided_components, (0, 20)),
    "resolve": Job(resolve),
    "documents": Job(documents),
    "query": Job(query),
}


def content(graph: Graph) -> list[str]:
    """Every branch, without ids that were minted and without what a job chooses freely."""
    lines = [
        line.decode() for branch in graph.branches() for part in graph.export(branch.name) for line in part.splitlines()
    ]
    return sorted(lines)


def left_after_cleanup(graph: Graph, store: Path) -> list[str]:
    """Files that belong to no version and stay.

    A copy of a task that Spark has ended may write for some seconds more, so that cleanup is repeated for as long.
    """
    deadline = time.monotonic() + ENDED_SECONDS_MAX
    while True:
        graph.cleanup(grace="0s")
        left = sorted(garbage(store))
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.1)


def cell(spark: Any, base: Path, place: Path, job: str, kind: str, position: int) -> dict[str, Any]:
    """One disturbed job, judged."""
    store, marks, other = place / "graph", place / "marks", place / "expected"
    marks.mkdir(parents=True)
    for target in (store, other):
        shutil.copytree(base, target)
    tuning = replace(TUNING, divided_nodes_min=1) if "divided" in job else TUNING
    graph, expected = (open_graph(target, durability="os", tuning=tuning) for target in (store, other))
    before = graph.snapshot().commit_id
    run = JOBS[job].run
    answer: Any
    wanted: Any = ["StorageError", BROKEN]
    with disturbing(Fault(kind, position, str(marks), str(store))):
        try:
            answer = run(graph, spark, place)
        except OmnigraphError as error:
            answer = [type(error).__name__, error.message]
    if kind != "break":
        (place / "here").mkdir()
        wanted = run(expected, None, place / "here")
    struck = (marks / "struck").read_text() if (marks / "struck").exists() else None
    is_same = json.dumps(answer, default=str) == json.dumps(wanted, default=str) and content(graph) == content(expected)
    is_clean = graph.verify(deep=True).is_clean
    lost = garbage(store)
    found = {
        "job": job,
        "fault": kind,
        "position": position,
        "struck": struck is not None,
        "unseen": struck in (before, None),
        "same": is_same,
        "clean": is_clean,
        "lost": len(lost),
        "left": left_after_cleanup(graph, store)[:5],
        "copies": sorted(mark.name for mark in marks.glob("copy-*")),
        "answers": [] if is_same else [str(answer)[:300], str(wanted)[:300]],
    }
    shutil.rmtree(place)
    return found


def run_cells(spark: Any, directory: Path, cells: list[list[Any]]) -> list[dict[str, Any]]:
    # Every job asks for this again. Until here no task was to run twice, however slow the machine is.
    spark.sparkContext._jsc.sc().conf().set("spark.speculation.multiplier", "2")
    base = directory / "base"
    build(base)
    return [cell(spark, base, directory / f"cell-{number}", *values) for number, values in enumerate(cells)]


def broken_promises(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells that broke a promise; all of them are counted."""
    wrong = []
    for cell in found:
        is_right = cell["unseen"] and cell["same"] and cell["clean"] and not cell["left"]
        CELLS.add(Cell("standalone cluster", cell["job"], cell["fault"]), bool(is_right))
        if not is_right:
            wrong.append(cell)
    return wrong
