"""Findings of the linters as JSON: a schema, and query files checked against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.lang.diagnostics import Diagnostic, Severity
from omnigraph.wire.diagnostics import diagnostic_json

if TYPE_CHECKING:
    from omnigraph.query.lint import Finding, LintReport, QueryReport
    from omnigraph.query.operation import Operation, ResultColumn


def lint_json(
    schema_source: Mapping[str, str], types: int, found: Sequence[Diagnostic], files: Sequence[LintReport]
) -> dict[str, Any]:
    """The findings of a run: those of the schema with its number of types, and those of the query files.

    A single query file is the report itself; several are listed in ``files``.
    """
    schema = {"types": types, **_counts(found), "diagnostics": [diagnostic_json(item) for item in found]}
    of_schema = {"schema_source": dict(schema_source), "schema": schema}
    errors = schema["errors"] + sum(file.errors for file in files)
    totals = {
        "status": "error" if errors else "ok",
        "errors": errors,
        "warnings": schema["warnings"] + sum(file.warnings for file in files),
        "infos": schema["infos"] + sum(map(_infos, files)),
    }
    forms = [lint_report_json(file) for file in files]
    if len(forms) == 1:
        return {**forms[0], **totals, **of_schema}
    return {**totals, **of_schema, "files": forms}


def _counts(found: Sequence[Diagnostic]) -> dict[str, Any]:
    severities = [item.severity for item in found]
    return {f"{severity.value}s": severities.count(severity) for severity in Severity}


def lint_report_json(report: LintReport) -> dict[str, Any]:
    """The report of one query file; a file that does not parse has its diagnostics and no queries."""
    syntax = {"diagnostics": [diagnostic_json(item) for item in report.syntax]} if report.syntax else {}
    return {
        "status": "error" if report.errors else "ok",
        "query_path": report.path,
        "queries_processed": len(report.reports),
        "errors": report.errors,
        "warnings": report.warnings,
        "infos": _infos(report),
        "results": [_query_json(query) for query in report.reports],
        "findings": [finding_json(finding) for finding in report.findings],
        **syntax,
    }


def _infos(report: LintReport) -> int:
    return sum(finding.severity is Severity.INFO for finding in report.findings)


def _query_json(report: QueryReport) -> dict[str, Any]:
    form: dict[str, Any] = {
        "name": report.name,
        "kind": report.kind,
        "status": "ok" if report.is_valid else "error",
    }
    if report.warnings:
        form["warnings"] = list(report.warnings)
    errors = [item for item in report.diagnostics if item.severity is Severity.ERROR]
    if errors:
        form["error"] = f"type error: {errors[0].code}: {errors[0].message}"
        form["diagnostics"] = [diagnostic_json(item) for item in report.diagnostics]
    if report.operation is not None:
        form["operation"] = operation_json(report.operation)
    return form


def operation_json(operation: Operation) -> dict[str, Any]:
    """The columns a query returns and the types it reads and writes."""
    return {
        "result": [_column_json(column) for column in operation.result],
        "reads": _types_json(operation.reads),
        "writes": _types_json(operation.writes),
    }


def _column_json(column: ResultColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        **({} if column.item_kind is None else {"item_kind": column.item_kind}),
        **({} if column.vector_dimension is None else {"vector_dim": column.vector_dimension}),
        "nullable": column.nullable,
    }


def _types_json(types: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"kind": kind, "type_name": name} for kind, name in types]


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding about a whole file; members that do not apply are left out."""
    form: dict[str, Any] = {"severity": finding.severity.value, "code": finding.code, "message": finding.message}
    if finding.type_name is not None:
        form["type_name"] = finding.type_name
    if finding.property is not None:
        form["property"] = finding.property
    if finding.query_names:
        form["query_names"] = list(finding.query_names)
    return form
