"""Results of the engine from their JSON forms, the inverse of ``omnigraph.wire``.

A server does not show how a commit is stored, so the manifest, the digest of the schema, the files and the locations of
tables are empty here. Members that Omnigraph 0.10 does not send get neutral values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from omnigraph.core.commit import CommitKind, GraphCommit, ManifestPlace, TableChange
from omnigraph.core.tables import TableCounts
from omnigraph.engine.history.commit_changes import ChangeBlock
from omnigraph.engine.merge.result import MergeResult
from omnigraph.engine.query.explanation import TableFacts
from omnigraph.engine.results import BranchInfo, LoadResult, MutationResult
from omnigraph.engine.revert.result import RevertPreview, RevertResult
from omnigraph.engine.tabular import ReturnedRows
from omnigraph.history.changes import Change, Image, Op
from omnigraph.history.conflicts import ConflictKind, MergeConflict
from omnigraph.manifest.layout import MAIN
from omnigraph.write.merge.decide import MergeOutcome

Form = Mapping[str, Any]

_UNKNOWN_KIND: Final = CommitKind.MUTATION
"""The kind of a commit whose server does not say it."""


def read_commit(form: Form) -> GraphCommit:
    """A commit."""
    parents = (form.get("parent_commit_id"), form.get("merged_parent_commit_id"))
    return GraphCommit(
        id=form["graph_commit_id"],
        parents=tuple(parent for parent in parents if parent is not None),
        branch=form.get("graph_branch") or MAIN,
        kind=CommitKind(form["kind"]) if "kind" in form else _UNKNOWN_KIND,
        created_at_us=form["created_at"],
        manifest=ManifestPlace("", 0, form["graph_manifest_version"]),
        schema_digest="",
        actor=form.get("actor_id"),
        message=form.get("message"),
        idempotency_key=form.get("idempotency_key"),
        tables=tuple(_table_change(item) for item in form.get("tables", ())),
        provenance=dict(form.get("provenance") or {}),
    )


def _table_change(form: Form) -> TableChange:
    version = form.get("table_version")
    after = None if version is None else (0, version, 0)
    return TableChange(form["table_key"], "", None, after, form["inserted"], form["updated"], form["deleted"])


def optional_commit(form: Form) -> GraphCommit | None:
    """The commit of a write; None if nothing was changed."""
    return None if form.get("commit") is None else read_commit(form["commit"])


def read_branch(form: Form) -> BranchInfo:
    """A branch and its head."""
    return BranchInfo(
        form["name"],
        form["head"],
        form["created_at"],
        form.get("parent_commit"),
        form.get("actor_id"),
        form.get("ahead"),
        form.get("behind"),
    )


def read_mutation(form: Form) -> MutationResult:
    """A mutation. The columns of ``returning`` have the types of their JSON values."""
    returned = None
    if form.get("columns") is not None:
        returned = ReturnedRows(form["query_name"], rows_table(form["columns"], form.get("rows") or ()))
    return MutationResult(
        form["branch"],
        form["query_name"],
        form["affected_nodes"],
        form["affected_edges"],
        form.get("actor_id"),
        optional_commit(form),
        returned=returned,
    )


def rows_table(columns: Iterable[str], rows: Iterable[Form]) -> pa.Table:
    """Rows of JSON values as a table."""
    known = list(rows)
    return pa.table({name: pa.array([row.get(name) for row in known]) for name in columns})


def read_load(form: Form) -> LoadResult:
    """A load. One that an earlier commit of its key answered has read nothing."""
    commit = read_commit(form["commit"])
    is_repeated = not form["total_entities"] and any(
        change.inserted or change.updated or change.deleted for change in commit.tables
    )
    return LoadResult(
        form["branch"],
        form["mode"],
        {item["name"]: item["entities_loaded"] for item in form["nodes"]},
        {item["name"]: item["entities_loaded"] for item in form["edges"]},
        form.get("actor_id"),
        commit,
        form.get("base_branch"),
        form["branch_created"],
        repeated=is_repeated,
        cleared=form.get("cleared", 0),
        remarks=tuple(form.get("remarks", ())),
    )


def read_tables(forms: Iterable[Form]) -> tuple[TableCounts, ...]:
    """The counts of the tables that a merge or revert changes."""
    return tuple(
        TableCounts(
            form["table_key"],
            form["inserted"],
            form["updated"],
            form["deleted"],
            adopted=form["adopted"],
            conflicts=form["conflicts"],
        )
        for form in forms
    )


def read_merge(form: Form) -> MergeResult:
    """A merge."""
    return MergeResult(
        form["source"],
        form["target"],
        MergeOutcome(form["outcome"]),
        form.get("base_commit_id"),
        form.get("source_commit_id", ""),
        read_tables(form.get("tables", ())),
        form.get("actor_id"),
        optional_commit(form),
        engine=form.get("engine", "embedded"),
    )


def read_revert(form: Form) -> RevertResult:
    """A revert."""
    return RevertResult(
        form["branch"],
        tuple(form["reverted_commit_ids"]),
        read_tables(form["tables"]),
        form.get("actor_id"),
        optional_commit(form),
    )


def read_revert_preview(form: Form) -> RevertPreview:
    """The preview of a revert."""
    conflicts = tuple(
        MergeConflict(
            item["table_key"],
            item.get("entity_id"),
            ConflictKind(item["kind"]),
            item.get("property"),
            item.get("base"),
            item.get("source"),
            item.get("target"),
            item["message"],
        )
        for item in form["merge_conflicts"]
    )
    reverted = tuple(form["reverted_commit_ids"])
    return RevertPreview(form["branch"], form["head_commit_id"], reverted, read_tables(form["tables"]), conflicts)


def read_change(form: Form) -> Change:
    """One change of one entity."""
    return Change(
        form["kind"],
        form["type"]["id"],
        form["type"]["name"],
        form["id"],
        Op(form["op"]),
        _image(form.get("before")),
        _image(form.get("after")),
        tuple(form.get("changed", ())),
    )


def _image(form: Form | None) -> Image | None:
    if form is None:
        return None
    ends: Form = form.get("endpoints") or {}
    return Image(form["properties"], ends.get("from"), ends.get("to"))


def read_block(form: Form) -> ChangeBlock:
    """The changes of one commit, whose cause names the commit, its parents, its author and its time."""
    cause = form["cause"]
    commit = GraphCommit(
        id=cause["graph_commit_id"],
        parents=tuple(
            cause[name] for name in ("parent_commit_id", "merged_parent_commit_id") if cause.get(name) is not None
        ),
        branch=cause["authored_branch"],
        kind=_kind_of_cause(cause),
        created_at_us=cause["authored_at"],
        manifest=ManifestPlace("", 0, 0),
        schema_digest="",
        actor=cause.get("actor_id"),
        message=cause.get("message"),
    )
    return ChangeBlock(commit, tuple(read_change(item) for item in form["changes"]))


def _kind_of_cause(form: Form) -> CommitKind:
    if "kind" in form:
        return CommitKind(form["kind"])
    return CommitKind.MERGE if form.get("merged_parent_commit_id") else _UNKNOWN_KIND


def read_facts(form: Form) -> TableFacts:
    """The facts of a table that a plan uses."""
    return TableFacts(
        form["table"],
        form["rows"],
        form["deleted_rows"],
        form["fragments"],
        tuple((item["index"], item["coverage"]) for item in form["indexes"]),
        form.get("traversal"),
    )
