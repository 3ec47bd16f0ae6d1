"""A program: loads and reads through a Spark Connect server, and tells what came of each as JSON. It starts no JVM."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omnigraph.engine.graph import create
from omnigraph.errors import OmnigraphError
from omnigraph.spark import check_session, export, register, session
from omnigraph.spark.progress import LoadProgress

SCHEMA = "node Person {\n name: String @key\n age: I32?\n}\nedge Knows: Person -> Person\n"
PEOPLE = 60
MAPPED = {"source": "people", "node": "Person", "columns": {"name": "who", "age": {"sql": "int(years) + 1"}}}


def answer(call: Callable[[], Any]) -> Any:
    """What a call returns, or the error that it ends with."""
    try:
        return call()
    except OmnigraphError as error:
        return [type(error).__name__, str(error)]


def main(directory: Path) -> None:
    spark = session()
    graph = create(directory / "graph", SCHEMA, durability="os")
    data, table = directory / "data.jsonl", directory / "people.csv"
    records = [{"type": "Person", "data": {"name": f"p{number}", "age": number}} for number in range(PEOPLE)]
    records.append({"edge": "Knows", "from": "p1", "to": "p2", "data": {"id": "k"}})
    data.write_text("".join(json.dumps(record) + "\n" for record in records))
    bad = directory / "bad.jsonl"
    bad.write_text('{"type": "Person", "data": {"name": "x", "age": "old"}}\n')
    table.write_text("who,years\nAda,36\nAlan,41\n")
    seen: list[LoadProgress] = []

    def load(source: Any, mode: str = "append", **options: Any) -> int:
        return graph.load_spark(source, mode, spark=spark, **options).total

    def mapped(entry: dict[str, Any], path: Path = table, **options: Any) -> int:
        return load({"people": str(path)}, mapping={"load": [entry]}, **options)

    frame = spark.createDataFrame([("frame", 1)], "name string, age int")
    stored = spark.read.format("omnigraph").options(store=graph.uri, type="Person")
    told = {
        "kind": type(check_session(spark)).__module__,
        "lines": answer(lambda: load(data, partitions=3, progress=seen.append)),
        "cluster": answer(lambda: load(data, "merge", partitions=3, checks="cluster", resume=True)),
        "violation": answer(lambda: load(bad)),
        "rejected": answer(lambda: load(bad, reject_to=directory / "rejected")),
        "mapped": answer(lambda: mapped(MAPPED)),
        "resumed": answer(lambda: mapped(MAPPED, resume=True)),
        "missing file": answer(lambda: mapped(MAPPED, directory / "missing.csv")),
        "missing column": answer(lambda: mapped({**MAPPED, "columns": {"name": "whoo"}})),
        "wrong sql": answer(lambda: mapped({**MAPPED, "columns": {"name": {"sql": "nix + 1"}}})),
        "failing sql": answer(lambda: mapped({**MAPPED, "columns": {"name": {"sql": "int(who)"}}})),
        "frame": answer(lambda: load({"f": frame}, mapping={"load": [{"source": "f", "node": "Person"}]})),
        "exported": answer(lambda: sum(file.rows for file in export(graph, directory / "out", spark=spark))),
        "read": (register(spark), stored.load().where("age >= 0").count())[1],
        "again": type(session()).__module__,
    }
    told["stages"] = list(dict.fromkeys(progress.stage for progress in seen))
    told["rows"] = seen[-1].rows
    told["jvm"] = any(name.startswith("py4j.java_gateway") for name in sys.modules) and spark_gateway()
    print("told", json.dumps(told))


def spark_gateway() -> bool:
    from pyspark import SparkContext

    return SparkContext._gateway is not None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
