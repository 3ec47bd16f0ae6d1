"""Time travel options: the head of a branch, a commit, or a time."""

from __future__ import annotations

import click

from omnigraph.cli.args.addresses import Command
from omnigraph.cli.args.options import at_option, read_branch_option

_OPTIONS = (
    read_branch_option,
    at_option,
    click.option("--snapshot", metavar="COMMIT", help="Read at a commit; the same as --at COMMIT."),
)


def reads_moment(command: Command) -> Command:
    """Give a command the options --branch, --at and --snapshot."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen_moment(at: str | None, snapshot: str | None) -> str | None:
    """The commit or time; None is the head of the branch."""
    if at is not None and snapshot is not None:
        raise click.UsageError("pass either --at or --snapshot, not both")
    return at if snapshot is None else snapshot
