"""``omnigraph serve``: graphs over HTTP, by address or from a cluster. ``omnigraph-server`` is the same command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph import __version__
from omnigraph.cli.args.addresses import storage_options_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.logs import log_to_stderr
from omnigraph.cli.show.output import say

if TYPE_CHECKING:
    from omnigraph.server.serving.graphs import Serving


@click.command("serve")
@click.argument("graphs", nargs=-1, metavar="[NAME=]GRAPH...")
@click.option(
    "--bind", metavar="HOST:PORT", help="Address to listen on; port 0 takes a free one. [default: 127.0.0.1:8080]"
)
@click.option(
    "--cluster",
    metavar="DIR|URI",
    help="Serve the graphs of a cluster: the directory of its configuration, or the root of its storage.",
)
@click.option("--unauthenticated", is_flag=True, help="Serve everyone who can connect, without tokens.")
@click.option(
    "--require-all-graphs",
    is_flag=True,
    help="With --cluster: fail if one of its graphs cannot be served. [default: leave it out]",
)
@click.option("--watch", is_flag=True, help="With --cluster: reload when the cluster was applied, without SIGHUP.")
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Policy bundle of the named graphs.",
)
@click.option(
    "--queries",
    type=click.Path(exists=True, path_type=Path),
    help="Stored queries of a single graph: a .gq file, or a directory of them.",
)
@click.option(
    "--query-timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time limit of a query.",
)
@click.option(
    "--readers",
    type=click.IntRange(min=0),
    metavar="N",
    help="Reader processes that run queries; 0 runs them in the server itself. "
    "[default: 0 below three cores, otherwise the cores but one]",
)
@click.option(
    "--metrics-bind",
    metavar="HOST:PORT",
    help="Serve the metrics on an address of their own, without tokens. [default: only /metrics, with a token]",
)
@click.option(
    "--mcp",
    type=click.Choice(["off", "read", "write", "merge"]),
    default="read",
    show_default=True,
    help="Tools for agents at /graphs/ID/mcp: write gives each task a branch, merge also merges it where allowed.",
)
@click.option("--page/--no-page", default=True, show_default=True, help="Serve the page for browsers at /ui/.")
@storage_options_option
def command(
    graphs: tuple[str, ...],
    bind: str | None,
    cluster: str | None,
    unauthenticated: bool,
    require_all_graphs: bool,
    watch: bool,
    policy: Path | None,
    queries: Path | None,
    query_timeout: float,
    readers: int | None,
    metrics_bind: str | None,
    mcp: str,
    page: bool,
    storage_options: Mapping[str, str],
) -> int:
    """Serve graphs over HTTP.

    Graphs are named by address, or as NAME=GRAPH; without a name, the last part of the address is the id of the graph.
    If no tokens are configured, a token is made and printed, unless --unauthenticated is given. With --cluster, the
    graphs, stored queries and policies that were applied last are served. SIGHUP reloads tokens, policies and stored
    queries, and with --watch the server does so itself; SIGTERM stops it after the requests that run.
    """
    try:
        from omnigraph.server import boot
        from omnigraph.server.agents import agent_tools
        from omnigraph.server.auth.sources import TokenSources
        from omnigraph.server.serving.cluster import ClusterSource
        from omnigraph.server.serving.development import AddressSource
        from omnigraph.server.serving.opening import GraphAddress
    except ImportError as error:
        raise click.UsageError(
            f"serving needs {error.name}; install it with: pip install 'omnigraph[server]'"
        ) from error
    environment = os.environ
    flag = unauthenticated or boot.is_set(environment.get(boot.UNAUTHENTICATED_VARIABLE))
    tokens = TokenSources.from_environment()
    address = bind or environment.get(boot.BIND_VARIABLE) or boot.DEFAULT_BIND
    options = boot.Options(address, metrics_bind, readers, agent_tools(mcp, __version__), page)
    log_to_stderr(click.get_current_context(), "omnigraph.server")
    place = cluster or (None if graphs else environment.get(boot.CLUSTER_VARIABLE))
    if place:
        _refuse(graphs=graphs, queries=queries, policy=policy)
        strict = require_all_graphs or boot.is_set(environment.get(boot.REQUIRE_ALL_VARIABLE))
        declared = ClusterSource(place, tokens, flag, strict, storage_options, query_timeout)
        boot.run(declared, options, _announce, declared if watch else None)
        return OK
    if watch:
        raise click.UsageError("--watch belongs to --cluster")
    if queries is not None and len(graphs) != 1:
        raise click.UsageError("--queries belongs to a single graph")
    addresses = [GraphAddress(*graph_name(graph), storage_options, queries) for graph in graphs]
    source = AddressSource(addresses, tokens, flag, query_timeout, policy)
    boot.run(source, options, lambda bound, serving: _announce(bound, serving, source.made_token))
    return OK


def _refuse(**given: object) -> None:
    """Refuse what a cluster says itself."""
    for name, value in given.items():
        if value:
            raise click.UsageError(f"a cluster says itself which {name} it has; leave them out")


def graph_name(graph: str) -> tuple[str, str]:
    """The id and the address of a graph: ``NAME=GRAPH``, or the last part of the address without its suffix."""
    name, sign, uri = graph.partition("=")
    if sign and "/" not in name:
        return name, uri
    return graph.rstrip("/").rpartition("/")[2].removesuffix(".omni"), graph


def _announce(bound: str, serving: Serving, token: str | None = None) -> None:
    say(f"OMNIGRAPH_LISTEN_ADDR={bound}")
    # Programs that started the server wait for this line, also where their end is a pipe.
    sys.stdout.flush()
    for name in sorted(serving.graphs):
        say(f"serving {name} on http://{bound}/graphs/{name}", to_stderr=True)
    if token is not None:
        say(f"token: {token}", to_stderr=True)
    elif serving.authenticator.is_open:
        say("without authentication: everyone who can connect may read and write", to_stderr=True)
