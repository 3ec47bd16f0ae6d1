"""``omnigraph mcp``: tools for an agent on standard input and output."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from omnigraph.cli.args.addresses import Address, uri_argument, writes_graph
from omnigraph.cli.args.options import branch_option
from omnigraph.cli.exit_codes import OK


@click.command("mcp")
@uri_argument
@writes_graph
@branch_option
@click.option("--allow-writes", is_flag=True, help="Offer tools that write, on a branch for each task.")
@click.option(
    "--allow-main", is_flag=True, help="Let finished tasks be merged into the branch, where policy allows it."
)
@click.option(
    "--tasks",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Maximum number of open tasks of one actor.",
)
@click.option(
    "--queries",
    type=click.Path(exists=True, path_type=Path),
    help="Stored queries to offer as tools: a .gq file, or a directory of them.",
)
def command(
    address: Address,
    actor: str | None,
    branch: str,
    allow_writes: bool,
    allow_main: bool,
    tasks: int,
    queries: Path | None,
) -> int:
    """Serve tools for agents over the Model Context Protocol.

    Without --allow-writes the tools only read. With it, an agent works on a branch of its own, which a person reviews
    and merges; --allow-main lets finish_task merge. For a graph behind a server, the tools are those of the server,
    which alone decides about writes and merges.
    """
    try:
        from omnigraph.mcp.session import Settings
        from omnigraph.mcp.stdio import new_session, serve
    except ImportError as error:
        raise click.UsageError(f"the tools need {error.name}; install it with: pip install 'omnigraph[mcp]'") from error
    from omnigraph import __version__
    from omnigraph.server.serving.opening import checked_queries, query_texts

    if allow_main and not allow_writes:
        raise click.UsageError("--allow-main needs --allow-writes")
    if address.is_behind_server:
        _serve_remote(address.uri, __version__)
        return OK
    opened = address.open()
    graph = opened if actor is None else opened.acting_as(actor)
    stored = checked_queries(graph, query_texts(queries)) if queries is not None else {}
    settings = Settings(allow_writes, allow_main, branch, tasks)
    serve(new_session(graph, settings, stored), __version__)
    return OK


def _serve_remote(uri: str, version: str) -> None:
    """Pass requests on to the server of a graph."""
    context = click.get_current_context()
    for name in ("branch", "allow_writes", "allow_main", "tasks", "queries"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{option} has no effect on a graph behind a server: its operator decides")
    from omnigraph.mcp.bridge import serve_remote

    serve_remote(uri, version)
