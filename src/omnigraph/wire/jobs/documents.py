"""Runs of the document pipeline as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from omnigraph.wire.commits import commit_json

if TYPE_CHECKING:
    from omnigraph.engine.documents.result import DocumentCounts, DocumentsPreview, DocumentsResult


def documents_json(result: DocumentsResult) -> dict[str, Any]:
    """A run; ``commits`` is empty if no document had changed."""
    return {
        "branch": result.branch,
        "branch_created": result.branch_created,
        "resumed": result.resumed,
        "engine": result.engine,
        **_counts_json(result.counts),
        "remarks": list(result.remarks),
        "commits": [commit_json(commit) for commit in result.commits],
    }


def documents_preview_json(preview: DocumentsPreview) -> dict[str, Any]:
    """The dry run of the pipeline, bound to the head it was computed on."""
    return {
        "branch": preview.branch,
        "dry_run": True,
        "head_commit_id": preview.head,
        **_counts_json(preview.counts),
    }


def _counts_json(counts: DocumentCounts) -> dict[str, Any]:
    fates = asdict(counts)
    made = {name: fates.pop(name) for name in ("chunks", "mentions")}
    return {"documents": {"total": counts.total, **fates}, **made}
