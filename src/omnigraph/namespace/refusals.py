"""Operations of the interface that a graph does not have, with the reason and the way that exists."""

from __future__ import annotations

from typing import Any, Final

from lance_namespace import LanceNamespace, UnsupportedOperationError

_SCHEMA: Final = "types are declared by the schema; use graph.apply_schema"
_ROWS: Final = "rows are written as graph commits; use graph.load, graph.mutate or batch_commit_tables"
_INDEX: Final = "indexes follow the schema; use graph.optimize"
_TAGS: Final = "a commit names a state of all tables; use the ref @<commit>"
_BRANCHES: Final = "branches hold all tables; use graph.create_branch, graph.branches and graph.delete_branch"

REASONS: Final[dict[str, str]] = {
    "create_namespace": _BRANCHES,
    "drop_namespace": _BRANCHES,
    "register_table": _SCHEMA,
    "drop_table": _SCHEMA,
    "create_table": _SCHEMA,
    "create_empty_table": _SCHEMA,
    "rename_table": _SCHEMA,
    "update_table_schema_metadata": _SCHEMA,
    "update_field_metadata": _SCHEMA,
    "alter_table_add_columns": _SCHEMA,
    "alter_table_alter_columns": _SCHEMA,
    "alter_table_backfill_columns": _SCHEMA,
    "alter_table_drop_columns": _SCHEMA,
    "insert_into_table": _ROWS,
    "merge_insert_into_table": _ROWS,
    "update_table": _ROWS,
    "delete_from_table": _ROWS,
    "restore_table": "a commit is undone for all tables; use graph.revert",
    "query_table": "a client that opens the table queries it itself; use graph.query for traversals",
    "explain_table_query_plan": "a client that opens the table plans its query itself; use graph.explain",
    "analyze_table_query_plan": "a client that opens the table runs its query itself; use graph.query(stats=True)",
    "create_table_index": _INDEX,
    "create_table_scalar_index": _INDEX,
    "drop_table_index": _INDEX,
    "batch_delete_table_versions": "versions are shared by commits and branches; use graph.cleanup",
    "create_materialized_view": "a graph has no materialized views",
    "refresh_materialized_view": "a graph has no materialized views",
    "list_table_tags": _TAGS,
    "get_table_tag_version": _TAGS,
    "create_table_tag": _TAGS,
    "delete_table_tag": _TAGS,
    "update_table_tag": _TAGS,
    "create_table_branch": _BRANCHES,
    "list_table_branches": _BRANCHES,
    "delete_table_branch": _BRANCHES,
    "alter_transaction": "a commit is final when it is visible; use graph.revert",
}


def refuse_unsupported(namespace: type[LanceNamespace]) -> None:
    """Give a class the refusals as methods."""
    for name, reason in REASONS.items():
        setattr(namespace, name, _refusal(name, reason))


def _refusal(name: str, reason: str) -> Any:
    def refuse(_self: LanceNamespace, *_request: object) -> None:
        raise UnsupportedOperationError(f"{name}: {reason}")

    refuse.__name__ = name
    return refuse
