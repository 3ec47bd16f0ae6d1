"""``omnigraph ui``: a server on loopback for one person, with its page in the browser."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Mapping
from pathlib import Path

import click

from omnigraph.cli.args.addresses import storage_options_option
from omnigraph.cli.commands.serve import graph_name
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.logs import log_to_stderr
from omnigraph.cli.show.output import say


@click.command("ui")
@click.argument("graphs", nargs=-1, required=True, metavar="[NAME=]GRAPH...")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Port on loopback. [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening the browser.")
@click.option(
    "--queries",
    type=click.Path(exists=True, path_type=Path),
    help="Stored queries of a single graph: a .gq file, or a directory of them.",
)
@storage_options_option
def command(
    graphs: tuple[str, ...], port: int, no_browser: bool, queries: Path | None, storage_options: Mapping[str, str]
) -> int:
    """Open the page of graphs in the browser.

    A server runs on loopback until it is interrupted. Its token is made for this run, and the page receives it in the
    fragment of the address, which browsers do not send. Tokens and policies of the environment are not used: the
    caller can read and write the files of the graph anyway.
    """
    try:
        from omnigraph.server import boot
        from omnigraph.server.auth.sources import TokenSources
        from omnigraph.server.serving.development import AddressSource
        from omnigraph.server.serving.opening import GraphAddress
    except ImportError as error:
        raise click.UsageError(
            f"the page needs {error.name}; install it with: pip install 'omnigraph[server]'"
        ) from error
    if queries is not None and len(graphs) != 1:
        raise click.UsageError("--queries belongs to a single graph")
    log_to_stderr(click.get_current_context(), "omnigraph.server")
    addresses = [GraphAddress(*graph_name(graph), storage_options, queries) for graph in graphs]
    source = AddressSource(addresses, TokenSources())

    def announce(bound: str) -> None:
        address = f"http://{bound}/ui/#token={source.made_token}"
        say(address, to_stderr=not no_browser)
        if not no_browser:
            # Some launchers wait for the browser to end, and the server has not answered yet.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    options = boot.Options(f"127.0.0.1:{port}", is_local=True)
    boot.run(source, options, lambda bound, serving: announce(bound))
    return OK
