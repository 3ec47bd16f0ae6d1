"""Options that several commands share, so that they are spelled and explained the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from omnigraph.cli.args.completion import branch_names, type_names
from omnigraph.engine.engine_choice import ENGINES

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, errors included.")

quiet_option = click.option(
    "--quiet", "-q", is_flag=True, help="Do not name the graph that is written to, and show no progress."
)

yes_option = click.option("--yes", "-y", is_flag=True, help="Skip the confirmation before data is lost.")

dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done and change nothing.")

stats_option = click.option(
    "--stats", is_flag=True, help="Print rows, time and reads of every operator on standard error."
)

branch_option = click.option(
    "--branch", metavar="BRANCH", default="main", shell_complete=branch_names, help="Branch. [default: main]"
)

base_option = click.option(
    "--from",
    "base",
    metavar="BRANCH",
    shell_complete=branch_names,
    help="If the branch does not exist, create it from this one.",
)

read_branch_option = click.option(
    "--branch", metavar="BRANCH", shell_complete=branch_names, help="Branch. [default: main]"
)

types_option = click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    shell_complete=type_names,
    help="Only this type; may be repeated. [default: all types]",
)

message_option = click.option("--message", metavar="TEXT", help="Commit message.")

idempotency_key_option = click.option(
    "--idempotency-key",
    metavar="KEY",
    help="Make the write idempotent: a retry with the same key returns the first commit.",
)

at_option = click.option(
    "--at",
    metavar="MOMENT",
    help="Read at a commit (or its first characters), a time such as 2026-01-31T12:00:00Z, main~2, HEAD~1 or "
    "main@{yesterday}. [default: the branch head]",
)


def engine_option(work: str) -> Callable[[Any], Any]:
    """``--engine`` of a command whose work Spark can do."""
    explained = f"Engine that {work}: this process (embedded), Spark, or chosen by size (auto). [default: {ENGINES[0]}]"
    return click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], help=explained)
