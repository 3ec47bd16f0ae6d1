"""Lint: findings, counts, and the operation descriptor of every kind of query."""

from typing import Any

import pytest

from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source
from omnigraph.query.lint import LintReport, lint_queries
from omnigraph.wire.lint import finding_json, lint_report_json, operation_json
from tests.unit.query.fixture import catalog, read, write


def lint(text: str) -> LintReport:
    return lint_queries(parse_queries(Source(text, "file.gq")), catalog())


def operation(text: str) -> Any:
    report = lint(text).reports[0]
    assert report.operation is not None, report.diagnostics
    return operation_json(report.operation)


def column(expression: str, match: str = "$p: Person", parameters: str = "") -> Any:
    return operation(read(match, expression, parameters=parameters))["result"][0]


def types(entries: list[dict[str, str]]) -> list[str]:
    return [f"{entry['kind']}:{entry['type_name']}" for entry in entries]


def test_a_file_that_does_not_parse_gives_q000_and_no_results() -> None:
    shown: Any = lint_report_json(lint("query a() { match }\nquery b() { match { $p: Person } return { $p } }"))
    assert (shown["status"], shown["queries_processed"], shown["results"], shown["errors"]) == ("error", 0, [], 1)
    assert [finding["code"] for finding in shown["findings"]] == ["Q000"]
    assert shown["findings"][0]["message"].startswith("parse error: ")


def test_an_empty_file_is_fine() -> None:
    shown = lint_report_json(lint("// nothing"))
    assert (shown["status"], shown["queries_processed"]) == ("ok", 0)


def test_a_type_error_is_in_the_result_of_its_query_and_the_others_are_still_checked() -> None:
    shown: Any = lint_report_json(lint(read("$p: Persn") + read("$p: Person").replace("query q", "query r")))
    assert (shown["status"], shown["errors"], shown["queries_processed"]) == ("error", 1, 2)
    broken, fine = shown["results"]
    assert (broken["name"], broken["kind"], broken["status"]) == ("q", "read", "error")
    assert broken["error"] == "type error: T1: unknown node type `Persn`"
    assert "operation" not in broken
    assert (fine["name"], fine["status"]) == ("r", "ok")


def test_the_first_error_in_the_text_is_the_one_shown() -> None:
    shown: Any = lint_report_json(lint(read("not { $p knows $zzz.x } $p: Persn".replace("$zzz.x", "$c")) + ""))
    assert shown["results"][0]["error"].startswith("type error: T1")


def test_l201_names_nullable_properties_that_no_update_sets() -> None:
    text = write('update Company set { name2: 1 } where name = "x"')
    assert not lint(text).findings, "an update that is wrong counts for nothing"
    text = write("update Person set { age: $a nick: $n } where email = $e", "$a: I32?, $n: String?, $e: String")
    found = lint(text).findings
    assert {finding.code for finding in found} == {"L201"}
    names = [finding.property for finding in found]
    assert names == sorted(names)  # type: ignore[type-var]  # every L201 names a property
    assert set(names) == {
        "height", "score", "visits", "active", "born", "seen", "tags", "lucky", "level", "photo",
    }  # fmt: skip
    assert finding_json(found[0]) == {
        "severity": "warning",
        "code": "L201",
        "message": "no update in this file sets `Person.active`",
        "type_name": "Person",
        "property": "active",
        "query_names": ["q"],
    }


def test_l201_looks_at_all_updates_of_the_file_together() -> None:
    text = "".join(
        f'query q{number}($v: I32) {{ update Company set {{ {name}: $v }} where name = "x" }}'
        for number, name in enumerate(["founded", "founded"])
    )
    assert not lint(text).findings


def test_l201_never_asks_for_embedded_vectors() -> None:
    found = lint(write("update Doc set { title: $t } where title = $t", "$t: String")).findings
    assert [finding.property for finding in found] == ["body", "other"]


def test_l202_names_queries_that_can_never_be_called() -> None:
    report = lint(read("$p: Person") * 3)
    assert [finding_json(finding) for finding in report.findings] == [
        {
            "severity": "warning",
            "code": "L202",
            "message": "query `q` is declared again; the first one is used",
            "query_names": ["q"],
        }
    ] * 2
    assert (report.errors, report.warnings) == (0, 2)


def test_a_mutation_without_parameters_is_a_hardcoded_one() -> None:
    report = lint(write('delete Company where name = "x"'))
    assert report.reports[0].warnings == ("hardcoded mutation: the query writes but takes no parameters",)
    assert report.warnings == 1
    assert not lint(write("delete Company where name = $x", "$x: String")).reports[0].warnings
    assert not lint(read("$p: Person")).reports[0].warnings


