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
    snapshot = graph.snapshot(branch, at=at)
    if chosen == "json":
        say_json(with_uri(graph.uri, snapshot_json(snapshot)))
        return OK
    if chosen == "table":
        say(f"branch {snapshot.branch}, commit {snapshot.commit_id}")
        say()
    tables = snapshot.manifest.tables
    rows = [
        (*reversed(key.split(":", 1)), count, tables[key].table_version)
        for key, count in sorted(snapshot.counts().items())
    ]
    columns = {"type": str, "kind": str, "entities": int, "version": int}
    branch_read = snapshot.branch if at is None else None
    show_list("snapshot", columns, rows, chosen, branch=branch_read, commit_id=snapshot.commit_id)
    return OK
