"""`omnigraph lint`."""

import json
from pathlib import Path

import pytest

from tests.features.cli.run import EXAMPLES, run, run_program

SCHEMA = EXAMPLES / "social.pg"
QUERIES = EXAMPLES / "social.gq"
MISTAKES = EXAMPLES / "mistakes.gq"


@pytest.fixture
def broken_schema(tmp_path: Path) -> Path:
    file = tmp_path / "broken.pg"
    file.write_text("node A { x: Strin }\nedge E: A -> B\n")
    return file


@pytest.fixture
def broken_query(tmp_path: Path) -> Path:
    file = tmp_path / "broken.gq"
    file.write_text("query q( {")
    return file


def test_correct_files_are_fine() -> None:
    result = run("lint", "--schema", SCHEMA, "--query", QUERIES)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "ok: nothing to remark (7 types, 8 queries)\n", "")


def test_check_is_another_name_for_lint() -> None:
    assert run("check", "--schema", SCHEMA).stdout == "ok: nothing to remark (7 types)\n"


def test_every_mistake_is_shown_with_a_caret_and_a_hint() -> None:
    result = run_program("lint", "--schema", "social.pg", "--query", "mistakes.gq")
    assert result.returncode == 1
    assert result.stderr == ""
    blocks = result.stdout.split("\n\n")
    assert blocks[0] == (
        "mistakes.gq:5:9: error[T1]: unknown node type `Persn`\n"
        "   |\n"
        " 5 |     $p: Persn { city: $city }\n"
        "   |         ^^^^^\n"
        "   = hint: did you mean `Person`?"
    )
    assert blocks[-1] == "failed: 4 errors (7 types, 4 queries)\n"
    assert len(blocks) == 5


def test_warnings_are_shown_but_do_not_fail(tmp_path: Path) -> None:
    schema, queries = tmp_path / "s.pg", tmp_path / "q.gq"
    schema.write_text("node A {\n  x: String?\n  y: String?\n}\n")
    queries.write_text('query u() { update A set { x: "a" } where x = "b" }')
    result = run("lint", "--schema", schema, "--query", queries)
    assert result.exit_code == 0
    assert f"{schema}:1:6: info[S201]" in result.stdout
    assert f"{queries}: warning: query `u`: hardcoded mutation" in result.stdout
    assert f"{queries}: warning[L201]: no update in this file sets `A.y`" in result.stdout
    assert result.stdout.endswith("ok: 2 warnings, 1 info (1 type, 1 query)\n")


def test_a_broken_schema_leaves_the_syntax_of_queries_to_check(broken_schema: Path, broken_query: Path) -> None:
    result = run("lint", "--schema", broken_schema, "--query", QUERIES, "--query", broken_query)
    assert result.exit_code == 1
    assert f"{broken_schema}:1:13: error" in result.stdout
    assert f"{broken_query}:1:" in result.stdout
    assert "note: the queries were checked for syntax only, because the schema has errors\n" in result.stdout


# --- for programs ----------------------------------------------------------------------------------------

SHAPE = {
    "status",
    "schema_source",
    "query_path",
    "queries_processed",
    "errors",
    "warnings",
    "infos",
    "results",
    "findings",
}


def _json(*arguments: object) -> tuple[int, dict]:  # type: ignore[type-arg]  # whatever JSON holds
    result = run("lint", *arguments, "--json")
    assert result.stderr == ""
    return result.exit_code, json.loads(result.stdout)


def test_one_query_file_is_described_at_the_top() -> None:
    status, report = _json("--schema", SCHEMA, "--query", QUERIES)
    assert status == 0
    assert set(report) == SHAPE | {"schema"}
    assert report["status"] == "ok"
    assert report["schema_source"] == {"kind": "file", "path": str(SCHEMA)}
    assert report["query_path"] == str(QUERIES)
    assert report["queries_processed"] == len(report["results"]) == 8
    by_name = {item["name"]: item for item in report["results"]}
    assert by_name["leave"]["kind"] == "mutation"
    assert by_name["join"]["operation"]["writes"] == [
        {"kind": "node", "type_name": "Person"},
        {"kind": "edge", "type_name": "WorksAt"},
    ]
    assert [column["name"] for column in by_name["employers"]["operation"]["result"]] == ["company", "people", "age"]


def test_a_wrong_query_has_its_error_and_places() -> None:
    status, report = _json("--schema", SCHEMA, "--query", MISTAKES)
    assert (status, report["status"], report["errors"]) == (1, "error", 4)
    first = report["results"][0]
    assert first["error"] == "type error: T1: unknown node type `Persn`"
    assert (first["diagnostics"][0]["line"], first["diagnostics"][0]["column"]) == (5, 9)
    assert "operation" not in first


def test_a_file_that_does_not_parse_has_one_finding_and_its_places(broken_query: Path) -> None:
    status, report = _json("--schema", SCHEMA, "--query", broken_query)
    assert (status, report["errors"], report["results"]) == (1, 1, [])
    assert [finding["code"] for finding in report["findings"]] == ["Q000"]
    assert report["diagnostics"][0]["line"] == 1


def test_several_query_files_are_listed() -> None:
    status, report = _json("--schema", SCHEMA, "--query", QUERIES, "--query", MISTAKES)
    assert (status, report["status"], report["errors"], report["warnings"]) == (1, "error", 4, 0)
    assert [file["query_path"] for file in report["files"]] == [str(QUERIES), str(MISTAKES)]
    assert [file["status"] for file in report["files"]] == ["ok", "error"]


def test_without_queries_the_schema_is_reported(broken_schema: Path) -> None:
    status, report = _json("--schema", broken_schema)
    assert (status, report["status"], report["files"]) == (1, "error", [])
    assert report["errors"] == report["schema"]["errors"] == len(report["schema"]["diagnostics"])
    status, report = _json("--schema", SCHEMA)
    assert (status, report["schema"]["types"], report["schema"]["diagnostics"]) == (0, 7, [])


def test_a_broken_schema_fails_the_report_of_a_correct_query_file(broken_schema: Path) -> None:
    status, report = _json("--schema", broken_schema, "--query", QUERIES)
    assert (status, report["status"], report["queries_processed"]) == (1, "error", 0)
    assert report["errors"] == report["schema"]["errors"]
