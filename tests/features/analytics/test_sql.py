"""SQL over a snapshot: it sees what the graph holds, and can neither write nor look elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.engine.graph import Graph, create, open_graph
from omnigraph.engine.query.table_names import table_names
from omnigraph.errors import CorruptionError, InputError, LimitExceeded
from omnigraph.rows.write.results import python_rows
from omnigraph.storage.tables.table_source import TableSource
from omnigraph.wire.results import result_json
from tests.features.cli.graphs import everything
from tests.features.exec.people import RECORDS, SCHEMA


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = create(tmp_path_factory.mktemp("sql") / "g", SCHEMA, durability="os")
    graph.load(RECORDS, "append")
    return graph


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select name from Person where age >= 25 and score is not null order by name", ["Ann", "Cid", "Eve"]),
        ("select count(*) from Knows", [6]),
        ("select name from person where visits = 18446744073709551615", ["Ann"]),
        ("select name from Person where visits < 5 and level = 'mid'", ["Eve"]),
        ("select name from Person where born < date '1990-01-01'", ["Dan"]),
        ("select name from Person where seen = timestamptz '2019-12-31 23:59:59.999+00'", ["Cid"]),
        ("select name from Person where height = 0.1::float", ["Ann"]),
        ("select name from Person where active order by 1", ["Ann", "Dan"]),
        ("select name from Person where not active", ["Bob"]),
        ("select name from Person where list_contains(tags, 'x') order by name", ["Bob", "Dan"]),
        ("select name from Person where lucky[2] = 2", ["Bob"]),
        ("select name from Person where nick = 'O''Dan'", ["Dan"]),
        ("select name from Person where name in ('Ann', 'Eve', 'x', 'y', 'z', 'Zoe') order by name", ["Ann", "Eve"]),
        ("select name from Person where big = 9007199254740993", ["Ann"]),
        ("select sum(age) from Person", [105]),
        ("select sum(visits) from Person", [2**64]),
        ("with a as (select src, count(*) n from Knows group by src) select n from a order by n desc limit 1", [2]),
        ("select p.name from Knows k join Person p on p.id = k.dst where k.src = 'Ann' group by all", ["Bob"]),
        ("from Company select name order by founded desc nulls last limit 1", ["Void"]),
        ("select 1 where false", []),
    ],
)
def test_the_tables_of_the_graph_can_be_asked(graph: Graph, text: str, expected: list[Any]) -> None:
    result = graph.sql(text)
    assert [row[result.columns[0]] for row in result_json(result)["rows"]] == expected


def test_every_value_is_what_the_graph_holds(graph: Graph) -> None:
    expected = python_rows(graph.snapshot().to_arrow("node:Person"))
    assert graph.sql("select * from Person order by id").to_pylist() == expected


def test_the_result_is_that_of_a_query(graph: Graph) -> None:
    result = graph.sql("select name, age from Person where name = $who", {"who": "Ann"})
    assert (result.columns, len(result), result.branch) == (["name", "age"], 1, "main")
    assert result.commit_id == graph.snapshot().commit_id
    assert graph.sql("select name from Person where age = ?", [25]).to_pylist() == [{"name": "Eve"}]
    both = graph.sql("select a.id, b.id, a.id as id_1 from Person a join Person b using (id) limit 1")
    assert both.columns == ["id", "id_2", "id_1"]
    assert len(set(both.to_pylist()[0].values())) == 1


def test_an_earlier_commit_and_another_branch_are_seen_as_they_are(tmp_path: Path) -> None:
    graph = create(tmp_path / "g", SCHEMA, durability="os")
    graph.load(RECORDS)
    before = graph.snapshot().commit_id
    graph.create_branch("more")
    graph.mutate('query add() { insert Company { name: "New" } }', branch="more")
    graph.mutate('query drop() { delete Company where name = "Acme" }')

    def count(**moment: Any) -> int:
        rows = graph.sql("select count(*) n from Company", **moment).to_pylist()
        return int(rows[0]["n"])

    assert (count(), count(at=before), count(branch="more")) == (2, 3, 4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("insert into Person values ('x')", "expected a select statement, found insert"),
        ("delete from Person", "found delete"),
        ("create table t as select 1", "found create"),
        ("copy Person to 'here/out.csv'", "found copy"),
        ("attach 'here/other.db'", "found attach"),
        ("set enable_external_access = true", "found set"),
        ("set memory_limit = '1TB'", "found set"),
        ("pragma database_list", "found pragma"),
        ("load httpfs", "found load"),
        ("install httpfs", "found load"),
        ("export database 'here'", "found export"),
        ("call pragma_version()", "found call"),
        ("select 1; drop table Person", "found 2"),
        ("", "found 0"),
        ("select * from read_csv('here/secret.csv')", "table function 'read_csv'"),
        ("select * from read_text('here/secret.csv')", "table function 'read_text'"),
        ("select * from glob('here/*')", "table function 'glob'"),
        ("select * from 'here/secret.csv'", "no table 'here/secret.csv'"),
        ("select * from secret", "no table 'secret'"),
        ("select nme from Person", '"nme" not found'),
        ("selec", "syntax error"),
        ("select cast('x' as int)", "Could not convert"),
        ("select * from Person where name = ?", "parameter"),
    ],
)
def test_anything_else_is_refused_and_changes_nothing(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "secret.csv").write_text("a\n1\n")
    secret = [{"a": 1}]
    before = everything(Path(graph.uri)), everything(tmp_path)
    with pytest.raises(InputError, match=said):
        graph.sql(text)
    assert secret
    assert (everything(Path(graph.uri)), everything(tmp_path)) == before


def test_only_wanted_columns_and_rows_are_read(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[list[str], int]] = []
    original = TableSource.batches

    def batches(self: TableSource, columns: list[str], where: Any) -> Iterator[pa.RecordBatch]:
        for batch in original(self, columns, where):
            read.append((batch.schema.names, batch.num_rows))
            yield batch

    monkeypatch.setattr(TableSource, "batches", batches)
    graph.sql("select name from Person where age = 25 and visits = 1")
    assert read == [(["name"], 1)]


def test_time_and_memory_have_limits(graph: Graph) -> None:
    with pytest.raises(LimitExceeded, match=r"longer than 0\.2 s"):
        graph.sql("select sum(a.range * b.range) from range(1000000) a, range(1000000) b", timeout=0.2)
    with pytest.raises(LimitExceeded, match="needs more than"):
        graph.sql("select list(range) from range(20000000)", memory_limit=50_000_000)


def test_a_damaged_file_is_told_as_such(tmp_path: Path) -> None:
    graph = create(tmp_path / "g", SCHEMA, durability="os")
    graph.load(RECORDS)
    pin = graph.snapshot().state.tables["node:Company"]
    for file in (tmp_path / "g" / pin.location / "data").iterdir():
        os.truncate(file, 10)
    fresh = open_graph(tmp_path / "g")
    with pytest.raises(CorruptionError, match="node:Company"):
        fresh.sql("select count(*) from Company")
    assert len(fresh.sql("select * from Person")) == 5


def test_names_that_are_taken_twice_say_what_they_are(tmp_path: Path) -> None:
    schema = """
    node Link { name: String @key }
    node LINK { name: String @key }
    node Node_Link { name: String @key }
    node Other { name: String @key }
    edge Link: Other -> Other
    """
    graph = create(tmp_path / "g", schema, durability="os")
    names = table_names(graph.snapshot().entities())
    assert {name: entity.table_key for name, entity in names.items()} == {
        "edge_Link": "edge:Link",
        "node_LINK_2": "node:LINK",
        "node_Link_3": "node:Link",
        "Node_Link": "node:Node_Link",
        "Other": "node:Other",
    }
    for name in names:
        assert graph.sql(f"select count(*) n from {name}").to_pylist() == [{"n": 0}]


def test_a_table_with_lists_of_unsigned_numbers_can_be_filtered(tmp_path: Path) -> None:
    schema = "node Thing { name: String @key codes: [U32]? photo: Blob? }"
    graph = create(tmp_path / "g", schema, durability="os")
    graph.load([{"type": "Thing", "data": {"name": name, "codes": [1, 2], "photo": "base64:AAEC"}} for name in "abc"])
    assert graph.sql("select codes, octet_length(photo) n from Thing where name = 'b'").to_pylist() == [
        {"codes": [1, 2], "n": 3}
    ]
