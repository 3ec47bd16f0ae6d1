"""``omnigraph diff``: what differs between two moments of a graph."""

from __future__ import annotations

import click

from omnigraph.cli.addresses import Address, reads_graph
from omnigraph.cli.change_options import chooses_changes, say_changes
from omnigraph.cli.completion import branch_names
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.options import json_option
from omnigraph.cli.output import say, say_json
from omnigraph.cli.tables import aligned

SHOWN_CHANGES = 100
"""Changes that people are shown if they do not say how many."""


@click.command("diff")
@click.argument("before", metavar="FROM", shell_complete=branch_names)
@click.argument("after", metavar="[TO]", default="main", shell_complete=branch_names)
@chooses_changes
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show at most so many changes.")
@click.option("--summary", is_flag=True, help="Only the counts.")
@reads_graph
@json_option
def command(
    address: Address,
    before: str,
    after: str,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    limit: int | None,
    summary: bool,
    as_json: bool,
) -> int:
    """Show what differs between two branches, commits or times.

    FROM and TO are branches, commits, or times on main; TO is main if not given. Counts come first, then the changes:
    `+` inserted, `~` updated with the values before and after, `-` deleted.
    """
    graph = address.open()
    diff = graph.diff(before, after, kind=kinds, type=types, op=ops)
    if as_json:
        say_json({"uri": graph.uri, **diff.to_json(limit, summary=summary)})
        return OK
    if not diff:
        say("no differences")
        return OK
    rows = [(key, item.inserted, item.updated, item.deleted) for key, item in diff.counts.items()]
    say(aligned(("table", "inserted", "updated", "deleted"), rows))
    if summary:
        return OK
    say()
    shown = limit or SHOWN_CHANGES
    say_changes(diff.changes(shown))
    if len(diff) > shown:
        say(f"... {len(diff) - shown:,} more; --limit shows more of them, --summary only the counts")
    return OK
