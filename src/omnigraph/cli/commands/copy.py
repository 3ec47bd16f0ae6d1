"""``omnigraph copy``: a graph, or the heads of some branches, at another place."""

from __future__ import annotations

from collections.abc import Mapping

import click

from omnigraph.cli.args.addresses import Address, writes_graph
from omnigraph.cli.args.completion import branch_names
from omnigraph.cli.args.copy_options import copying, given, quick_option, show_copy, target_options_option, with_target
from omnigraph.cli.args.options import json_option, quiet_option
from omnigraph.cli.exit_codes import OK


@click.command("copy")
@click.option(
    "--branch",
    "branches",
    multiple=True,
    metavar="BRANCH",
    shell_complete=branch_names,
    help="Branch to copy; may be repeated. The first one becomes main. [default: main]",
)
@click.option("--all-branches", is_flag=True, help="Copy the heads of all branches.")
@click.option("--history", is_flag=True, help="Copy everything: every branch, commit and version.")
@target_options_option
@quick_option
@quiet_option
@json_option
@with_target
@writes_graph
def command(
    address: Address,
    target: str,
    branches: tuple[str, ...],
    all_branches: bool,
    history: bool,
    target_options: Mapping[str, str],
    quick: bool,
    actor: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Copy a graph to TARGET, a new directory or prefix of a bucket.

    Without --history the heads of the branches become a fresh graph with the same entities, ids and schema. Each branch
    has one commit, whose provenance names the source. With --history the copy has the same graph id and commits. The
    graph may be read and written meanwhile, and the copy is verified. An interrupted copy is continued by repeating the
    command.
    """
    if all_branches and branches:
        raise click.UsageError("pass either --branch or --all-branches, not both")
    chosen = "*" if all_branches else list(branches) or None
    graph = address.open()
    Address(target).announce("copy", quiet)
    with copying(quiet) as progress:
        result = graph.copy(
            target,
            branches=chosen,
            history=history,
            target_options=given(target_options),
            actor=actor,
            deep=not quick,
            progress=progress,
        )
    show_copy(result, "copied", as_json=as_json)
    return OK
