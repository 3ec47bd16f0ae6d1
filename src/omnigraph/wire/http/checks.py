"""Checked query texts as JSON: diagnostics with places, the queries of the text, and completions at a position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.lang.diagnostics import Severity
from omnigraph.wire.diagnostics import diagnostic_json
from omnigraph.wire.lint import finding_json, operation_json

if TYPE_CHECKING:
    from omnigraph.lang.diagnostics import Diagnostic
    from omnigraph.query.completion.complete import Completion
    from omnigraph.query.lint import LintReport, QueryReport


def check_json(report: LintReport, completion: Completion | None) -> dict[str, Any]:
    """The findings about a text, and the candidates at a position if one was given."""
    found = list(report.diagnostics())
    return {
        "status": "error" if any(item.severity is Severity.ERROR for item in found) else "ok",
        "diagnostics": [_located_json(item) for item in found],
        "findings": [finding_json(item) for item in report.findings if not report.syntax],
        "queries": [_query_json(item) for item in report.reports],
        "completion": None if completion is None else completion_json(completion),
    }


def _located_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic, with its range in characters from 0, as an editor marks it."""
    place = {"start": diagnostic.span.start, "end": diagnostic.span.end}
    return {**diagnostic_json(diagnostic), "range": place}


def _query_json(report: QueryReport) -> dict[str, Any]:
    operation = {} if report.operation is None else {"operation": operation_json(report.operation)}
    return {"name": report.name, "kind": report.kind, "warnings": list(report.warnings), **operation}


def completion_json(completion: Completion) -> dict[str, Any]:
    """The candidates; each replaces the text from ``start`` (in characters from 0) to the position."""
    return {
        "start": completion.start,
        "candidates": [
            {"text": item.text, "kind": item.kind.value, "detail": item.detail} for item in completion.candidates
        ],
    }
