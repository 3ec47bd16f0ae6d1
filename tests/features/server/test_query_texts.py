"""Query texts over HTTP: explained, checked and completed; and SQL, which reads the tables and nothing else."""

from typing import Any

import httpx2
import pytest

from omnigraph import Graph
from omnigraph.engine.query.run import COMPILED_CHARS_MAX
from omnigraph.server import query_texts
from tests.features.server.live import BASE, READ_ALL


def post(client: httpx2.Client, path: str, **body: Any) -> httpx2.Response:
    return client.post(f"{BASE}/{path}", json=body)


def test_a_name_that_the_text_does_not_declare_is_a_mistake_of_the_request(client: httpx2.Client) -> None:
    for path, member in (("query", "query"), ("read", "query_source"), ("mutate", "query"), ("change", "query")):
        named = "query_name" if path == "read" else "name"
        response = post(client, path, **{member: READ_ALL, named: "nope"})
        form = response.json()
        assert (response.status_code, form["code"], form["problem"]["code"]) == (400, "bad_request", "not_found")
        assert form["problem"]["hint"] == "known queries: everyone"


def test_long_texts_are_not_remembered(client: httpx2.Client, graph: Graph) -> None:
    """A thousand queries of a megabyte must not stay in memory."""
    kept = len(graph._compiler._known), query_texts._remembered.cache_info().currsize
    for number in range(3):
        text = READ_ALL.replace("everyone", f"q{number}") + " // " + "x" * COMPILED_CHARS_MAX
        assert post(client, "query", query=text).json()["query_name"] == f"q{number}"
    assert (len(graph._compiler._known), query_texts._remembered.cache_info().currsize) == kept


class TestExplain:
    def test_a_read_has_a_tree_of_operators_and_the_facts_of_its_tables(self, client: httpx2.Client) -> None:
        form = post(client, "explain", query=READ_ALL).json()
        assert (form["name"], form["kind"], form["columns"]) == ("everyone", "read", ["p.name", "p.age"])
        assert form["plan"]["operator"] == "Project"
        assert [(table["table"], table["rows"]) for table in form["tables"]] == [("node Person", 3)]

    def test_a_mutation_is_explained_and_not_run(self, client: httpx2.Client, graph: Graph) -> None:
        before = graph.snapshot().commit_id
        text = "query add($name: String) { insert Person {name: $name} }"
        form = post(client, "explain", query=text).json()
        assert (form["kind"], form["statements"]) == ("mutation", [{"operator": "InsertNode", "type_name": "Person"}])
        assert form["parameters"] == [{"name": "name", "type": "String"}]
        assert graph.snapshot().commit_id == before

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"query": "query q() {"}, 400),
            ({"query": ""}, 400),
            ({"query": READ_ALL, "name": "nope"}, 404),
            ({"query": "query q() { match { $p: Persn } return { $p } }"}, 400),
        ],
    )
    def test_a_wrong_text_is_refused_with_places(
        self, body: dict[str, Any], status: int, client: httpx2.Client
    ) -> None:
        response = post(client, "explain", **body)
        assert response.status_code == status
        if "Persn" in body["query"]:
            assert response.json()["problem"]["diagnostics"][0]["column"] == 25


