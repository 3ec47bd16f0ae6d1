"""Diagnostics of the control plane as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.cluster.control.session import Findings


def diagnostics_json(findings: Findings) -> dict[str, Any]:
    """Problems that a command has found, as a member of its form."""
    return {
        "diagnostics": [
            {"code": item.code, "severity": item.severity.value, "path": item.path, "message": item.message}
            for item in findings.diagnostics
        ]
    }
