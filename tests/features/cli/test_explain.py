"""`omnigraph explain`."""

import json

from tests.features.cli.run import EXAMPLES, run

SCHEMA = EXAMPLES / "social.pg"
QUERIES = EXAMPLES / "social.gq"
COUNT = "query n() { match { $p: Person } return { count($p) as people } }"


def test_a_read_is_shown_as_a_tree() -> None:
    result = run("explain", "--schema", SCHEMA, "-e", COUNT)
    assert result.exit_code == 0
    assert result.stdout == "query n()\n  Group count(id($p)) as people\n    Scan $p: Person\n"


def test_a_query_of_a_file_is_found_by_its_name() -> None:
    result = run("explain", "--schema", SCHEMA, "--query", QUERIES, "leave")
    assert result.stdout.startswith("mutation leave($email: String)\n  1. DeleteNodes Person where email = $email")


def test_parameters_are_filled_in() -> None:
    result = run("explain", "--schema", SCHEMA, "--query", QUERIES, "leave", "--params", '{"email": "a@b"}')
    assert 'email = "a@b"' in result.stdout


def test_several_queries_need_a_name_and_a_wrong_one_is_corrected() -> None:
    result = run("explain", "--schema", SCHEMA, "--query", QUERIES)
    assert result.exit_code == 2
    assert "colleagues" in result.stderr
    result = run("explain", "--schema", SCHEMA, "--query", QUERIES, "circl")
    assert result.exit_code == 1
    assert "did you mean `circle`?" in result.stderr


def test_a_wrong_query_is_told_with_its_place() -> None:
    wrong = "query n() { match { $p: Persn } return { $p } }"
    result = run("explain", "--schema", SCHEMA, "-e", wrong)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("<query>:1:25: error[T1]: unknown node type `Persn`\n")
    told = json.loads(run("explain", "--schema", SCHEMA, "-e", wrong, "--json").stdout)
    assert told["code"] == "compile_error"
    assert told["diagnostics"][0]["column"] == 25


def test_wrong_parameters_are_told() -> None:
    deep = "[" * 200_000
    for params, message in {
        "{": "--params is not JSON: ",
        deep: "--params is not JSON",
        "[]": "--params must be an object, got array",
        "{}": "parameter 'email' not provided",
        '{"email": 1}': "param 'email': expected string, got number",
    }.items():
        result = run("explain", "--schema", SCHEMA, "--query", QUERIES, "leave", "--params", params)
        assert result.exit_code == 1
        assert result.stderr.startswith(f"error: {message}")


def test_exactly_one_source_of_the_query_is_needed() -> None:
    assert run("explain", "--schema", SCHEMA).exit_code == 2
    assert run("explain", "--schema", SCHEMA, "-e", COUNT, "--query", QUERIES).exit_code == 2


def test_json_holds_the_tree_and_the_text() -> None:
    report = json.loads(run("explain", "--schema", SCHEMA, "-e", COUNT, "--json").stdout)
    assert (report["name"], report["kind"], report["columns"]) == ("n", "read", ["people"])
    assert report["plan"]["operator"] == "Group"
    assert report["plan"]["inputs"][0]["description"] == "Scan $p: Person"
    report = json.loads(run("explain", "--schema", SCHEMA, "--query", QUERIES, "join", "--json").stdout)
    assert [item["operator"] for item in report["statements"]] == ["InsertNode", "InsertEdge"]
    assert {"name": "joined", "type": "Date"} in report["parameters"]
    assert report["text"].startswith("mutation join(")
