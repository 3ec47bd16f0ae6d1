"""Copies and exports as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.wire.maintenance import verify_json

if TYPE_CHECKING:
    from omnigraph.engine.copies.result import CopyResult
    from omnigraph.engine.export.result import ExportResult


def copy_json(result: CopyResult) -> dict[str, Any]:
    """A copy, backup or restore, with the verification of the target."""
    return {
        "source": result.source,
        "target": result.target,
        "graph_id": result.graph_id,
        "history": result.history,
        "branches": [{"name": name, "graph_commit_id": commit} for name, commit in result.branches.items()],
        "files_copied": result.files_copied,
        "bytes_copied": result.bytes_copied,
        "files_kept": result.files_kept,
        "verified": verify_json(result.report),
    }


def export_json(uri: str, result: ExportResult) -> dict[str, Any]:
    """A snapshot that was exported to files; the sizes are in bytes."""
    return {
        "uri": uri,
        "out": result.target,
        "format": result.format,
        "graph_commit_id": result.commit_id,
        "entities": result.entities,
        "bytes": result.bytes,
        "files": [
            {"path": file.path, "type": file.type_name, "entities": file.rows, "bytes": file.bytes}
            for file in result.files
        ],
    }
