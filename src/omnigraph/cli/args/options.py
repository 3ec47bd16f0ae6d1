"""Options that several commands share, so that they are spelled and explained the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from omnigraph.cli.args.completion import branch_names, type_names
from omnigraph.cli.args.settings import usual_actor
from omnigraph.engine.engine_choice import ENGINES

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs, errors included.")

quiet_option = click.option("--quiet", "-q", is_flag=True, help="Neither say what is written to nor show progress.")

yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask before something is lost.")

dry_run_option = click.option("--dry-run", is_flag=True, help="Only say what would be done; change nothing.")

stats_option = click.option("--stats", is_flag=True, help="Tell on standard error what every operator did.")

branch_option = click.option(
    "--branch", metavar="BRANCH", default="main", shell_complete=branch_names, help="The branch; main if not given."
)

read_branch_option = click.option(
    "--branch", metavar="BRANCH", shell_complete=branch_names, help="The branch; main if not given."
)

types_option = click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    shell_complete=type_names,
    help="Only this type; may be repeated.",
)

message_option = click.option("--message", metavar="TEXT", help="Why, for the commit.")

idempotency_key_option = click.option(
    "--idempotency-key", metavar="KEY", help="Write once: a second run with the same key finds the first commit."
)

actor_option = click.option(
    "--as",
    "actor",
    metavar="ACTOR",
    envvar="OMNIGRAPH_ACTOR",
    default=usual_actor,
    help="Who makes the commit; or OMNIGRAPH_ACTOR, or the actor of the operator's settings.",
)

at_option = click.option(
    "--at", metavar="COMMIT|TIME", help="The graph at a commit, or at a time such as 2026-01-31T12:00:00Z."
)


def engine_option(who: str) -> Callable[[Any], Any]:
    """``--engine`` of a command whose work Spark can do."""
    explained = f"{who}: this process (embedded), Spark, or whichever the size suggests (auto)."
    return click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], help=explained)
