"""Tables become entities through a mapping without Spark; mistakes are reported with their position."""

from __future__ import annotations

import gzip
import io
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.config import read_mapping
from omnigraph.engine.graph import Graph, create
from omnigraph.errors import NotFoundError, OmnigraphError, UsageError, ViolationError
from omnigraph.ingest.mapping import Expression
from omnigraph.ingest.row_sql import RowSql
from tests.features.cli.run import run
from tests.features.spark.outcomes import data_files, lines
from tests.features.spark.test_mapping import SCHEMA, exported, values


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


PEOPLE = (
    "full name,years,points,birthday,here,labels,spot,country,city,friend\n"
    'ann, 31 ,1.5,1990-02-03,true,"[""a"", ""b""]","[1, 2.5]",CH,007,bob\n'
    "bob,,,,false,,,CH,7,\n"
)
CITY = {"number": "city", "country": "country"}
LOAD = [
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
            "big": {"value": 2**64 - 1},
            "seen": {"value": datetime(2020, 1, 2)},
        },
    },
    {"source": "people", "node": "City", "columns": CITY, "where": "years > 0"},
    {"source": "people", "edge": "LivesIn", "from": "full name", "to": CITY},
    {"source": "people", "edge": "Knows", "from": "full name", "to": "friend", "where": "friend is not null"},
]


def test_a_csv_file_becomes_nodes_and_edges_as_one_commit(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(PEOPLE.encode()))
    mapping = {"sources": {"people": {"path": str(tmp_path / "people.csv.gz")}}, "load": LOAD}
    before = len(list(graph.commits()))
    loaded = graph.load(mapping=mapping, mode="append")
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
        "big": 2**64 - 1,
        "seen": datetime(2020, 1, 2, tzinfo=UTC).timestamp() * 1000,
    }
    assert (bob["age"], bob["active"]) == (None, False)
    assert {record["to"] for record in exported(graph) if record.get("edge") == "LivesIn"} == {'["CH","7"]'}


FRIENDS = [("a", "b", 1999), ("b", "c", None)]
TABLE = {"x": ["a", "b"], "y": ["b", "c"], "since": [1999, None]}


def _written(path: Path) -> Path:
    pq.write_table(pa.table(TABLE), path / "friends.parquet")
    return path / "friends.parquet"


