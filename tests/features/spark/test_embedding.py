"""Executors make the vectors of the rows they read, and the graph is the one that the embedded load makes."""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType, StructField, StructType

import omnigraph
from omnigraph.core.ports import EmbeddingRole
from omnigraph.embed import MockEmbedder
from omnigraph.errors import EmbeddingError, EmbeddingUnavailable
from omnigraph.spark.source.data_source import OmnigraphSource
from tests.features.spark.outcomes import data_files, lines, outcome, write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Doc { slug: String @key
    text: String?
    vec: Vector(3)? @embed(text)
    named: Vector(3)? @embed(text, model="model-a") }
node Note { slug: String @key
    body: String?
    vec: Vector(4) @embed(body) }
"""


@dataclass(frozen=True)
class Noting:
    """The deterministic embedder. Leaves a file for every call, so that those of other processes are seen as well."""

    directory: str
    model: str = "model-a"
    refused: str = ""

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
        if self.refused in texts:
            raise EmbeddingUnavailable("no answer")
        Path(self.directory, uuid.uuid4().hex).write_text(json.dumps([*texts]), encoding="utf-8")
        return MockEmbedder().embed(texts, dimension, role)

    def texts(self) -> list[str]:
        """Every text as often as it was embedded; forgets them."""
        files = list(Path(self.directory).iterdir())
        found = [text for file in files for text in json.loads(file.read_text(encoding="utf-8"))]
        for file in files:
            file.unlink()
        return sorted(found)


def doc(number: int, **data: Any) -> dict[str, Any]:
    return {"type": "Doc", "data": {"slug": f"d{number}", **data}}


def note(number: int, **data: Any) -> dict[str, Any]:
    return {"type": "Note", "data": {"slug": f"n{number}", **data}}


RECORDS = [
    *(doc(number, text=f"text {number}") for number in range(20)),
    *(doc(number, text=f"text {number}", vec=[1, 0, 0]) for number in range(20, 25)),
    doc(30),
    doc(31, text=""),
    *(note(number, body=f"body {number}") for number in range(10)),
]
CHANGED = [
    *(doc(number, text=f"text {number}") for number in range(22)),
    doc(22, text="changed"),
    doc(30, text="new"),
    note(1, body="body 1"),
    note(2, body="changed"),
]


@pytest.fixture
def embedder(tmp_path: Path) -> Noting:
    directory = tmp_path / "calls"
    directory.mkdir()
    return Noting(str(directory))


def make(path: Path, embedder: Any) -> omnigraph.Graph:
    return omnigraph.create(path, SCHEMA, durability="os", embedder=embedder)


@pytest.mark.parametrize("partitions", [1, 5])
def test_the_graph_is_that_of_the_embedded_load(
    spark: SparkSession, tmp_path: Path, embedder: Noting, partitions: int
) -> None:
    path = write_lines(tmp_path / "all.jsonl", RECORDS)
    changed = write_lines(tmp_path / "changed.jsonl", CHANGED)
    with_spark, embedded = make(tmp_path / "spark", embedder), make(tmp_path / "embedded", MockEmbedder("model-a"))
    for file, mode in ((path, "append"), (changed, "merge"), (path, "merge"), (changed, "overwrite")):
        with_spark.load_spark(file, mode, spark=spark, partitions=partitions)
        embedded.load(file, mode)
        assert lines(with_spark) == lines(embedded)
        assert b'"vec":[' in b"".join(lines(with_spark))


def test_executors_embed_each_text_of_theirs_once_and_nothing_that_did_not_change(
    spark: SparkSession, tmp_path: Path, embedder: Noting
) -> None:
    graph = make(tmp_path / "g", embedder)
    path = write_lines(tmp_path / "all.jsonl", RECORDS)
    graph.load_spark(path, spark=spark, partitions=3)
    bodies = [f"body {number}" for number in range(10)]
    assert embedder.texts() == sorted([f"text {number}" for number in range(25)] + bodies), "once for both properties"
    graph.load_spark(path, spark=spark, partitions=2)
    assert embedder.texts() == []
    graph.load_spark(write_lines(tmp_path / "changed.jsonl", CHANGED), spark=spark, partitions=2)
    assert embedder.texts() == ["changed", "changed", "new"], "one for each dimension"


def test_tables_of_a_mapping_get_their_vectors_too(spark: SparkSession, tmp_path: Path, embedder: Noting) -> None:
    frame = spark.createDataFrame([("n1", "one"), ("n2", "two")], "slug string, body string")
    mapped, embedded = make(tmp_path / "mapped", embedder), make(tmp_path / "embedded", MockEmbedder("model-a"))
    mapped.load_spark({"notes": frame}, mapping={"load": [{"source": "notes", "node": "Note"}]}, spark=spark)
    assert embedder.texts() == ["one", "two"]
    embedded.load([note(1, body="one"), note(2, body="two")])
    assert lines(mapped) == lines(embedded)


def test_the_data_source_asks_the_embedder_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make(tmp_path / "g", None)
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    source = OmnigraphSource({"store": graph.uri, "type": "Note", "load": "merge", "durability": "os"})
    columns = StructType([StructField("slug", StringType()), StructField("body", StringType())])
    writer = pickle.loads(pickle.dumps(source.writer(columns, overwrite=False)))
    message = writer.write(iter([pa.record_batch({"slug": ["n1", "n2"], "body": ["one", "two"]})]))
    writer.commit([message])
    embedded = make(tmp_path / "embedded", MockEmbedder())
    embedded.load([note(1, body="one"), note(2, body="two")])
    assert lines(graph) == lines(embedded)


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_provider_that_fails_changes_nothing(
    spark: SparkSession, tmp_path: Path, embedder: Noting, partitions: int
) -> None:
    graph = make(tmp_path / "g", Noting(embedder.directory, refused="text 13"))
    files, head = data_files(graph), graph.snapshot().commit_id
    path = write_lines(tmp_path / "all.jsonl", RECORDS)
    with pytest.raises(EmbeddingUnavailable, match="no answer"):
        graph.load_spark(path, spark=spark, partitions=partitions)
    assert (data_files(graph), graph.snapshot().commit_id) == (files, head)


def test_another_model_than_the_recorded_one_is_refused(spark: SparkSession, tmp_path: Path, embedder: Noting) -> None:
    graph = make(tmp_path / "g", Noting(embedder.directory, model="model-b"))
    with pytest.raises(EmbeddingError, match=r"Doc\.named.*'model-a'.*'model-b'"):
        graph.load_spark(write_lines(tmp_path / "all.jsonl", RECORDS), spark=spark)


def test_vectors_that_cannot_be_made_are_reported_as_by_the_embedded_load(
    spark: SparkSession, tmp_path: Path, embedder: Noting
) -> None:
    graph = make(tmp_path / "g", embedder)
    records = [*RECORDS, note(77), "{", note(78, body=" "), doc(99, vec=[1])]
    path = write_lines(tmp_path / "bad.jsonl", records)
    embedded = outcome(graph, "main", lambda: graph.load(path, "merge"))
    with_spark = outcome(graph, "main", lambda: graph.load_spark(path, "merge", spark=spark, partitions=3))
    assert with_spark == embedded
    assert embedded[2]["required/node:Note/vec"] == 2
