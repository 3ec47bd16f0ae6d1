"""``omnigraph diff``: the difference between two snapshots of a graph."""

from __future__ import annotations

import click

from omnigraph.cli.args.addresses import Address, reads_graph
from omnigraph.cli.args.change_options import chooses_changes, say_changes
from omnigraph.cli.args.completion import branch_names
from omnigraph.cli.args.options import json_option
from omnigraph.cli.args.row_output import chosen_format, format_option, show_list, show_rows
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import say, say_json
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.changes import diff_json

SHOWN_CHANGES = 100
"""Default of --limit in the table format."""


@click.command("diff")
@click.argument("before", metavar="FROM", shell_complete=branch_names)
@click.argument("after", metavar="[TO]", required=False, shell_complete=branch_names)
@chooses_changes
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Maximum number of changes. [default: {SHOWN_CHANGES} in tables, else no limit]",
)
@click.option("--summary", is_flag=True, help="Show only the counts.")
@reads_graph
@format_option
@json_option
def command(
    address: Address,
    before: str,
    after: str | None,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    limit: int | None,
    summary: bool,
    format_: str | None,
    as_json: bool,
) -> int:
    """Show the difference between two branches, commits or times.

    FROM and TO are branches, commits, times on main, or forms such as main~2; TO defaults to main. FROM..TO is one
    argument for both. Counts come first, then the changes:
    `+` inserted, `~` updated with the values before and after, `-` deleted.
    """
    chosen = chosen_format(format_, as_json=as_json)
    graph = address.open()
    diff = graph.diff(before, after, kind=kinds, type=types, op=ops)
    if chosen == "json":
        say_json(with_uri(graph.uri, diff_json(diff, limit, summary=summary)))
        return OK
    columns = {"table": str, "inserted": int, "updated": int, "deleted": int}
    rows = [(key, item.inserted, item.updated, item.deleted) for key, item in diff.counts.items()]
    if chosen != "table" and not summary:
        from omnigraph.engine.listing import listing

        show_rows(listing("diff", diff.to_arrow(limit), commit_id=diff.after.commit_id), chosen)
        return OK
    if chosen == "table" and not diff:
        say("no differences")
        return OK
    show_list("diff", columns, rows, chosen, commit_id=diff.after.commit_id)
    if summary:
        return OK
    say()
    shown = limit or SHOWN_CHANGES
    say_changes(diff.changes(shown))
    if len(diff) > shown:
        say(f"... {len(diff) - shown:,} more; --limit shows more of them, --summary only the counts")
    return OK
