"""Every load mode on Spark has the result of the embedded load: the graph, the counts and the cleared values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph, create
from tests.features.spark.outcomes import lines, write_lines
from tests.support.sampling import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person { name: String @key
    age: I32?
    mood: String
    mail: String? @unique }
node Note { text: String?  rank: I32? }
edge Knows: Person -> Person @key(src, dst) { since: I32? how: String? }
"""


def person(name: str, **values: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **values}}


def note(id_: str, **values: Any) -> dict[str, Any]:
    return {"type": "Note", "data": {"id": id_, **values}}


def knows(source: str, target: str, **values: Any) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target, "data": values}


SEED = [
    *(person(name, age=number, mood="calm", mail=f"{name}@x") for number, name in enumerate("abcdef")),
    *(note(f"n{number}", text="t", rank=number) for number in range(4)),
    knows("a", "b", since=1, how="well"),
    knows("b", "c", since=2),
]
PARTIAL = [
    person("a", age=9),
    note("n1", rank=7),
    person("b", mail=None),
    person("c", mood="calm"),
    knows("a", "b", how=None),
    {"edge": "Knows", "data": {"id": '["b","c"]', "how": "new"}},
    note("n1", text="later"),
    note("n2", rank=2),
]
CASES = {
    "upsert": ("upsert", [*PARTIAL, person("new", mood="x"), note("n9", rank=1), knows("c", "a")]),
    "update": ("update", PARTIAL),
    "merge": ("merge", [person("a", mood="calm"), person("b", age=1, mood="calm", mail="b@x"), note("n1"), note("n9")]),
    "overwrite": ("overwrite", [note("n0", text="t", rank=0), note("n1", rank=1), note("n9")]),
    "same": ("upsert", SEED),
    "same merge": ("merge", SEED),
    "same overwrite": ("overwrite", SEED),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = create(tmp_path_factory.mktemp("modes") / "graph", SCHEMA, durability="os")
    made.load(SEED, "append")
    return made


@pytest.mark.parametrize("checks", sampled(["cluster", "driver"], 2))
@pytest.mark.parametrize("case", CASES)
def test_a_mode_has_the_same_result_as_in_this_process(
    graph: Graph, spark: SparkSession, tmp_path: Path, case: str, checks: str
) -> None:
    mode, records = CASES[case]
    one, other = (f"{engine}/{case}/{checks}".replace(" ", "-") for engine in ("embedded", "spark"))
    for branch in (one, other):
        graph.create_branch(branch)
    path = write_lines(tmp_path / "data.jsonl", records)
    expected = graph.load(path, mode, branch=one)
    loaded = graph.load_spark(path, mode, branch=other, spark=spark, partitions=3, checks=checks)
    assert lines(graph, other) == lines(graph, one)
    assert [counts(result) for result in (loaded,)] == [counts(expected)]
    assert graph.verify().is_clean


def counts(result: Any) -> Any:
    tables = sorted((item.key, item.inserted, item.updated, item.deleted) for item in result.commit.tables)
    return dict(result.nodes), dict(result.edges), result.unchanged, result.cleared, tables


def test_a_frame_names_the_properties_of_its_columns(graph: Graph, spark: SparkSession) -> None:
    graph.create_branch("frame")
    frame = spark.createDataFrame([("a", 50), ("f", 51)], "name string, years int")
    mapping = {"load": [{"node": "Person", "source": "people", "columns": {"name": "name", "age": "years"}}]}
    loaded = graph.load_spark({"people": frame}, "update", mapping=mapping, branch="frame", spark=spark)
    assert (loaded.inserted, loaded.updated) == (0, 2)
    found = b"".join(graph.export("frame")).decode()
    assert '"id":"a","name":"a","age":50,"mood":"calm","mail":"a@x"' in found