SOURCES: dict[str, Any] = {
    "polars": lambda path: pl.DataFrame(TABLE),
    "lazy": lambda path: pl.LazyFrame(TABLE),
    "pandas": lambda path: pd.DataFrame(TABLE),
    "reader": lambda path: pa.table(TABLE).to_reader(),
    "columns": lambda path: TABLE,
    "records": lambda path: [dict(zip(TABLE, row, strict=True)) for row in FRIENDS],
    "generator": lambda path: (dict(zip(TABLE, row, strict=True)) for row in FRIENDS),
    "stream": lambda path: io.BytesIO(b'{"x": "a", "y": "b", "since": 1999}\n{"x": "b", "y": "c"}\n'),
    "path": _written,
    "paths": lambda path: [_written(path)],
    "specification": lambda path: {"path": str(_written(path)), "format": "parquet"},
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources_by_name_are_read_by_every_entry(graph: Graph, tmp_path: Path, name: str) -> None:
    mapping = {
        "load": [
            {"source": "friends", "node": "Person", "columns": {"name": "x"}},
            {"source": "friends", "node": "Person", "columns": {"name": "y"}, "where": "y = 'c'"},
            {"source": "friends", "edge": "Knows", "from": "x", "to": "y"},
            {"source": "friends", "node": "Note", "id": {"sql": "since"}, "columns": {}, "where": "since > 0"},
            {"source": "friends", "edge": "About", "from": "since", "to": "y", "where": "since > 0"},
        ]
    }
    loaded = graph.load({"friends": SOURCES[name](tmp_path)}, "append", mapping=mapping)
    assert (loaded.nodes, loaded.edges) == ({"Person": 3, "Note": 1}, {"Knows": 2, "About": 1})
    assert [record["from"] for record in exported(graph) if record.get("edge") == "About"] == ["1999"]
    assert [record["data"]["since"] for record in exported(graph) if record.get("edge") == "Knows"] == [1999, None]


def test_files_of_one_source_keep_their_columns(graph: Graph, tmp_path: Path) -> None:
    load = [{"source": "people", "node": "Person"}]
    pq.write_table(pa.table({"name": ["ann"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"age": [2], "name": ["bob"]}), tmp_path / "b.parquet")
    entry = {"source": "people", "node": "Person", "columns": {"name": "name", "age": {"sql": "age + 1"}}}
    graph.load({"people": str(tmp_path / "*.parquet")}, mapping={"load": [entry]})
    (tmp_path / "a.csv").write_text("name;age\ncem;1\n")
    (tmp_path / "b.csv").write_text("age|name\n2|dan\n")
    graph.load({"people": [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]}, mapping={"load": load})
    (tmp_path / "bare.csv").write_text('eva;3\n"fa\ntima";4\n')
    options = {"header": False, "sep": ";", "multiLine": True}
    bare = {"path": str(tmp_path / "bare.csv"), "options": options}
    columns = {"name": "_c0", "age": "_c1"}
    graph.load({"people": bare}, mapping={"load": [{"source": "people", "node": "Person", "columns": columns}]})
    found = {person["name"]: person["age"] for person in values(graph, "Person")}
    assert found == {"ann": None, "bob": 3, "cem": 1, "dan": 2, "eva": 3, "fa\ntima": 4}


def test_violations_name_the_file_and_the_line_and_hide_no_other(graph: Graph, tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text('who,years,friend\nann,31,bob\n\nbob,x,ann\n"a\nb",many,nobody\nbob,1,2,3\n')
    mapping = {
        "load": [
            {"source": "people", "node": "Person", "columns": {"name": "who", "age": {"sql": "int(years)"}}},
            {
                "source": "people",
                "node": "City",
                "columns": {"country": "who", "number": "years"},
                "where": "who = 'bob'",
            },
            {"source": "people", "edge": "Knows", "from": "who", "to": "friend"},
        ]
    }
    before = data_files(graph)
    with pytest.raises(ViolationError) as refused:
        graph.load({"people": source}, mapping=mapping)
    assert any("load[0].columns.age: " in sample.message for sample in refused.value.samples)
    places = sorted({(sample.code.value, sample.place.line) for sample in refused.value.samples if sample.place})
    # The node with a wrong age is an end of edges all the same; each entry reads the malformed line.
    assert places == [("endpoint", 5), ("malformed", 7), ("type", 4), ("type", 5)]
    assert data_files(graph) == before
    aside = tmp_path / "rejected.jsonl"
    loaded = graph.load({"people": source}, mapping=mapping, reject_to=aside)
    rows = [json.loads(line) for line in aside.read_text().splitlines()]
    assert {"who": "bob", "years": "x", "friend": "ann"} in [row["record"] for row in rows]
    assert (loaded.nodes, loaded.rejected) == ({"Person": 1}, len(rows))
    assert graph.verify().is_clean


def test_an_entry_without_columns_takes_those_of_their_names_and_the_ids_of_nodes(graph: Graph) -> None:
    data = {"people": {"id": ["a", "b"], "age": [1, 2], "friend": ["b", "a"]}, "notes": {"id": [7], "text": ["x"]}}
    load = [
        {"source": "people", "node": "Person"},
        {"source": "notes", "node": "Note"},
        {"source": "people", "edge": "Knows", "from": "id", "to": "friend"},
    ]
    for _ in range(2):
        graph.load(data, mapping={"load": load})
    assert graph.nodes("Person").select("id", "age").to_dicts() == [{"id": "a", "age": 1}, {"id": "b", "age": 2}]
    assert graph.nodes("Note")["id"] == ["7"]
    # The ids of edges are not those of the nodes in their source.
    assert len(graph.edges("Knows")) == 4


FORMS: list[tuple[object, str, str]] = [
    ({"load": [3]}, "load[0]: expected a mapping of names to values, got int", "names with values"),
    ({"load": []}, '"load" of a mapping must be a non-empty list', "for example"),
    ({"load": [{"node": "Person"}]}, '"source" must be the name of a source, got None', "name one of sources"),
    ({"load": [{"source": "s"}]}, 'either "node" or "edge"', "the types are "),
    ({"load": [{"source": "s", "node": "Persn"}]}, "no node type 'Persn'", "`Person`"),
    ({"load": [{"source": "s", "node": "Person", "where": 3}]}, "expected an SQL predicate, got 3", "age > 18"),
    ({"load": [{"source": "s", "node": "Person", "id": "x"}]}, "derived from its key (name)", "map the key"),
    ({"load": [{"source": "s", "node": "Person", "from": "x"}]}, "only edges have ends", "leave out 'from'"),
    ({"load": [{"source": "s", "node": "Person", "columns": {"nme": "x"}}]}, "has no property 'nme'", "`name`"),
    ({"load": [{"source": "s", "node": "Person", "columns": {"name": 3}}]}, "expected a column", "constants"),
    ({"load": [{"source": "s", "edge": "Knows", "to": "x"}]}, 'an edge needs "from" and "to"', "key of a Person"),
    ({"load": [{"source": "s", "edge": "LivesIn", "from": "x", "to": "y"}]}, "composite key", "every member"),
    ({"sources": {"s": 3}, "load": [{"source": "s", "node": "Person"}]}, "sources.s", "names with values"),
    ({"sources": {"s": {"path": 3}}, "load": [{"source": "s", "node": "Person"}]}, "got 3", "people.csv"),
]


@pytest.mark.parametrize(("mapping", "problem", "step"), FORMS, ids=[form[1] for form in FORMS])
def test_a_mapping_of_another_form_is_refused_with_the_next_step(
    graph: Graph, mapping: Any, problem: str, step: str
) -> None:
    with pytest.raises(UsageError) as refused:
        graph.load({}, mapping=mapping)
    assert problem in refused.value.message
    assert step in (refused.value.hint or "")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"node": "Person", "columns": {"name": "nmae"}}, r"load\[0\]\.columns\.name: there is no column 'nmae'\n.*name"),
    ({"node": "Person", "columns": {"name": {"sql": "upper(nme)"}}}, r"load\[0\]\.columns\.name: .*nme"),
    ({"node": "Person", "columns": {"name": {"sql": "upper("}}}, r"load\[0\]\.columns\.name: "),
    ({"node": "Person", "columns": {"name": {"sql": "name, years"}}}, "expected one SQL expression|columns.name"),
    ({"node": "Person", "columns": {"name": {"sql": "1) from t; drop table t; select (1"}}}, r"columns\.name: "),
    ({"node": "Person", "columns": {"name": {"sql": "max(name)"}}}, r"columns\.name: .*aggregate"),
    ({"node": "Person", "columns": {"name": {"sql": "lag(name) over ()"}}}, "a window function is not allowed"),
    ({"node": "Person", "columns": {"name": {"sql": "(select 'x')"}}}, "a subquery is not allowed"),
    ({"node": "Person", "columns": {"name": {"value": {"a": 1}}}}, r"columns\.name: .* is no constant"),
    ({"node": "Person", "where": "yeers > 1"}, r"load\[0\]\.where: .*yeers"),
    ({"edge": "Knows", "from": "name", "to": "other"}, r"load\[0\]\.to: there is no column 'other'"),
]


