"""Files and frames of known types on Spark: the options and the outcome of a load in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import OmnigraphError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person {
  name: String
  age: I32?
}
edge Knows: Person -> Person {
  since: Date?
}
"""


def content(graph: Graph) -> list[Any]:
    """What a graph holds, without minted ids of edges."""
    found = [json.loads(line) for line in b"".join(graph.export()).splitlines()]
    for record in found:
        if "edge" in record:
            record["data"].pop("id")
    return sorted(found, key=str)


def test_both_engines_load_the_same_from_files_and_frames_of_a_type(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text('person;name;notes\n1;007;x\n2;"a;b";\n')
    (tmp_path / "more.jsonl").write_text('{"id": "3", "name": "c"}\n{"id": "4", "name": "d", "age": 5}\n')
    pyarrow.parquet.write_table(pa.table({"src": [1, 2], "DST": [2, 3]}), tmp_path / "knows.parquet")
    options = {"map": {"id": "person"}, "ignore": ["notes"], "constant": {"age": 7}}
    graphs = [create(tmp_path / name, SCHEMA) for name in ("here.omni", "there.omni")]
    for graph in graphs:
        load: Any = graph.load
        more: dict[str, Any] = {} if graph is graphs[0] else {"engine": "spark", "spark": spark}
        load(tmp_path / "people.csv", "append", type_name="Person", **options, **more)
        load({"Person": str(tmp_path / "more.jsonl"), "Knows": str(tmp_path / "knows.parquet")}, "append", **more)
    frame = spark.createDataFrame([("9", "z")], "id string, name string")
    graphs[1].load_spark({"Person": frame}, "append", spark=spark)
    graphs[0].load({"Person": pa.table({"id": ["9"], "name": ["z"]})}, "append")
    assert content(graphs[0]) == content(graphs[1])
    for wrong in (
        {"map": {"id": "persn"}},
        {"ignore": ["note"]},
        {"ignore": ["notes"]},
        {"constant": {"age": "x"}, "ignore": ["notes", "person"]},
    ):
        messages = []
        for load, more in ((graphs[0].load, {}), (graphs[1].load_spark, {"spark": spark})):
            with pytest.raises(OmnigraphError) as caught:
                load(tmp_path / "people.csv", "append", type_name="Person", **wrong, **more)
            messages.append(str(caught.value).partition("\n  hint")[0].rpartition("people.csv:1: ")[2].splitlines()[0])
        assert messages[0] == messages[1]
