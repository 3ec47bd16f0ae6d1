"""Merges and reverts as JSON, and merge previews as files that can be reviewed, edited and merged later.

A saved preview is the only form here that is read back. It is bound to the heads it was computed from, so
``graph.merge`` refuses it once either branch has moved.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from omnigraph.errors import Hint, UsageError
from omnigraph.history.conflicts import ConflictKind, MergeConflict, Resolution, Take, read_resolutions
from omnigraph.wire.commits import optional_commit_json
from omnigraph.wire.tables import tables_json

if TYPE_CHECKING:
    from omnigraph.core.tables import TableCounts
    from omnigraph.engine.merge.result import MergePreview, MergeResult
    from omnigraph.engine.revert.result import RevertPreview, RevertResult

PREVIEW_FORMAT: Final = "omnigraph.merge_preview"


def conflict_json(conflict: MergeConflict) -> dict[str, Any]:
    """One conflict with the values of base, source and target; null where the entity is absent."""
    return {
        "table_key": conflict.table,
        "entity_kind": conflict.table.split(":", 1)[0],
        "type_name": conflict.type_name(),
        "entity_id": conflict.id,
        "kind": conflict.kind.value,
        "property": conflict.property,
        "base": conflict.base,
        "source": conflict.source,
        "target": conflict.target,
        "message": conflict.message,
    }


def resolution_json(resolution: Resolution) -> dict[str, Any]:
    """A resolution in the form that ``read_resolutions`` reads; a null ``value`` is kept, because it is an answer."""
    answer: dict[str, Any] = (
        {resolution.take.value: resolution.value}
        if resolution.take in (Take.VALUE, Take.EXPRESSION)
        else {"take": resolution.take.value}
    )
    scope = {
        "type": resolution.type_name,
        "id": resolution.id,
        "property": resolution.property,
        "kind": resolution.kind.value if resolution.kind else None,
    }
    return {**answer, **{key: value for key, value in scope.items() if value is not None}}


def merge_json(result: MergeResult) -> dict[str, Any]:
    """A merge; ``commit`` is null if the target already had everything."""
    return {
        "source": result.source,
        "target": result.target,
        "outcome": result.outcome.value,
        "base_commit_id": result.base,
        "source_commit_id": result.source_head,
        "tables": tables_json(result.tables),
        "engine": result.engine,
        "actor_id": result.actor,
        "commit": optional_commit_json(result.commit),
    }


def branch_merge_json(
    uri: str, result: MergeResult, *, branch_deleted: bool | None, delete_error: str | None
) -> dict[str, Any]:
    """The same with the address of the graph."""
    made = merge_output_json(result, result.actor, branch_deleted=branch_deleted, delete_error=delete_error)
    return {"uri": uri, **made}


def merge_output_json(
    result: MergeResult, actor: str | None, *, branch_deleted: bool | None, delete_error: str | None
) -> dict[str, Any]:
    """A merge that may also have deleted its source; ``branch_deleted`` is None if that was not requested."""
    deleted = {} if branch_deleted is None else {"branch_deleted": branch_deleted}
    failed = {} if delete_error is None else {"branch_delete_error": delete_error}
    return {**merge_json(result), "actor_id": actor, **deleted, **failed}


def merge_preview_json(preview: MergePreview) -> dict[str, Any]:
    """A merge preview with the policy and resolutions it was computed with."""
    return {
        "format": PREVIEW_FORMAT,
        "source": preview.source,
        "target": preview.target,
        "outcome": preview.outcome.value,
        "base_commit_id": preview.base,
        "source_commit_id": preview.source_head,
        "target_commit_id": preview.target_head,
        "engine": preview.engine,
        "tables": tables_json(preview.tables),
        "merge_conflicts": [conflict_json(conflict) for conflict in preview.conflicts],
        "policy": dict(preview.policy) if isinstance(preview.policy, Mapping) else preview.policy,
        "resolutions": [resolution_json(resolution) for resolution in preview.resolutions],
    }


def save_merge_preview(preview: MergePreview, path: str | os.PathLike[str]) -> None:
    """Write a merge preview to a file, for review and for a later merge."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(merge_preview_json(preview), file, indent=2, ensure_ascii=False)
        file.write("\n")


def load_merge_preview(path: str | os.PathLike[str]) -> MergePreview:
    """Read a saved merge preview. Resolutions that were added to the file by hand take effect."""
    try:
        with open(path, encoding="utf-8") as file:
            return merge_preview_from_json(json.load(file))
    except (OSError, ValueError) as error:
        raise UsageError(f"{os.fspath(path)!r} cannot be read as a preview: {error}") from error


def merge_preview_from_json(form: Mapping[str, Any]) -> MergePreview:
    """The preview that ``merge_preview_json`` rendered; raises UsageError for any other JSON."""
    from omnigraph.engine.engine_choice import EMBEDDED
    from omnigraph.engine.merge.result import MergePreview
    from omnigraph.write.merge.decide import MergeOutcome

    if form.get("format") != PREVIEW_FORMAT:
        raise UsageError(
            "this is no saved preview of a merge",
            hint=Hint(
                "omnigraph.wire.merges.save_merge_preview makes one", "omnigraph merge preview --save FILE makes one"
            ),
        )
    try:
        return MergePreview(
            source=form["source"],
            target=form["target"],
            outcome=MergeOutcome(form["outcome"]),
            base=form["base_commit_id"],
            source_head=form["source_commit_id"],
            target_head=form["target_commit_id"],
            tables=tuple(_read_table(item) for item in form["tables"]),
            conflicts=tuple(_read_conflict(item) for item in form["merge_conflicts"]),
            policy=form["policy"],
            resolutions=read_resolutions(form["resolutions"]).given,
            # Previews saved before merges could run on Spark do not name an engine.
            engine=form.get("engine", EMBEDDED),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"the saved preview is damaged: {error!r}", hint="make it again") from error


def _read_table(form: Mapping[str, Any]) -> TableCounts:
    from omnigraph.core.tables import TableCounts

    numbers = (form["inserted"], form["updated"], form["deleted"])
    return TableCounts(form["table_key"], *numbers, adopted=form["adopted"], conflicts=form["conflicts"])


def _read_conflict(form: Mapping[str, Any]) -> MergeConflict:
    return MergeConflict(
        form["table_key"],
        form["entity_id"],
        ConflictKind(form["kind"]),
        form["property"],
        form["base"],
        form["source"],
        form["target"],
        form["message"],
    )


def revert_json(result: RevertResult) -> dict[str, Any]:
    """A revert; ``commit`` is null if nothing of the reverted commits was left."""
    return {
        "branch": result.branch,
        "outcome": result.outcome,
        "reverted_commit_ids": list(result.reverted),
        "tables": tables_json(result.tables),
        "actor_id": result.actor,
        "commit": optional_commit_json(result.commit),
    }


def revert_preview_json(preview: RevertPreview) -> dict[str, Any]:
    """A revert preview. In its conflicts, source is the state before the reverted commits and target the head."""
    return {
        "branch": preview.branch,
        "outcome": preview.outcome,
        "head_commit_id": preview.head,
        "reverted_commit_ids": list(preview.reverted),
        "tables": tables_json(preview.tables),
        "merge_conflicts": [conflict_json(conflict) for conflict in preview.conflicts],
    }