class TestCheck:
    def test_every_mistake_of_a_text_has_its_place(self, client: httpx2.Client) -> None:
        first = "query q() {\n  match { $p: Person }\n  return { $p.nmae, $p.aeg } }"
        text = f"{first}\nquery r() {{ match {{ $x: Nope }} return {{ $x }} }}"
        form = post(client, "check", query=text).json()
        assert form["status"] == "error"
        marked = [text[item["range"]["start"] : item["range"]["end"]] for item in form["diagnostics"]]
        assert marked == ["nmae", "aeg", "Nope"]
        assert [item["line"] for item in form["diagnostics"]] == [3, 3, 4]

    def test_places_count_characters_and_not_bytes(self, client: httpx2.Client) -> None:
        text = 'query q() { match { $p: Person {name: "\u00e4\U0001f600"} } return { $p.nope } }'
        (found,) = post(client, "check", query=text).json()["diagnostics"]
        assert text[found["range"]["start"] : found["range"]["end"]] == "nope"
        assert found["column"] == text.index("nope") + 1
        assert found["span"]["start"] > found["range"]["start"]

    def test_a_valid_text_has_the_columns_of_its_queries(self, client: httpx2.Client) -> None:
        form = post(client, "check", query=READ_ALL).json()
        assert (form["status"], form["diagnostics"], form["completion"]) == ("ok", [], None)
        (query,) = form["queries"]
        assert [column["name"] for column in query["operation"]["result"]] == ["name", "age"]

    @pytest.mark.parametrize(
        ("before", "after", "wanted"),
        [
            ("query q() { match { $p: Per", " } return { $p } }", "Person"),
            ("query q() { match { $p: Person } return { $p.a", " } }", "age"),
            ("query q() { match { $p: Person $p kn", " $f } return { $p } }", "knows"),
            ("query q() { match { $p: Person } return { $", " } }", "$p"),
            ("", "", "query"),
        ],
    )
    def test_completions_fit_the_position(self, before: str, after: str, wanted: str, client: httpx2.Client) -> None:
        form = post(client, "check", query=before + after, position=len(before)).json()["completion"]
        assert wanted in [item["text"] for item in form["candidates"]]
        assert form["start"] <= len(before)

    def test_the_schema_of_the_branch_decides(self, client: httpx2.Client, graph: Graph, branch: str) -> None:
        graph.apply_schema(graph.schema_text() + "\nnode Pet { name: String @key }", branch=branch)
        text = "query q() { match { $p: Pet } return { $p } }"
        assert post(client, "check", query=text, branch=branch).json()["status"] == "ok"
        assert post(client, "check", query=text).json()["status"] == "error"

    @pytest.mark.parametrize("position", [-1, 10_000, "x", 1.5])
    def test_a_position_outside_the_text_is_refused(self, position: Any, client: httpx2.Client) -> None:
        assert post(client, "check", query="query", position=position).status_code == 400


LEAKS = [
    "select * from read_text('/etc/passwd')",
    "select * from read_csv('/etc/passwd')",
    "select * from read_blob('/etc/hostname')",
    "select * from '/etc/passwd'",
    "select * from glob('/*')",
    "select * from parquet_scan('/tmp/x')",
    "select * from sniff_csv('/etc/passwd')",
    "select * from 'http://127.0.0.1:1/x.csv'",
    "select * from read_json('https://127.0.0.1:1/x')",
    "select * from read_parquet('s3://bucket/x')",
    "select * from duckdb_settings()",
    "select * from duckdb_secrets()",
    "select * from duckdb_extensions()",
    "select * from duckdb_logs()",
    "select * from enable_logging()",
    "select * from enable_profiling()",
    "select * from checkpoint()",
    "select * from arrow_scan(1, 2, 3)",
    "select * from pandas_scan(1)",
    "select * from query('select 1')",
    "select * from query_table('Person')",
    "select * from json_execute_serialized_sql('{}')",
    "select * from which_secret('s3://x', 's3')",
    "select * from information_schema.tables",
    "select * from pg_catalog.pg_class",
    "select * from sqlite_master",
    "select * from (with sqlite_master as (select 1) select 1), sqlite_master",
    "select * from main.Person",
    "select (select count(*) from duckdb_settings())",
    "select 1 where exists (from read_text('/etc/passwd'))",
    "with t as (select * from read_text('/etc/passwd')) select * from t",
    "select current_setting('secret_directory')",
    "select CURRENT_SETTING('secret_directory')",
    "select version()",
    "select getenv('HOME')",
    "select sleep_ms(1)",
    "select nextval('x')",
]
WRITES = [
    "insert into Person values ('x')",
    "delete from Person",
    "update Person set age = 1",
    "create table t as select 1",
    "drop view Person",
    "copy Person to '/tmp/x.csv'",
    "copy (select 1) to 'http://127.0.0.1:1/x'",
    "export database '/tmp/x'",
    "attach '/tmp/x.db'",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "set lock_configuration = false",
    "reset all",
    "pragma database_list",
    "call pragma_version()",
    "begin",
    "select 1; delete from Person",
    "select 1; select 2",
    "with t as (delete from Person returning *) select * from t",
    "",
    ";",
    "-- nothing",
]


