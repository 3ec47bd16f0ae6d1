"""``omnigraph backup``: a whole graph at another place, brought up to date by every run."""

from __future__ import annotations

from collections.abc import Mapping

import click

from omnigraph.cli.args.addresses import Address, writes_graph
from omnigraph.cli.args.copy_options import copying, given, quick_option, show_copy, target_options_option, with_target
from omnigraph.cli.args.options import json_option, quiet_option
from omnigraph.cli.exit_codes import OK


@click.command("backup")
@target_options_option
@quick_option
@quiet_option
@json_option
@with_target
@writes_graph
def command(
    address: Address,
    target: str,
    target_options: Mapping[str, str],
    quick: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Back up a graph to TARGET, a directory or prefix of a bucket.

    The first run copies every branch, commit and version; later runs copy what was added, and delete the names of
    branches that were deleted. The graph may be read and written meanwhile. The backup is a graph that can be read at
    any time, and is verified at the end. An interrupted run is continued by repeating the command.
    """
    graph = address.open()
    Address(target).announce("backup", quiet)
    with copying(quiet) as progress:
        result = graph.backup(target, target_options=given(target_options), deep=not quick, progress=progress)
    show_copy(result, "backed up", as_json=as_json)
    return OK
