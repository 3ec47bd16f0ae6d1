"""Rows as JSON: the answers of queries and algorithms, and listings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.engine.listing import Listing
from omnigraph.rows.write.results import result_rows
from omnigraph.wire.operators import operators_json
from omnigraph.wire.writes import load_json

if TYPE_CHECKING:
    from omnigraph.engine.analysis.result import AnalysisResult
    from omnigraph.engine.query.result import QueryResult
    from omnigraph.engine.results import LoadResult


def envelope_json(result: QueryResult) -> dict[str, Any]:
    """The members that describe the rows: query, target, number of rows, columns."""
    snapshot = None if result.branch else result.commit_id or None
    return {
        "query_name": result.query_name,
        "target": {"branch": result.branch, "snapshot": snapshot},
        "row_count": len(result),
        "columns": result.columns,
        **(result.about if isinstance(result, Listing) else {}),
    }


def metadata_json(result: QueryResult) -> dict[str, Any]:
    """The first line of JSON lines. Columns are left out: every line names its own."""
    return {"kind": "metadata", **{key: value for key, value in envelope_json(result).items() if key != "columns"}}


def result_json(result: QueryResult, *, with_profile: bool = False) -> dict[str, Any]:
    """The rows of a result in their envelope, and the profile of its operators if wanted."""
    return {**frame_json(result, with_profile=with_profile), "rows": result_rows(result.table)}


def frame_json(result: QueryResult, *, with_profile: bool = False) -> dict[str, Any]:
    """The same with an empty list of rows, for callers that stream them."""
    form = {**envelope_json(result), "rows": [], "graph_commit_id": result.commit_id}
    return {**form, "profile": operators_json(result.operators)} if with_profile else form


def analysis_json(rows: QueryResult, analysis: AnalysisResult, written: LoadResult | None) -> dict[str, Any]:
    """Rows of an algorithm's result, its facts, and the commit if a column was written back."""
    return {
        **result_json(rows),
        "facts": dict(analysis.facts),
        "written": None if written is None else load_json(written),
    }
