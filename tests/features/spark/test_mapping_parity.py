"""A mapping gives the same graph and rejects the same rows on Spark and in this process."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.config import read_mapping
from omnigraph.engine.graph import Graph, create
from tests.features.spark.outcomes import lines
from tests.features.spark.test_mapped_rejects import MAPPED, csv
from tests.features.spark.test_mapped_rejects import SCHEMA as REJECTS_SCHEMA
from tests.features.spark.test_mapping import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPANY = Path(__file__).parents[3] / "examples" / "company"
PEOPLE = (
    "full name,years,points,birthday,here,labels,spot,country,city,friend\n"
    'ann, 31 ,1.5,1990-02-03,true,"[""a"", ""b""]","[1, 2.5]",CH,007,bob\n'
    "bob,,,,false,,,CH,7,\n"
    '"say ""hi"", x",7,,,,,,CH,8,ann\n'
)


def everyday(directory: Path) -> dict[str, Any]:
    (directory / "people.csv").write_text(PEOPLE)
    moment = datetime(2020, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
    people = pa.table({"name": ["p", "q"], "seen": [moment, None], "other": [1, 2], "born": [date(2000, 1, 1), None]})
    pq.write_table(people, directory / "one.parquet")
    pq.write_table(pa.table({"name": ["r"], "age": [4]}), directory / "two.parquet")
    (directory / "more.json").write_text('{"name": "c", "age": 3, "tags": ["x"], "place": [0.5, 1]}\n{"name": "d"}\n')
    person = {
        "name": "full name",
        "age": {"sql": "nvl(int(years), 0) + 1"},
        "score": {"sql": "cast(points as double) * 2"},
        "born": "birthday",
        "active": "here",
        "tags": "labels",
        "place": "spot",
        "big": {"value": 2**64 - 1},
        "seen": {"value": datetime(2020, 1, 2)},
    }
    text = {"sql": "concat(`full name`, '-', years)"}
    city = {"country": "country", "number": "city"}
    return {
        "sources": {
            "people": str(directory / "people.csv"),
            "rows": [str(directory / "one.parquet"), str(directory / "two.parquet")],
            "more": {"path": str(directory / "more.json"), "format": "json"},
        },
        "load": [
            {"source": "people", "node": "Person", "columns": person},
            {"source": "people", "node": "City", "columns": city, "where": "years > 0"},
            {"source": "people", "edge": "LivesIn", "from": "full name", "to": city, "where": "city in ('007', '8')"},
            {"source": "people", "edge": "Knows", "from": "full name", "to": "friend", "where": "friend is not null"},
            {"source": "people", "node": "Note", "id": {"sql": "upper(`full name`)"}, "columns": {"text": text}},
            {"source": "rows", "node": "Person"},
            {"source": "more", "node": "Person"},
            {"source": "more", "edge": "Knows", "from": "name", "to": {"value": "ann"}, "columns": {"since": "age"}},
        ],
    }


def company(_: Path) -> dict[str, Any]:
    return read_mapping(COMPANY / "mapping.yaml")


def without_ids(graph: Graph) -> list[str]:
    """The entities in an order of their own: minted ids differ."""
    records = [json.loads(line) for line in lines(graph)]
    for record in records:
        record["data"].pop("id", None)
    return sorted(json.dumps(record, sort_keys=True) for record in records)


@pytest.mark.parametrize(
    ("schema", "mapping"),
    [(SCHEMA, everyday), ((COMPANY / "company.pg").read_text(), company)],
    ids=["everyday", "company"],
)
def test_both_engines_load_the_same_graph(tmp_path: Path, spark: SparkSession, schema: str, mapping: Any) -> None:
    given = mapping(tmp_path)
    embedded = create(tmp_path / "embedded", schema, durability="os")
    on_spark = create(tmp_path / "spark", schema, durability="os")
    one = embedded.load(mapping=given, mode="append")
    other = on_spark.load_spark(mapping=given, mode="append", spark=spark)
    assert (one.nodes, one.edges) == (other.nodes, other.edges)
    assert one.total > 8
    assert without_ids(embedded) == without_ids(on_spark)
    assert embedded.verify().is_clean


def test_both_engines_reject_the_same_rows_with_the_same_records(tmp_path: Path, spark: SparkSession) -> None:
    source = csv(tmp_path / "people.csv")
    mapping = {"load": MAPPED}
    found = []
    for name in ("embedded", "spark"):
        graph, aside = create(tmp_path / name, REJECTS_SCHEMA, durability="os"), tmp_path / f"{name}.jsonl"
        options: dict[str, Any] = {"mapping": mapping, "mode": "merge", "reject_to": aside}
        if name == "embedded":
            preview = graph.load_preview({"people": source}, **options)
            loaded = graph.load({"people": source}, **options)
        else:
            preview = graph.load_spark_preview({"people": source}, spark=spark, **options)
            loaded = graph.load_spark({"people": source}, spark=spark, **options)
        assert (preview.rejected, loaded.rejected) == (6, 6)
        assert len(preview.rejections) == 6
        rows = [json.loads(line) for line in aside.read_text().splitlines()]
        reasons = [(row["reasons"], row["record"], row["file"]) for row in rows]
        found.append((loaded.nodes, loaded.edges, without_ids(graph), reasons))
    assert found[0] == found[1]
