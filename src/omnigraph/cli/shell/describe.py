"""Descriptions that the shell prints: types, branches, parameters, commits and changes."""

from __future__ import annotations

from omnigraph.cli.args.change_options import say_changes
from omnigraph.cli.args.row_output import show_list, show_rows
from omnigraph.cli.shell.session import Session
from omnigraph.cli.show.commits import COMMIT_COLUMNS, commit_row, when
from omnigraph.cli.show.machine_formats import compact
from omnigraph.cli.show.output import say
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.schema.ir import PropertyIR
from omnigraph.schema.print import constraint_text

LOG_COMMITS = 10
DIFF_CHANGES = 20


def types(session: Session, argument: str) -> None:
    """The types with their counts; or the properties, constraints and edges of one type."""
    snapshot = session.snapshot()
    if argument:
        for entity in snapshot.entities(argument):
            _describe(session, entity)
        return
    counts = snapshot.counts()
    entities = sorted(snapshot.entities(), key=lambda entity: (isinstance(entity, EdgeType), entity.name))
    rows = [
        (entity.name, entity.table_key.partition(":")[0], counts[entity.table_key], _about(entity))
        for entity in entities
    ]
    show_list("types", {"type": str, "kind": str, "entities": int, "about": str}, rows, session.format)


def _about(entity: Entity) -> str:
    key = f"key {', '.join(entity.key)}" if entity.key else ""
    if isinstance(entity, EdgeType):
        return f"{entity.ends_text}{key and f', {key}'}"
    return key


def _describe(session: Session, entity: Entity) -> None:
    order = session.recent_snapshot().column_order(entity)
    properties = [entity.properties[name] for name in order if name in entity.properties]
    rows = [(item.name, str(item.type), _marks(entity, item)) for item in properties]
    columns = {"property": str, "type": str, "about": str}
    if session.format != "table":
        show_list(entity.name, columns, rows, session.format)
        return
    say(f"{entity.table_key.partition(':')[0]} {entity.name}: {_about(entity)}".rstrip(": "))
    if rows:
        show_list(entity.name, columns, rows, session.format)
    for item in entity.ir.constraints:
        if len(getattr(item, "properties", ())) != 1:
            say(f"  {constraint_text(item)}")
    if isinstance(entity, NodeType):
        for edge in session.recent_snapshot().catalog.edges_of(entity.name):
            say(f"  edge {edge.name}: {edge.ends_text}")


def _marks(entity: Entity, item: PropertyIR) -> str:
    """The annotations of one property, as the schema spells them."""
    is_key = isinstance(entity, NodeType) and entity.key == (item.name,)
    facts = [
        "@key" if is_key else "",
        "@unique" if any(rule.properties == (item.name,) for rule in entity.uniques) else "",
        "@index" if any(rule.properties == (item.name,) for rule in entity.indexes) else "",
        f"@embed({item.embed.source})" if item.embed is not None else "",
        item.description or "",
    ]
    return " ".join(filter(None, facts))


def branches(session: Session) -> None:
    """All branches; the current one is marked."""
    rows = [
        ("*" if item.name == session.branch else "", item.name, item.head, when(item.created_at_us))
        for item in session.graph.branches()
    ]
    show_list("branches", {"used": str, "branch": str, "head": str, "created": str}, rows, session.format)


def parameters(session: Session) -> None:
    """The parameters with their values as JSON."""
    rows = [(name, compact(value)) for name, value in session.parameters.items()]
    if rows or session.format != "table":
        show_list("parameters", {"parameter": str, "value": str}, rows, session.format)
    else:
        say("no parameters are set; \\set NAME VALUE sets one")


def log(session: Session, argument: str) -> None:
    """The newest commits of the branch."""
    if argument and not (argument.isdecimal() and int(argument[:9]) > 0):
        raise UsageError(f"{argument!r} is not a number of commits", hint="\\log 20 lists the newest 20")
    limit = int(argument[:9]) if argument else LOG_COMMITS
    commits = session.graph.commits(session.branch, limit=limit)
    columns = dict.fromkeys(COMMIT_COLUMNS, str)
    show_list("log", columns, [commit_row(commit) for commit in commits], session.format, branch=session.branch)


def diff(session: Session, argument: str) -> None:
    """The changes of the commit that is read, from a moment to it, or between two moments."""
    from omnigraph.engine.listing import listing

    # FROM..TO is the form that other commands take; an end that is left out is the present moment.
    words = argument.split("..", 1) if ".." in argument else argument.split()
    current = session.snapshot()
    match words:
        case []:
            parents = session.graph.commit(current.commit_id).parents
            if not parents:
                raise UsageError("the first commit has nothing to compare with", hint="\\diff FROM compares with FROM")
            found = session.graph.diff(parents[0], current)
        case [before]:
            found = session.graph.diff(session.find(before), current)
        case [before, after]:
            ends = [session.find(name.strip()) if name.strip() else current for name in (before, after)]
            found = session.graph.diff(*ends)
        case _:
            raise UsageError(f"\\diff takes two moments, not {len(words)}", hint="usage: \\diff [FROM [TO]]")
    if session.format != "table":
        show_rows(listing("diff", found.to_arrow(None), commit_id=found.after.commit_id), session.format)
        return
    if not found:
        say("no differences")
        return
    rows = [(key, item.inserted, item.updated, item.deleted) for key, item in found.counts.items()]
    show_list("diff", {"table": str, "inserted": int, "updated": int, "deleted": int}, rows, session.format)
    say()
    say_changes(found.changes(DIFF_CHANGES))
    if len(found) > DIFF_CHANGES:
        say(f"... {len(found) - DIFF_CHANGES:,} more; \\o ndjson shows all")