@pytest.mark.parametrize(("entry", "message"), WRONG)
def test_a_mapping_that_does_not_fit_its_source_is_refused_before_anything_is_read(
    graph: Graph, entry: dict[str, Any], message: str
) -> None:
    # The first entry is fine: it would be read.
    load = [{"source": "s", **WRONG_FREE}, {"source": "s", **entry}]
    with pytest.raises(UsageError, match=message.replace(r"load\[0\]", r"load\[1\]")):
        graph.load({"s": {"name": ["a"], "years": [1]}}, mapping={"load": load})
    assert not lines(graph)


WRONG_FREE = {"node": "Person", "columns": {"name": "name"}}


@pytest.mark.parametrize(
    "sql",
    [
        "(select * from read_text('/etc/hostname'))",
        "getenv('HOME')",
        "read_text('/etc/hostname')",
        "current_setting('home_directory')",
    ],
)
def test_an_expression_reads_nothing_but_its_row(sql: str) -> None:
    schema = pa.schema({"name": pa.utf8()})
    try:
        one = RowSql(schema, None, [Expression("at", sql=sql)])
        [found] = one.evaluate(pa.record_batch({"name": ["a"]}), lambda *_: None)[1]
        one.close()
    except OmnigraphError:
        return
    assert found.to_pylist() in ([None], [""])


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("int(years) + 1", [32, None, 8]),
        ("INT (years)", [31, None, 7]),
        ("concat(name, '-', years)", ["a-31", None, "int(c)- 7 "]),
        ("nvl(years, 'none')", ["31", "none", " 7 "]),
        ("if(name = 'int(c)', 'int(', string(1))", ["1", "1", "int("]),
        ("double('NaN') is null", [False] * 3),
        ('`full name` || "full name"', ["xx", "yy", "zz"]),
        ("years > 8", [True, None, False]),
        ("case when years is null then 0 else bigint(years) end", [31, 0, 7]),
        ("timestamp('2020-01-02 00:00:00') = timestamp '2020-01-02 00:00:00' -- int(", [True] * 3),
    ],
)
def test_expressions_written_for_spark_have_the_same_values(sql: str, expected: list[object]) -> None:
    batch = pa.record_batch({"name": ["a", "b", "int(c)"], "years": ["31", None, " 7 "], "full name": ["x", "y", "z"]})
    one = RowSql(batch.schema, None, [Expression("at", sql=sql)])
    rows, [found] = one.evaluate(batch, lambda *_: None)
    one.close()
    assert (rows.to_pylist(), found.to_pylist()) == ([0, 1, 2], expected)


