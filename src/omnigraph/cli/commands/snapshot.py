"""``omnigraph snapshot``: the tables of a graph at one commit."""

from __future__ import annotations

import click

from omnigraph.cli.args.addresses import Address, reads_graph, uri_argument
from omnigraph.cli.args.options import at_option, json_option, read_branch_option
from omnigraph.cli.args.row_output import chosen_format, format_option, show_list
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import say, say_json
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.graphs import snapshot_json


@click.command("snapshot")
@uri_argument
@read_branch_option
@at_option
@reads_graph
@format_option
@json_option
def command(address: Address, branch: str | None, at: str | None, format_: str | None, as_json: bool) -> int:
    """Show the tables of a graph with their versions and counts."""
    chosen = chosen_format(format_, as_json=as_json)
    graph = address.open()
    state = graph.snapshot(branch, at=at).state
    if chosen == "json":
        say_json(with_uri(graph.uri, snapshot_json(state)))
        return OK
    if chosen == "table":
        say(f"branch {state.branch}, commit {state.head}")
        say()
    pins = sorted(state.tables.items())
    rows = [(*reversed(key.split(":", 1)), pin.rows, pin.table_version) for key, pin in pins]
    columns = {"type": str, "kind": str, "entities": int, "version": int}
    show_list("snapshot", columns, rows, chosen, branch=state.branch if at is None else None, commit_id=state.head)
    return OK
