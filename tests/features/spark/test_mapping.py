"""Tables that Spark can read become entities through a mapping; mistakes are reported with their position."""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import NotFoundError, SparkError, UsageError, ViolationError
from omnigraph.ingest.mapping import parse_mapping, parse_source
from omnigraph.schema.catalog import Catalog
from tests.features.spark.outcomes import data_files, lines
from tests.features.spark.test_mapped_rejects import cut_small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    score: F64?
    born: Date?
    seen: DateTime?
    active: Bool?
    tags: [String]?
    place: Vector(2)?
    big: U64?
}
node City {
    country: String
    number: I32
    title: String?
    @key(country, number)
}
node Note {
    text: String?
}
edge Knows: Person -> Person {
    since: I32?
}
edge LivesIn: Person -> City
edge About: Note -> Person
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


def exported(graph: Graph) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(graph)]


def values(graph: Graph, type_name: str) -> list[dict[str, Any]]:
    return [record["data"] for record in exported(graph) if record.get("type") == type_name]


def test_csv_files_become_nodes_and_edges_as_one_commit(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        "full name,years,points,birthday,here,labels,spot,country,city,friend\n"
        'ann, 31 ,1.5,1990-02-03,true,"[""a"", ""b""]","[1, 2.5]",CH,007,bob\n'
        "bob,,,,false,,,CH,7,\n"
    )
    mapping = {
        "sources": {"people": {"path": str(tmp_path / "people.csv")}},
        "load": [
            {
                "source": "people",
                "node": "Person",
                "columns": {
                    "name": "full name",
                    "age": "years",
                    "score": {"sql": "cast(points as double) * 2"},
                    "born": "birthday",
                    "active": "here",
                    "tags": "labels",
                    "place": "spot",
                    "big": {"value": 7},
                },
            },
            {
                "source": "people",
                "node": "City",
                "columns": {"country": "country", "number": "city"},
                "where": "years > 0",
            },
            {
                "source": "people",
                "edge": "LivesIn",
                "from": "full name",
                "to": {"number": "city", "country": "country"},
            },
            {"source": "people", "edge": "Knows", "from": "full name", "to": "friend", "where": "friend is not null"},
        ],
    }
    before = len(list(graph.commits()))
    loaded = graph.load_spark(mapping=mapping, mode="append", spark=spark)
    assert (loaded.nodes, loaded.edges) == ({"Person": 2, "City": 1}, {"LivesIn": 2, "Knows": 1})
    assert len(list(graph.commits())) == before + 1
    ann, bob = values(graph, "Person")
    assert {key: value for key, value in ann.items() if key != "id"} == {
        "name": "ann",
        "age": 31,
        "score": 3.0,
        "born": (date(1990, 2, 3) - date(1970, 1, 1)).days,
        "active": True,
        "tags": ["a", "b"],
        "place": [1.0, 2.5],
        "big": 7,
        "seen": None,
    }
    assert (bob["age"], bob["active"]) == (None, False)
    assert {record["to"] for record in exported(graph) if record.get("edge") == "LivesIn"} == {'["CH","7"]'}