@pytest.mark.parametrize(
    ("sources", "options", "message"),
    [
        ({"people": "x.csv"}, {}, r"there is no source 'peple'\n.*people"),
        ({"peple": "missing.csv"}, {}, "there is no file 'missing.csv'"),
        ({"peple": "people.orc"}, {}, "ORC files need Spark"),
        (
            {"peple": {"path": "x.csv", "options": {"nullValue": "-"}}},
            {},
            "option 'nullValue' of csv files needs Spark",
        ),
        ({"peple": 5}, {}, "an int cannot be loaded"),
        ({"peple": {"name": 5}}, {}, "a dict of 'name' is not a table"),
        ("people.csv", {}, "sources of a mapping must be named"),
        ({}, {"type_name": "Person"}, "type_name has no effect with a mapping"),
        ({}, {"map": {"name": "x"}}, "map has no effect with a mapping"),
    ],
)
def test_wrong_sources_are_named(graph: Graph, sources: Any, options: dict[str, Any], message: str) -> None:
    mapping = {"load": [{"source": "peple", "node": "Person"}]}
    with pytest.raises((UsageError, NotFoundError), match=message):
        graph.load(sources, mapping=mapping, **options)
    with pytest.raises(TypeError, match="missing a required argument: 'data'"):
        graph.load()


def test_the_command_loads_and_previews_a_mapping_without_spark(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    path = tmp_path / "mapping.yaml"
    path.write_text(json.dumps({"sources": {"people": "people.csv"}, "load": LOAD}, default=str))
    words = ("load", graph.uri, "--mapping", path, "--engine", "embedded")
    assert "would change 6 entities" in run(*words, "--dry-run").stdout
    done = run(*words, "--data", f"people={tmp_path / 'people.csv'}", "--json")
    assert json.loads(done.stdout)["total_entities"] == 6
    assert len(exported(graph)) == 6
    assert read_mapping(path)["sources"] == {"people": str(tmp_path / "people.csv")}
