"""A program: loads, reads and analyses through a Spark Connect server, and tells what came of each as JSON.

It starts no JVM.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import OmnigraphError
from omnigraph.spark import check_session, export, query, register, session
from omnigraph.spark.analytics import api
from omnigraph.spark.cluster.progress import LoadProgress

SCHEMA = "node Person {\n name: String @key\n age: I32?\n}\nedge Knows: Person -> Person\n"
PEOPLE = 60
MAPPED = {"source": "people", "node": "Person", "columns": {"name": "who", "age": {"sql": "int(years) + 1"}}}
WALKS = "walks"
"""A branch with more edges: a way around ten people, and one that leads out of it."""
QUERIES = {
    "two hops": "query q() { match { $p: Person $p knows $f $f knows $g } return { $p, $g } order { $p, $g } }",
    "many hops": "query q() { match { $p: Person $p knows{1,5} $f } return { $p, $f } order { $p, $f } }",
    "counted": "query q() { match { $p: Person $p knows $f } return { count($f) as n, avg($p.age) as age } }",
    "ranked": 'query q() { match { $p: Person } return { $p, bm25($p.name, "p1 p2") as s } '
    'order { rrf(bm25($p.name, "p1 p2"), bm25($p.name, "p2")) } limit 5 }',
    "searched": 'query q() { match { $p: Person search($p.name, "p17") not { $p knows $f } } return { $p } }',
}
ENDLESS = f"query q() {{ match {{ {' '.join(f'$p{n}: Person' for n in range(9))} }} return {{ count($p0) as n }} }}"


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
    report = {
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
    report |= query_answers(graph, spark)
    report["stages"] = list(dict.fromkeys(progress.stage for progress in seen))
    report["rows"] = seen[-1].rows
    report["jvm"] = any(name.startswith("py4j.java_gateway") for name in sys.modules) and spark_gateway()
    print("report", json.dumps(report))


def query_answers(graph: Graph, spark: Any) -> dict[str, Any]:
    """Answers of queries, views and algorithms, compared with the embedded engine."""
    graph.create_branch(WALKS)
    ways = [(number, (number + 1) % 10) for number in range(10)] + [(3, 20), (3, 3), (5, 3)]
    edges = [{"edge": "Knows", "from": f"p{one}", "to": f"p{other}", "data": {}} for one, other in ways]
    graph.load(edges, "append", branch=WALKS)

    def is_same(text: str) -> bool:
        wanted = graph.query(text, branch=WALKS).table.to_pylist()
        frame = graph.query(text, branch=WALKS, engine="spark", spark=spark)
        return bool(wanted) and [row.asDict() for row in frame.collect()] == wanted

    def is_equal(name: str) -> bool:
        run = getattr(graph.analyze, name)
        engines = ({"engine": "embedded"}, {"engine": "spark", "spark": spark, "partitions": 2})
        embedded, on_spark = (run(branch=WALKS, **engine).to_pylist() for engine in engines)
        return bool(embedded == on_spark)

    def divided() -> bool:
        with patch.object(api, "CONNECT_NODES_MAX", PEOPLE):
            return is_equal("degrees")

    return {
        "divided": answer(divided),
        "queries": {name: answer(lambda text=text: is_same(text)) for name, text in QUERIES.items()},
        "brought": answer(lambda: len(query(graph, QUERIES["counted"], branch=WALKS, spark=spark, timeout=60))),
        "timeout": answer(lambda: query(graph, ENDLESS, spark=spark, timeout=1)),
        "views": answer(lambda: graph.spark_views(WALKS, prefix="w_", spark=spark)),
        "sql": spark.sql("select count(*) from w_Knows join w_Person on src = w_Person.id").collect()[0][0],
        "components": answer(lambda: is_equal("components")),
        "triangles": answer(lambda: is_equal("triangles")),
        "ranks": answer(
            lambda: graph.analyze.pagerank(engine="spark", spark=spark, max_iterations=2).facts["iterations"]
        ),
    }


def spark_gateway() -> bool:
    from pyspark import SparkContext

    return SparkContext._gateway is not None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
