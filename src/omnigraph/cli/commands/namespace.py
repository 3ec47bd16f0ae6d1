"""``omnigraph namespace serve``: the tables of graphs for Lance clients over REST."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from omnigraph.cli.args.addresses import storage_options_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import say


@click.group("namespace")
def command() -> None:
    """Serve the tables of graphs to Lance clients."""


@command.command("serve")
@click.argument("graphs", nargs=-1, required=True, metavar="[NAME=]GRAPH...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=4099, show_default=True, help="Port; 0 takes a free one."
)
@storage_options_option
def serve(graphs: tuple[str, ...], host: str, port: int, storage_options: Mapping[str, str]) -> int:
    """Serve graphs as a Lance namespace over REST.

    Clients open the table [branch, type]; with several graphs, NAME=GRAPH, [name, branch, type]. There is no
    authentication: listen on loopback, or behind a proxy that has it.
    """
    try:
        from omnigraph.namespace import OmnigraphNamespace
        from omnigraph.server.namespace import serve_namespace
    except ImportError as error:
        raise click.UsageError(
            f"serving needs {error.name}; install it with: pip install 'omnigraph[namespace,server]'"
        ) from error
    properties: dict[str, Any] = {f"storage.{name}": value for name, value in storage_options.items()}
    named = dict(_named(graph) for graph in graphs)
    if len(named) < len(graphs):
        raise click.UsageError("two graphs have the same name; name them: NAME=GRAPH")
    is_single = len(graphs) == 1 and "=" not in graphs[0]
    namespace = (
        OmnigraphNamespace(graphs[0], **properties) if is_single else OmnigraphNamespace(graphs=named, **properties)
    )
    serve_namespace(namespace, host, port, lambda address: say(f"serving {namespace.namespace_id()} on {address}"))
    return OK


def _named(graph: str) -> tuple[str, str]:
    name, sign, uri = graph.partition("=")
    return (name, uri) if sign else (graph.rstrip("/").rpartition("/")[2], graph)
