"""``omnigraph graphs``: the graphs of a server."""

from __future__ import annotations

import click

from omnigraph.cli.args.addresses import PROFILE_OPTION, SERVER_OPTION
from omnigraph.cli.args.options import json_option
from omnigraph.cli.args.row_output import chosen_format, format_option, show_list
from omnigraph.cli.args.scopes import GraphWords, chosen_server
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import say, say_json
from omnigraph.wire.graphs import graph_list_json


@click.group("graphs", cls=CommandGroup)
def command() -> None:
    """List the graphs of a server."""


@command.command("list")
@SERVER_OPTION
@PROFILE_OPTION
@format_option
@json_option
def list_command(server: str | None, profile: str | None, format_: str | None, as_json: bool) -> int:
    """List the graphs of a server that the policy lets the actor of the token list."""
    chosen = chosen_format(format_, as_json=as_json)
    url = chosen_server(GraphWords(server=server, profile=profile))
    if url is None:
        raise click.UsageError("no server is given: pass --server, or name one in the settings")
    from omnigraph.client.opening import connect_server

    remote = connect_server(url)
    click.get_current_context().call_on_close(remote.close)
    entries = remote.graphs()
    if chosen == "json":
        say_json(graph_list_json({entry.graph_id: entry.uri for entry in entries}))
    elif not entries and chosen == "table":
        say("no graphs")
    else:
        rows = [(entry.graph_id, remote.graph_uri(entry.graph_id), entry.uri) for entry in entries]
        show_list("graphs list", {"graph": str, "address": str, "files": str}, rows, chosen)
    return OK
