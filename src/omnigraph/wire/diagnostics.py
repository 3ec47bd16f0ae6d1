"""Compiler diagnostics as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.lang.diagnostics import Diagnostic


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """One located message. Lines and columns count characters from 1; the span counts bytes from 0."""
    start, end = diagnostic.source.byte_span(diagnostic.span)
    form: dict[str, Any] = {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "source": diagnostic.source.name,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "span": {"start": start, "end": end},
    }
    if diagnostic.hint:
        form["hint"] = diagnostic.hint
    return form
