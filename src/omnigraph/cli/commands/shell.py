"""``omnigraph shell``: an interactive prompt over one graph."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.args.addresses import Address, uri_argument, writes_graph
from omnigraph.cli.args.options import branch_option, json_option
from omnigraph.cli.args.row_output import TEXT_FORMATS
from omnigraph.cli.args.settings import settings


@click.command("shell")
@uri_argument
@branch_option
@click.option("--at", metavar="COMMIT|TIME", help="Start at a commit or time. [default: the branch head]")
@click.option("--read-only", is_flag=True, help="Refuse mutations and new branches.")
@click.option("--keep-going", is_flag=True, help="Run a script to its end; without it the first error ends it.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(TEXT_FORMATS),
    help="Output format of rows. [default: the operator's settings, then table]",
)
@writes_graph
@json_option
def command(
    address: Address,
    branch: str,
    at: str | None,
    read_only: bool,
    keep_going: bool,
    format_: str | None,
    actor: str | None,
    as_json: bool,
) -> int:
    """Run queries, mutations and SQL interactively or from a pipe.

    On a terminal it has line editing, history and completion; `\\help` lists its commands. A script on standard input
    runs without prompts, and the exit code is that of its first error.
    """
    if as_json and format_ not in (None, "json"):
        raise click.UsageError("pass either --json or --format, not both")
    from omnigraph.cli.shell.session import Session
    from omnigraph.cli.shell.shell import Shell
    from omnigraph.embed import from_environment

    session = Session(
        address.open(from_environment()),
        format="json" if as_json else format_ or settings().output or "table",
        is_read_only=read_only,
        actor=actor,
    )
    session.switch(branch)
    session.travel(at)
    if sys.stdin.isatty() and sys.stdout.isatty():
        from omnigraph.cli.shell.terminal import run_terminal

        return run_terminal(Shell(session, is_interactive=True))
    from omnigraph.cli.shell.script import run_pipe

    return run_pipe(Shell(session, is_json=as_json, keeps_going=keep_going), sys.stdin.buffer)
