"""Entity resolution as JSON: clusters, pairs, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.wire.commits import optional_commit_json
from omnigraph.wire.tables import tables_json

if TYPE_CHECKING:
    from omnigraph.engine.resolve.result import Resolved, ResolvePreview, ResolveResult


def resolve_json(result: ResolveResult, limit: int | None = None) -> dict[str, Any]:
    """A resolution; ``commit`` is null if nothing matched."""
    return {
        "type_name": result.type_name,
        "branch": result.branch,
        "branch_created": result.branch_created,
        **_found_json(result.found, limit),
        "tables": tables_json(result.tables),
        "commit": optional_commit_json(result.commit),
    }


def resolve_preview_json(preview: ResolvePreview, limit: int | None = None) -> dict[str, Any]:
    """The dry run of a resolution, bound to the head it was computed on."""
    return {
        "type_name": preview.type_name,
        "branch": preview.branch,
        "dry_run": True,
        "head_commit_id": preview.head,
        **_found_json(preview.found, limit),
        "tables": tables_json(preview.tables),
    }


def _found_json(found: Resolved, limit: int | None) -> dict[str, Any]:
    """Counts, and the first clusters and pairs."""
    return {
        "engine": found.engine,
        "pairs_compared": found.compared,
        "rounds": found.rounds,
        "clusters_merged": found.merged,
        "clusters_left": found.left,
        "entities_folded": found.removed,
        "edges_moved": found.edges_moved,
        "edges_folded": found.edges_folded,
        "remarks": list(found.remarks),
        "clusters": found.clusters.slice(0, limit).to_pylist(),
        "pairs": found.pairs.slice(0, limit).to_pylist(),
    }
