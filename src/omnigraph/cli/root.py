"""The root of the command line: the table of all commands, and the only exit point of a run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

from omnigraph.cli.errors import quiet_when_closed, report
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.lazy import Entry, LazyGroup
from omnigraph.cli.reference_syntax import translated
from omnigraph.cli.show.logs import log_options

_GRAPHS: Final = "Graphs"
_HISTORY: Final = "History"
_LANGUAGES: Final = "Languages"
_SERVERS: Final = "Servers"
_ABOUT: Final = "About"

COMMANDS: Final = {
    "init": Entry(_GRAPHS, "omnigraph.cli.commands.init", "Create a graph from a schema."),
    "import": Entry(
        _GRAPHS,
        "omnigraph.cli.commands.import_",
        "Create a graph from data files: infer their schema and load them.",
    ),
    "load": Entry(_GRAPHS, "omnigraph.cli.commands.load", "Load files as one commit."),
    "documents": Entry(_GRAPHS, "omnigraph.cli.commands.documents", "Load texts as chunks with vectors and links."),
    "query": Entry(
        _GRAPHS, "omnigraph.cli.commands.query", "Run a read query and print its rows.", deprecated=("read",)
    ),
    "sql": Entry(_GRAPHS, "omnigraph.cli.commands.sql", "Run one SQL select over the tables of a graph."),
    "shell": Entry(
        _GRAPHS, "omnigraph.cli.commands.shell", "Run queries, mutations and SQL interactively or from a pipe."
    ),
    "analyze": Entry(_GRAPHS, "omnigraph.cli.commands.analyze", "Run an algorithm over a whole graph."),
    "resolve": Entry(
        _GRAPHS, "omnigraph.cli.commands.resolve", "Find nodes of a type that are the same, and fold them into one."
    ),
    "mutate": Entry(
        _GRAPHS, "omnigraph.cli.commands.mutate", "Insert, upsert, update and delete as one commit.", ("change",)
    ),
    "embed": Entry(_GRAPHS, "omnigraph.cli.commands.embed", "Add embeddings to the nodes of a JSON lines file."),
    "export": Entry(
        _GRAPHS,
        "omnigraph.cli.commands.export",
        "Export a graph as JSON lines, CSV, Parquet, Iceberg or Delta.",
    ),
    "blob": Entry(_GRAPHS, "omnigraph.cli.commands.blob", "Read and describe the values of Blob properties."),
    "snapshot": Entry(
        _GRAPHS, "omnigraph.cli.commands.snapshot", "Show the tables of a graph with their versions and counts."
    ),
    "mirror": Entry(
        _GRAPHS,
        "omnigraph.cli.commands.mirror",
        "Show a branch as ordinary Lance datasets, without a copy.",
    ),
    "mcp": Entry(_GRAPHS, "omnigraph.cli.commands.mcp", "Serve tools for agents over the Model Context Protocol."),
    "serve": Entry(_GRAPHS, "omnigraph.cli.commands.serve", "Serve graphs over HTTP."),
    "ui": Entry(_GRAPHS, "omnigraph.cli.commands.ui", "Open the page of graphs in the browser."),
    "cluster": Entry(
        _GRAPHS,
        "omnigraph.cli.commands.cluster",
        "Plan and apply graphs and policies declared in a directory.",
    ),
    "external": Entry(
        _GRAPHS,
        "omnigraph.cli.commands.external",
        "List and refresh types in tables outside the graph.",
    ),
    "namespace": Entry(_GRAPHS, "omnigraph.cli.commands.namespace", "Serve the tables of graphs to Lance clients."),
    "optimize": Entry(_GRAPHS, "omnigraph.cli.commands.optimize", "Compact files and bring indexes up to date."),
    "cleanup": Entry(_GRAPHS, "omnigraph.cli.commands.cleanup", "Expire old commits and delete unreferenced files."),
    "verify": Entry(
        _GRAPHS, "omnigraph.cli.commands.verify", "Check that no file of the history is missing or damaged."
    ),
    "copy": Entry(
        _GRAPHS, "omnigraph.cli.commands.copy", "Copy a graph to TARGET, a new directory or prefix of a bucket."
    ),
    "backup": Entry(
        _GRAPHS, "omnigraph.cli.commands.backup", "Back up a graph to TARGET, a directory or prefix of a bucket."
    ),
    "restore": Entry(_GRAPHS, "omnigraph.cli.commands.restore", "Restore a graph from BACKUP to GRAPH."),
    "repair": Entry(
        _GRAPHS, "omnigraph.cli.commands.repair", "Quarantine damaged files and restore files that have a copy."
    ),
    "branch": Entry(_HISTORY, "omnigraph.cli.commands.branch", "Create, list, merge, rename and delete branches."),
    "merge": Entry(_HISTORY, "omnigraph.cli.commands.merge", "Preview merges."),
    "commit": Entry(_HISTORY, "omnigraph.cli.commands.commit", "List and show commits, and what they changed."),
    "diff": Entry(
        _HISTORY, "omnigraph.cli.commands.diff", "Show the difference between two branches, commits or times."
    ),
    "changes": Entry(_HISTORY, "omnigraph.cli.commands.changes", "Follow the change feed of a branch."),
    "revert": Entry(_HISTORY, "omnigraph.cli.commands.revert", "Undo commits, as one new commit on top of the head."),
    "lint": Entry(_LANGUAGES, "omnigraph.cli.commands.lint", "Check a schema, and query files against it.", ("check",)),
    "fmt": Entry(_LANGUAGES, "omnigraph.cli.commands.fmt", "Format .pg and .gq files in place."),
    "explain": Entry(_LANGUAGES, "omnigraph.cli.commands.explain", "Show the plan of a query or mutation."),
    "schema": Entry(
        _LANGUAGES, "omnigraph.cli.commands.schema", "Show, infer and change schemas, and plan migrations."
    ),
    "graphs": Entry(_SERVERS, "omnigraph.cli.commands.graphs", "List the graphs of a server."),
    "queries": Entry(_SERVERS, "omnigraph.cli.commands.queries", "List and check stored queries."),
    "alias": Entry(
        _SERVERS, "omnigraph.cli.commands.alias", "Run a stored read of a server under a name of the settings."
    ),
    "login": Entry(_SERVERS, "omnigraph.cli.commands.login", "Store the token of a server."),
    "logout": Entry(_SERVERS, "omnigraph.cli.commands.logout", "Remove the stored token of a server."),
    "policy": Entry(_ABOUT, "omnigraph.cli.commands.policy", "Check, test and explain policy bundles."),
    "demo": Entry(_ABOUT, "omnigraph.cli.commands.demo", "Tour of Omnigraph on a graph of a million entities."),
    "doctor": Entry(_ABOUT, "omnigraph.cli.commands.doctor", "Check this machine and a graph, and give advice."),
    "profile": Entry(_ABOUT, "omnigraph.cli.commands.profile", "Show the profiles of the operator's settings."),
    "version": Entry(_ABOUT, "omnigraph.cli.version", "Show the version of the program and of the storage format."),
}

_HELP = "A typed property graph with branches and merges, stored in Lance tables."
_EPILOG = "`omnigraph COMMAND --help` explains a command. Every command supports --json."


class RootGroup(LazyGroup):
    """The whole program. Commands return their exit code; exceptions are reported here."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with quiet_when_closed():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with quiet_when_closed():
            status = super().invoke(ctx)
            # Python would flush at exit, and report a failure with a traceback and an exit code of its own.
            sys.stdout.flush()
            return status

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        arguments = translated(sys.argv[1:] if args is None else args)
        try:
            status = super().main(arguments, "omnigraph", complete_var, standalone_mode=False, **extra)
        except Exception as error:
            status = _reported(error, arguments)
        sys.exit(status if isinstance(status, int) else OK)


def _reported(error: Exception, arguments: Sequence[str]) -> int:
    try:
        with quiet_when_closed():
            return report(error, arguments, as_json=_wants_json(arguments))
    except click.exceptions.Exit as closed:
        return closed.exit_code


def _wants_json(arguments: Sequence[str]) -> bool:
    # Read from the arguments: an invalid option fails before there is a context with parsed options.
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from omnigraph.cli.version import version_text

        click.echo(version_text())
        ctx.exit()


root = RootGroup("omnigraph", COMMANDS, help=_HELP, epilog=_EPILOG)
root.context_settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
root.params += [
    click.Option(
        ["-V", "--version"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_show_version,
        help="Show the version and exit.",
    ),
    *log_options(),
]
