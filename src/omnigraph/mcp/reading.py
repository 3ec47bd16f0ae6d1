"""Reading tools: the schema, single queries, history and differences."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from omnigraph.errors import UsageError
from omnigraph.mcp import models
from omnigraph.mcp.answers import Answer
from omnigraph.mcp.budget import fit, shorten, squeeze
from omnigraph.mcp.session import Session
from omnigraph.rows.write.results import result_rows
from omnigraph.schema.catalog import EdgeType, NodeType, all_types, type_named
from omnigraph.wire.changes import change_json
from omnigraph.wire.commits import commit_json

if TYPE_CHECKING:
    from omnigraph.engine.snapshot import Snapshot

DESCRIBE_TOKENS = 2_000
QUERY_TOKENS = 4_000
COLUMNS_TOKENS = 1_000
CHANGES_TOKENS = 4_000
COUNTS_TOKENS = 1_000
LONG_VALUES = "long values are cut; return parts of them, as in substring($p.text, 0, 150) and $p.tags[0:20]"
_CURSOR_DIGITS_MAX = 18


def snapshot_of(session: Session, at: str | None) -> Snapshot:
    """The graph at a moment, or at the head of the branch of the session."""
    return session.graph.moment(session.settings.branch if at is None else at)


def describe_graph(session: Session, given: models.Describe) -> Answer:
    """The types with their counts, largest first; or all properties of one type."""
    snapshot = snapshot_of(session, given.at)
    counts = snapshot.counts()
    if given.type is not None:
        type_ = type_named(all_types(snapshot.catalog), given.type)
        return _described(_detail(snapshot, type_, counts), snapshot.commit_id)
    every = sorted((_heading(type_, counts) for type_ in all_types(snapshot.catalog)), key=lambda form: -form["count"])
    kept = fit(every, DESCRIBE_TOKENS)
    content: dict[str, Any] = {
        "branch": snapshot.branch,
        "nodes": [form for form in kept.items if "from" not in form],
        "edges": [form for form in kept.items if "from" in form],
    }
    cut = [f"{kept.left_out} smaller types are not shown; name one with `type`"] if kept.left_out else []
    return Answer(content, snapshot.commit_id, cut)


def _described(form: dict[str, Any], commit: str) -> Answer:
    """All of one type, as far as it fits."""
    names = [name for name in ("properties", "edges") if name in form]
    cut = []
    for name in names:
        kept = fit(form[name], DESCRIBE_TOKENS // len(names))
        form[name] = kept.items
        if kept.left_out:
            cut.append(f"{kept.left_out} {name} are left out; the resource omnigraph://schema has all of them")
    return Answer(form, commit, cut)


def _heading(type_: NodeType | EdgeType, counts: dict[str, int]) -> dict[str, Any]:
    ends = {end.word: " | ".join(end.types) for end in type_.ends} if isinstance(type_, EdgeType) else {}
    key = {"key": list(type_.key)} if type_.key else {}
    return {
        "type": type_.name,
        **ends,
        "count": counts[type_.table_key],
        **key,
        "properties": ", ".join(f"{name}: {item.type}" for name, item in type_.properties.items()),
    }


def _detail(snapshot: Snapshot, type_: NodeType | EdgeType, counts: dict[str, int]) -> dict[str, Any]:
    form = _heading(type_, counts)
    declared = type_.properties
    form["properties"] = [
        {"name": name, "type": str(declared[name].type), "key": name in type_.key}
        for name in snapshot.column_order(type_)
        if name in declared
    ]
    if isinstance(type_, NodeType):
        form["edges"] = [f"{edge.name}: {edge.ends_text}" for edge in snapshot.catalog.edges_of(type_.name)]
    return form


def query(session: Session, given: models.Query) -> Answer:
    """Run a read. Rows beyond the budget are fetched with the cursor, at the same commit."""
    at, start = _resume(given.cursor) if given.cursor else (given.at, 0)
    return run_query(session, given.text, given.params, given.name, at=at, start=start, rows_max=given.limit)


def run_query(
    session: Session,
    text: str,
    params: dict[str, Any],
    name: str | None,
    *,
    at: str | None = None,
    start: int = 0,
    rows_max: int = 100,
) -> Answer:
    """The rows of a read within the budget, from a row on."""
    # Without a snapshot of the graph, which data rules deny: queries stay inside the part of the actor by themselves.
    moment = session.settings.branch if at is None else at
    result = session.graph.query(text, params, name=name, at=moment, timeout=session.settings.query_seconds_max)
    kept, cut = fit_rows(result_rows(result.table.slice(start, rows_max)))
    columns = fit(shorten(result.columns), COLUMNS_TOKENS)
    if columns.left_out:
        cut.append(f"the names of {columns.left_out} columns are left out")
    shown = start + len(kept)
    content: dict[str, Any] = {
        "query": shorten(result.query_name),
        "columns": columns.items,
        "rows": kept,
        "row_count": len(result),
    }
    if shown < len(result):
        content["next"] = f"{result.commit_id}:{shown}"
        cut.append(f"rows {start} to {shown} of {len(result)}; call again with cursor = `next`")
    return Answer(content, result.commit_id, cut)


def fit_rows(rows: list[dict[str, Any]]) -> tuple[list[Any], list[str]]:
    """The first rows within the budget of a query, and a note if values of them are cut."""
    kept = fit([shorten(row) for row in rows], QUERY_TOKENS)
    return kept.items, [LONG_VALUES] if kept.items != rows[: len(kept.items)] else []


def _resume(cursor: str) -> tuple[str, int]:
    commit, sign, start = cursor.partition(":")
    if not sign or not (start.isascii() and start.isdigit() and len(start) <= _CURSOR_DIGITS_MAX):
        raise UsageError(f"{cursor[:40]!r} is no cursor", hint="pass `next` of an earlier answer of this tool")
    return commit, int(start)


def history(session: Session, given: models.History) -> Answer:
    """The newest commits of a branch, with the counts of their changes."""
    branch = given.branch or session.settings.branch
    filters = {} if given.actor is None else {"actor": given.actor}
    commits = list(islice(session.graph.commits(branch, limit=given.limit + 1, **filters), given.limit + 1))
    shown = [_commit(commit_json(commit)) for commit in commits[: given.limit]]
    kept = fit(shown, QUERY_TOKENS)
    cut = ["older commits exist; raise `limit`"] if len(commits) > len(kept.items) else []
    return Answer({"branch": branch, "commits": kept.items}, commits[0].id if commits else None, cut)


def _commit(form: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": form["graph_commit_id"],
        "kind": form["kind"],
        "actor": form["actor_id"],
        "at_us": form["created_at"],
        "message": shorten(form["message"]),
        "changes": {
            item["table_key"]: f"+{item['inserted']} ~{item['updated']} -{item['deleted']}" for item in form["tables"]
        },
    }


def diff(session: Session, given: models.Diff) -> Answer:
    """The differences between two moments: counts by type, then single changes."""
    found = session.graph.diff(given.before, given.after or session.settings.branch)
    changes = [change_json(change) for change in found.changes(given.limit)]
    kept = fit([shorten(change) for change in changes], CHANGES_TOKENS)
    total = found.total.total
    counts = squeeze({key: str(counts) for key, counts in found.counts.items()}, COUNTS_TOKENS)
    cut = []
    if len(kept.items) < total:
        cut.append(f"{len(kept.items)} of {total} changes are shown; raise `limit` or compare fewer commits")
    if kept.items != changes[: len(kept.items)]:
        cut.append("long values are cut; get shows more of one node")
    return Answer({"counts": counts, "changes": kept.items}, None, cut)