def test_findings_are_sorted_by_type_then_property() -> None:
    text = write("update Person set { age: $a } where email = $e", "$a: I32?, $e: String") + write(
        "update Company set { founded: $a } where name = $e", "$a: I32?, $e: String"
    ).replace("query q", "query r")
    text += read("$p: Person")
    keys = [(finding.type_name or "", finding.property or "") for finding in lint(text).findings]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("$p.name", {"name": "name", "kind": "string", "nullable": False}),
        ("$p.name as n", {"name": "n", "kind": "string", "nullable": False}),
        ("$p.age", {"name": "age", "kind": "int", "nullable": True}),
        ("$p.visits", {"name": "visits", "kind": "bigint", "nullable": True}),
        ("$p.height", {"name": "height", "kind": "float", "nullable": True}),
        ("$p.score", {"name": "score", "kind": "float", "nullable": True}),
        ("$p.active", {"name": "active", "kind": "bool", "nullable": True}),
        ("$p.born", {"name": "born", "kind": "date", "nullable": True}),
        ("$p.seen", {"name": "seen", "kind": "datetime", "nullable": True}),
        ("$p.level", {"name": "level", "kind": "string", "nullable": True}),
        ("$p.lucky", {"name": "lucky", "kind": "list", "item_kind": "int", "nullable": True}),
        ("$p", {"name": "p", "kind": "object", "nullable": False}),
        ("3", {"name": "literal", "kind": "bigint", "nullable": False}),
        ("[1.5]", {"name": "literal", "kind": "list", "item_kind": "float", "nullable": False}),
        ("$x", {"name": "x", "kind": "string", "nullable": True}),
        ("now()", {"name": "now", "kind": "datetime", "nullable": False}),
        ("count($p)", {"name": "count", "kind": "bigint", "nullable": True}),
        ("sum($p.age)", {"name": "sum", "kind": "float", "nullable": True}),
        ("avg($p.age) as mean", {"name": "mean", "kind": "float", "nullable": True}),
        ("min($p.name)", {"name": "min", "kind": "string", "nullable": True}),
        ("max($p.age)", {"name": "max", "kind": "int", "nullable": True}),
        ("collect($p.age)", {"name": "collect", "kind": "list", "item_kind": "int", "nullable": True}),
        ('bm25($p.name, "x")', {"name": "bm25", "kind": "float", "nullable": True}),
        ("$p.age + 1", {"name": "expression", "kind": "bigint", "nullable": True}),
        ("$p.age / 2", {"name": "expression", "kind": "float", "nullable": True}),
        ("$p.age is null", {"name": "expression", "kind": "bool", "nullable": False}),
        ('$p.name = "x"', {"name": "expression", "kind": "bool", "nullable": True}),
    ],
)
def test_a_column_is_described_by_name_kind_and_nullability(expression: str, expected: dict[str, object]) -> None:
    assert column(expression, parameters="$x: String?") == expected


def test_vectors_tell_their_dimension_and_optional_variables_may_be_null() -> None:
    vector = {"name": "embedding", "kind": "vector", "vector_dim": 3, "nullable": False}
    assert column("$d.embedding", "$d: Doc") == vector
    assert column("$d.embedding", "$p: Person maybe { $p wrote $d }") == {**vector, "nullable": True}
    assert column("$d", "$p: Person maybe { $p wrote $d }")["nullable"] is True
    assert column("$w.length", "$p: Person $q: Person $p $w: shortest knows $q") == {
        "name": "length",
        "kind": "bigint",
        "nullable": False,
    }


def test_a_read_names_everything_it_touches_nodes_first() -> None:
    described = operation(read("$p: Person $p worksAt $c not { $p wrote $d } maybe { $d2 cites $d3 $p wrote $d2 }"))
    assert types(described["reads"]) == [
        "node:Company", "node:Doc", "node:Person", "edge:Cites", "edge:WorksAt", "edge:Wrote",
    ]  # fmt: skip
    assert described["writes"] == []
    path = operation(read("$p: Person $q: Person $p $w: shortest follows $q"))
    assert types(path["reads"]) == ["node:Person", "edge:Follows"]


@pytest.mark.parametrize(
    ("statement", "reads", "writes"),
    [
        ('insert Company { name: "x" }', ["node:Company"], ["node:Company"]),
        ("update Person set { age: 3 } where age = 2", ["node:Person"], ["node:Person"]),
        (
            'insert WorksAt { from: "a" to: "b" role: "r" }',
            ["node:Company", "node:Person", "edge:WorksAt"],
            ["edge:WorksAt"],
        ),
        ('delete WorksAt where from = "a"', ["edge:WorksAt"], ["edge:WorksAt"]),
        ('delete Company where name = "a"', ["node:Company", "edge:WorksAt"], ["node:Company", "edge:WorksAt"]),
        (
            "delete Person where age = 2",
            ["node:Person", "edge:Follows", "edge:Knows", "edge:WorksAt", "edge:Wrote"],
            ["node:Person", "edge:Follows", "edge:Knows", "edge:WorksAt", "edge:Wrote"],
        ),
    ],
)
def test_a_mutation_names_what_it_reads_and_writes(statement: str, reads: list[str], writes: list[str]) -> None:
    described = operation(write(statement))
    assert described["result"] == []
    assert types(described["reads"]) == reads
    assert types(described["writes"]) == writes