def test_parquet_and_json_files_and_frames_load_through_the_columns_that_have_a_propertys_name(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    moment = datetime(2020, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
    people = pa.table({"name": ["a", "b"], "seen": [moment, None], "other": [1, 2], "born": [date(2000, 1, 1), None]})
    pq.write_table(people, tmp_path / "people.parquet")
    (tmp_path / "more.json").write_text('{"name": "c", "age": 3, "tags": ["x"], "place": [0.5, 1]}\n')
    frame = spark.createDataFrame([("a", "b", 1999), ("b", "c", None)], "x string, y string, since int")
    mapping = {
        "sources": {"people": str(tmp_path / "people.parquet"), "more": [str(tmp_path / "more.json")]},
        "load": [
            {"source": "people", "node": "Person"},
            {"source": "more", "node": "Person"},
            {"source": "friends", "edge": "Knows", "from": "x", "to": "y"},
            {
                "source": "friends",
                "node": "Note",
                "id": {"sql": "since"},
                "columns": {"text": "x"},
                "where": "since > 0",
            },
            {"source": "friends", "edge": "About", "from": "since", "to": "y", "where": "since > 0"},
        ],
    }
    loaded = graph.load_spark({"friends": frame}, "append", mapping=mapping, spark=spark)
    assert (loaded.nodes, loaded.edges) == ({"Person": 3, "Note": 1}, {"Knows": 2, "About": 1})
    a, _, c = values(graph, "Person")
    assert (a["seen"], a["born"]) == (1577934245678, (date(2000, 1, 1) - date(1970, 1, 1)).days)
    assert (c["age"], c["tags"], c["place"]) == (3, ["x"], [0.5, 1.0])
    assert [record["from"] for record in exported(graph) if record.get("edge") == "About"] == ["1999"]


def test_a_violation_names_the_file_and_the_row_in_it(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    for name, first in (("one.csv", 0), ("two.csv", 100)):
        rows = [f"p{number},{number}" for number in range(first, first + 50)]
        (tmp_path / name).write_text("name,age\n" + "\n".join(rows) + "\n")
    (tmp_path / "two.csv").write_text((tmp_path / "two.csv").read_text().replace(",120", ",many"))
    paths = [str(tmp_path / "one.csv"), str(tmp_path / "two.csv")]
    mapping = {"load": [{"source": "people", "node": "Person"}]}
    # Small blocks: the rows of one file are read by several tasks.
    before = data_files(graph)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "200")
    try:
        with pytest.raises(ViolationError, match=r"two\.csv:21: wrong value for Person\.age .* is not an integer from"):
            graph.load_spark({"people": paths}, mapping=mapping, spark=spark)
        (tmp_path / "two.csv").write_text((tmp_path / "two.csv").read_text().replace("p120,many", "p7,1"))
        with pytest.raises(ViolationError, match="'p7' is given twice") as twice:
            graph.load_spark({"people": paths}, mapping=mapping, spark=spark)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert twice.value.total == 1
    assert {f"{tmp_path}/one.csv:8", f"{tmp_path}/two.csv:21"} == {
        word.rstrip(":") for word in str(twice.value).split() if ".csv:" in word
    }
    frame = spark.createDataFrame([("a",), (None,)], "name string")
    with pytest.raises(ViolationError, match=r"<people>:2: missing required property Person\.name"):
        graph.load_spark({"people": frame}, mapping=mapping, spark=spark)
    assert data_files(graph) == before


def test_what_a_reader_cannot_read_is_an_error_and_changes_nothing(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "bad.csv").write_text("name,age\na,1\nb,2,3,4\n")
    good = spark.createDataFrame([("z",)], "name string")
    mapping = {"load": [{"source": "good", "node": "Person"}, {"source": "bad", "node": "Person"}]}
    before = data_files(graph)
    with pytest.raises(SparkError, match=r"(?s)/bad\.csv.*Malformed CSV record: b,2,3,4") as failed:
        graph.load_spark({"good": good, "bad": str(tmp_path / "bad.csv")}, mapping=mapping, spark=spark)
    assert "\tat " not in failed.value.message
    assert data_files(graph) == before
    assert not lines(graph)


def test_what_finished_tasks_of_a_failed_job_wrote_is_taken_away(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    notes = Path(graph.uri) / "jobs"

    def late(name: str) -> str:
        """The name. A bad one fails after another task is done."""
        for _ in range(600):
            if name != "bad" or list(notes.glob("*.*.json")):
                break
            time.sleep(0.05)
        return {"good": "good"}[name]

    for name in ("good", "bad"):
        (tmp_path / f"{name}.csv").write_text(f"name\n{name}\n")
    spark.udf.register("late", late)
    entry = {"source": "people", "node": "Person", "columns": {"name": {"sql": "late(name)"}}}
    people = [str(tmp_path / "good.csv"), str(tmp_path / "bad.csv")]
    before = data_files(graph)
    with cut_small(spark, 10), pytest.raises(SparkError, match="KeyError"):
        graph.load_spark({"people": people}, mapping={"load": [entry]}, spark=spark)
    assert data_files(graph) == before
    assert not list(notes.glob("*"))


def test_files_of_one_source_do_not_mix_up_or_lose_columns(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    load = [{"source": "people", "node": "Person"}]
    (tmp_path / "a.csv").write_text("name,age,\nann,1,x\n")
    (tmp_path / "b.csv").write_text("age,name,\n2,bob,x\n")
    csv = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    with pytest.raises(SparkError, match=r"(?s)/b\.csv.*Header: age, name"):
        graph.load_spark({"people": csv}, mapping={"load": load}, spark=spark)
    assert not lines(graph)
    pq.write_table(pa.table({"name": ["ann"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"age": [2], "name": ["bob"]}), tmp_path / "b.parquet")
    parquet = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    graph.load_spark({"people": parquet}, mapping={"load": load}, spark=spark)
    assert [(person["name"], person["age"]) for person in values(graph, "Person")] == [("ann", None), ("bob", 2)]


def test_a_value_that_goes_on_in_the_next_line_is_not_two_rows(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    mapping = {"load": [{"source": "people", "node": "Person"}]}
    plain = 'name,\n5" pipe,x\n"say ""a"", b",x\n'
    (tmp_path / "a.csv").write_text(f'{plain}"a\nb",x\n')
    with pytest.raises(UsageError, match=r'does not end on its line: /.*/a\.csv: "a\n') as refused:
        graph.load_spark({"people": str(tmp_path / "a.csv")}, mapping=mapping, spark=spark)
    assert "multiLine: true" in str(refused.value.hint)
    assert not lines(graph)
    (tmp_path / "b.csv").write_text(plain)
    several = {"path": str(tmp_path / "a.csv"), "options": {"multiLine": True, "enforceSchema": True}}
    for source in (str(tmp_path / "b.csv"), several):
        graph.load_spark({"people": source}, mapping=mapping, mode="merge", spark=spark)
    assert sorted(person["name"] for person in values(graph, "Person")) == ['5" pipe', "a\nb", 'say "a", b']


def test_a_constant_is_the_same_wherever_spark_runs(
    graph: Graph, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"name": "name", "seen": {"value": datetime(2020, 1, 2)}, "big": {"value": 2**64 - 1}}
    mapping = {"load": [{"source": "s", "node": "Person", "columns": columns}]}
    frame = spark.createDataFrame([("a",)], "name string")
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        graph.load_spark({"s": frame}, mapping=mapping, spark=spark)
    finally:
        monkeypatch.undo()
        time.tzset()
    [stored] = values(graph, "Person")
    assert (stored["seen"], stored["big"]) == (datetime(2020, 1, 2, tzinfo=UTC).timestamp() * 1000, 2**64 - 1)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"node": "Person", "columns": {"name": "nmae"}},
            r"load\[0\]\.columns\.name: there is no column 'nmae'\n.*name",
        ),
        ({"node": "Person", "columns": {"name": {"sql": "upper(nme)"}}}, r"load\[0\]\.columns\.name: .*nme"),
        ({"node": "Person", "columns": {"name": {"sql": "upper("}}}, r"load\[0\]\.columns\.name: "),
        ({"node": "Person", "where": "yeers > 1"}, r"load\[0\]\.where: .*yeers"),
        ({"edge": "Knows", "from": "name", "to": "other"}, r"load\[0\]\.to: there is no column 'other'"),
    ],
)
def test_a_mapping_that_does_not_fit_its_source_is_refused_before_anything_is_read(
    graph: Graph, spark: SparkSession, entry: dict[str, Any], message: str
) -> None:
    frame = spark.createDataFrame([("a", 1)], "name string, years int")
    with pytest.raises(UsageError, match=message):
        graph.load_spark({"s": frame}, mapping={"load": [{"source": "s", **entry}]}, spark=spark)


def test_sources_that_do_not_exist_are_named(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    entry = {"source": "peple", "node": "Person"}
    with pytest.raises(UsageError, match=r"there is no source 'peple'\n.*people"):
        graph.load_spark({"people": "x.csv"}, mapping={"load": [entry]}, spark=spark)
    missing = {"sources": {"peple": str(tmp_path / "missing.csv")}, "load": [entry]}
    with pytest.raises(NotFoundError, match=r"there is no file .*missing\.csv"):
        graph.load_spark(mapping=missing, spark=spark)
    with pytest.raises(UsageError, match="without a mapping"):
        graph.load_spark(spark=spark)
    with pytest.raises(UsageError, match="sources of a mapping must be named"):
        graph.load_spark("people.csv", mapping=missing, spark=spark)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return create(tmp_path_factory.mktemp("mapping") / "graph", SCHEMA, durability="os").catalog()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "expected either"),
        ({"node": "Person", "edge": "Knows"}, "expected either"),
        ({"node": "Persn"}, "there is no node type 'Persn'\n.*Person"),
        ({"node": "Knows"}, "there is no node type 'Knows'"),
        ({"node": "Person", "columns": {"agee": "x"}}, "Person has no property 'agee'\n.*age"),
        (
            {"node": "Person", "columns": ["name"]},
            r"load\[0\]\.columns: expected a mapping of names to values, got list",
        ),
        ({"node": "Person", "columns": {"age": 5}}, r"load\[0\]\.columns\.age: expected a column"),
        ({"node": "Person", "id": "name"}, r"the id of Person is derived from its key \(name\)"),
        ({"node": "Person", "from": "name"}, "only edges have ends"),
        ({"edge": "Knows", "from": "a"}, 'an edge needs "from" and "to"'),
        (
            {"edge": "LivesIn", "from": "a", "to": "b"},
            r'City has a composite key: expected {"country": ..., "number',
        ),
        ({"edge": "LivesIn", "from": "a", "to": {"country": "b"}}, "City has a composite key"),
        ({"node": "Person", "colums": {}}, "unknown key 'colums'\n.*columns"),
        ({"node": "Person", "where": 5}, "expected an SQL predicate"),
        ({"source": 5, "node": "Person"}, '"source" must be the name of a source, got 5'),
    ],
)
def test_a_mapping_that_does_not_fit_the_schema_is_refused(
    catalog: Catalog, entry: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        parse_mapping({"load": [{"source": "s", **entry}]}, catalog)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("people.csv", "expected a mapping of names to values, got str"),
        ({}, '"load" of a mapping'),
        ({"load": []}, '"load" of a mapping'),
        ({"load": "x"}, '"load" of a mapping'),
        ({"laod": []}, "unknown key 'laod'\n.*load"),
        ({"load": ["x"]}, r"load\[0\]: expected a mapping of names to values"),
        ({"sources": {"s": {}}, "load": ["x"]}, r"sources\.s: a source needs a path"),
        ({"sources": {"s": "file.xyz"}, "load": ["x"]}, r"unknown file format of 'file\.xyz'"),
    ],
)
def test_a_mapping_that_is_none_is_refused(catalog: Catalog, given: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_mapping(given, catalog)


def test_formats_are_known_by_the_names_of_files() -> None:
    assert parse_source("a.csv", "s").format == "csv"
    assert parse_source("a.TSV", "s").options == {"sep": "\t"}
    assert parse_source(["a.parquet", "b.parquet"], "s").paths == ("a.parquet", "b.parquet")
    told = parse_source({"path": "a", "format": "csv", "options": {"header": False, "sep": ";"}}, "s")
    assert (told.format, told.options) == ("csv", {"header": "false", "sep": ";"})