class TestSql:
    def test_rows_have_the_form_of_a_query(self, client: httpx2.Client, graph: Graph) -> None:
        form = post(client, "sql", sql="select name, age from Person where age > ? order by name", params=[20]).json()
        assert form["rows"] == [{"name": "ann", "age": 31}, {"name": "bo", "age": 27}]
        assert (form["columns"], form["row_count"]) == (["name", "age"], 2)
        assert (form["target"]["branch"], form["graph_commit_id"]) == ("main", graph.snapshot().commit_id)

    def test_named_parameters_branches_and_commits(self, client: httpx2.Client, graph: Graph) -> None:
        text = "select count(*) as n from Person where name <> $name"
        params = {"name": "ann"}
        assert post(client, "sql", sql=text, params=params, branch="dev").json()["rows"] == [{"n": 3}]
        first = list(graph.commits())[-1].id
        assert post(client, "sql", sql=text, params=params, snapshot=first).json()["rows"] == [{"n": 0}]

    @pytest.mark.parametrize(
        "text",
        [
            "describe Person",
            "show tables",
            "with p as (select * from Person) select count(*) from p",
            "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select sum(n) from r",
            "select * from Person p, unnest(p.tags)",
            "select * from range(3)",
            "select a.name from Person a join Knows k on a.id = k.src join person b on b.id = k.dst",
            "select histogram(age) from Person",
            "values (1), (2)",
        ],
    )
    def test_queries_over_the_tables_are_allowed(self, text: str, client: httpx2.Client) -> None:
        response = post(client, "sql", sql=text)
        assert (response.status_code, response.json().get("row_count", 0) > 0) == (200, True), response.text

    @pytest.mark.parametrize("text", LEAKS)
    def test_nothing_but_the_tables_can_be_read(self, text: str, client: httpx2.Client) -> None:
        response = post(client, "sql", sql=text)
        assert response.status_code == 400, response.text
        assert "duckdb/" not in response.text
        assert "root:" not in response.text

    @pytest.mark.parametrize("text", WRITES)
    def test_nothing_can_be_written(self, text: str, client: httpx2.Client, graph: Graph) -> None:
        before = graph.snapshot().commit_id
        assert post(client, "sql", sql=text).status_code == 400
        assert graph.snapshot().commit_id == before

    def test_a_parameter_is_a_value_and_never_a_part_of_the_statement(self, client: httpx2.Client) -> None:
        value = "'; select * from read_text('/etc/passwd') --"
        rows = post(client, "sql", sql="select $v as v", params={"v": value}).json()["rows"]
        assert rows == [{"v": value}]

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"sql": "select ?"}, 400),
            ({"sql": "select $a", "params": {"b": 1}}, 400),
            ({"sql": "select ?", "params": [1, 2]}, 400),
            ({"sql": "select nope from Person"}, 400),
            ({"sql": "selct"}, 400),
            ({"sql": "select * from Persn"}, 400),
            ({"sql": "select 1/0 as x from Person where cast(name as int) = 1"}, 400),
            ({"sql": "select 'infinity'::timestamp_s as t"}, 400),
        ],
    )
    def test_a_wrong_statement_is_refused(self, body: dict[str, Any], status: int, client: httpx2.Client) -> None:
        response = post(client, "sql", **body)
        assert (response.status_code, "problem" in response.json()) == (status, True), response.text

    def test_a_deep_statement_is_an_answer_and_no_crash(self, client: httpx2.Client) -> None:
        text = "select " + "(" * 2_000 + "1" + ")" * 2_000
        assert post(client, "sql", sql=text).status_code in (200, 400)
