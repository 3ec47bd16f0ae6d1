"""Mutations, loads, refreshes of external types, and their previews as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.wire.commits import commit_json, optional_commit_json
from omnigraph.wire.operators import operators_json
from omnigraph.wire.tables import tables_json

if TYPE_CHECKING:
    from omnigraph.engine.external.result import RefreshResult
    from omnigraph.engine.previews import WritePreview
    from omnigraph.engine.results import LoadResult, MutationResult
    from omnigraph.engine.tabular import ReturnedRows


def mutation_json(result: MutationResult, *, with_profile: bool = False) -> dict[str, Any]:
    """A mutation; ``commit`` is null if nothing matched, ``columns`` and ``rows`` are those of ``returning``."""
    form = {
        "branch": result.branch,
        "query_name": result.query_name,
        "affected_nodes": result.affected_nodes,
        "affected_edges": result.affected_edges,
        "actor_id": result.actor,
        "commit": optional_commit_json(result.commit),
        **_returned_json(result.returned),
    }
    return {**form, "profile": operators_json(result.operators)} if with_profile else form


def _returned_json(rows: ReturnedRows | None) -> dict[str, Any]:
    """The rows of ``returning``; no members if a mutation returns nothing."""
    if rows is None:
        return {}
    # Imported with the first rows: the help of a command loads no Arrow.
    from omnigraph.rows.write.results import result_rows

    return {"columns": rows.columns, "rows": result_rows(rows.table)}


def load_json(result: LoadResult, *, with_profile: bool = False) -> dict[str, Any]:
    """A load, with the number of rows read for each type; ``rejected`` and ``remarks`` only if there are any."""
    form = {
        "branch": result.branch,
        "base_branch": result.base_branch,
        "branch_created": result.branch_created,
        "mode": result.mode,
        "nodes": _loaded_json(result.nodes),
        "edges": _loaded_json(result.edges),
        "total_entities": result.total,
        "inserted": result.inserted,
        "updated": result.updated,
        "deleted": result.deleted,
        "unchanged": result.unchanged,
        "cleared": result.cleared,
        **({"remarks": list(result.remarks)} if result.remarks else {}),
        **({"rejected": result.rejected} if result.rejected else {}),
        "actor_id": result.actor,
        "commit": commit_json(result.commit),
    }
    return {**form, "profile": operators_json(result.operators)} if with_profile else form


def _loaded_json(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"name": name, "entities_loaded": count} for name, count in sorted(counts.items())]


def write_preview_json(preview: WritePreview) -> dict[str, Any]:
    """The dry run of a mutation or load, bound to the head it was computed on."""
    return {
        "branch": preview.branch,
        "dry_run": True,
        "head_commit_id": preview.head,
        "tables": tables_json(preview.tables),
        **({"rejected": preview.rejected, "rejections": list(preview.rejections)} if preview.rejected else {}),
        **_returned_json(preview.returned),
    }


def refresh_json(result: RefreshResult) -> dict[str, Any]:
    """The outcome of a refresh; ``commit`` is null if nothing was newer."""
    return {
        "branch": result.branch,
        "types": list(result.types),
        "actor": result.actor,
        "repeated": result.repeated,
        "remarks": list(result.remarks),
        "commit": optional_commit_json(result.commit),
    }
