"""The parts of SQL that a statement may use: the tables of the graph, and functions that only compute.

DuckDB's settings close files, networks and extensions. They leave functions that show paths and settings of the
machine, wait, run other statements, or write logs and profiles; every release brings more of them. So table functions
are allowed by name, and the few scalar functions of that kind are refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import Hint, InputError

if TYPE_CHECKING:
    import duckdb

TABLE_FUNCTIONS: Final = frozenset({"range", "generate_series", "unnest", "repeat", "json_each", "json_tree"})
"""Table functions that read nothing but their arguments."""

REFUSED_FUNCTIONS: Final = frozenset(
    {
        *("current_setting", "getvariable", "version", "current_connection_id", "current_query"),
        *("pg_sleep", "sleep_ms", "write_log", "nextval", "currval"),
    }
)
"""Scalar functions that show something of the machine, wait, or write."""

SHOWN: Final = frozenset({"", '"tables"'})
"""Targets of ``show``; the empty one is a ``describe`` or ``summarize`` of a table or query."""

SYSTEM_PREFIXES: Final = ("duckdb_", "pg_", "pragma_", "sqlite_")
"""Beginnings of the names of DuckDB's own views."""

READ_ONLY_HINT: Final = Hint(
    "SQL reads the tables of the graph; graph.mutate and graph.load change it",
    "SQL reads the tables of the graph; omnigraph mutate and omnigraph load change it",
)


def check_statement(connection: duckdb.DuckDBPyConnection, text: str, tables: Collection[str]) -> None:
    """Refuse a select statement that uses anything but these tables and harmless functions; raises InputError."""
    # All rows are fetched: an unfinished result would block the statement itself.
    ((serialized,),) = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchall()
    form = json.loads(serialized)
    if form.get("error"):
        raise InputError(f"the statement cannot be checked: {form.get('error_message')}", hint=READ_ONLY_HINT)
    nodes = list(_nodes(form["statements"]))
    known = {name.lower() for name in tables} | {name.lower() for node in nodes for name in _common_tables(node)}
    for node in nodes:
        if node.get("type") == "BASE_TABLE" and not _is_table(node, known):
            raise _no_table(node, tables)
        refused = _refused(node)
        if refused is not None:
            raise InputError(f"the statement may not use {refused}", hint=READ_ONLY_HINT)


def _is_table(node: Mapping[str, Any], known: Collection[str]) -> bool:
    """True for a table of the graph or of a ``with`` clause. Those have no schema, unlike tables of the system."""
    return node["table_name"].lower() in known and not (node["schema_name"] or node["catalog_name"])


def _no_table(node: Mapping[str, Any], tables: Collection[str]) -> InputError:
    name = ".".join(part for part in (node["catalog_name"], node["schema_name"], node["table_name"]) if part)
    shown = ", ".join(sorted(tables)) or "none"
    return InputError(
        f"the graph has no table {name!r}", hint=did_you_mean(name, sorted(tables)) or f"its tables are {shown}"
    )


def _refused(node: Mapping[str, Any]) -> str | None:
    """The name of a part that a statement may not use."""
    match node:
        case {"type": "TABLE_FUNCTION", "function": {"function_name": str(name)}}:
            return None if name.lower() in TABLE_FUNCTIONS else f"the table function {name!r}"
        case {"type": "SHOW_REF", "table_name": str(name)}:
            return None if name in SHOWN else f"show {name}"
        case {"class": "FUNCTION", "function_name": str(name)}:
            return f"the function {name!r}" if name.lower() in REFUSED_FUNCTIONS else None
        case _:
            return None


def _common_tables(node: Mapping[str, Any]) -> Iterator[str]:
    """The names that a ``with`` clause declares."""
    match node.get("cte_map"):
        case {"map": list(entries)}:
            # A name of the system stays refused outside of its clause, too.
            yield from (entry["key"] for entry in entries if not entry["key"].lower().startswith(SYSTEM_PREFIXES))


def _nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object of a serialized statement. The walk has no recursion: statements nest deeper than Python's stack."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
