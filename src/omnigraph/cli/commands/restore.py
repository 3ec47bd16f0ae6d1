"""``omnigraph restore``: a graph from its backup."""

from __future__ import annotations

from collections.abc import Mapping

import click

from omnigraph.cli.args.addresses import Address, makes_graph
from omnigraph.cli.args.copy_options import copying, given, quick_option, show_copy, target_options_option
from omnigraph.cli.args.options import json_option, quiet_option, yes_option
from omnigraph.cli.exit_codes import OK


@click.command("restore")
@click.argument("uri", metavar="BACKUP")
@click.argument("target", metavar="GRAPH")
@click.option("--replace", is_flag=True, help="Delete the graph that is there first. No process may use it meanwhile.")
@target_options_option
@quick_option
@yes_option
@quiet_option
@json_option
@makes_graph
def command(
    address: Address,
    target: str,
    replace: bool,
    target_options: Mapping[str, str],
    quick: bool,
    yes: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Restore a graph from BACKUP to GRAPH.

    Both are directories or prefixes of buckets. A graph at that place is kept unless --replace is given. The restored
    graph is verified. An interrupted run is continued by repeating the command.
    """
    place = Address(target, given(target_options) or address.storage_options, address.durability)
    if replace:
        place.confirm_loss("replace the graph", yes=yes)
    place.announce("restore", quiet)
    with copying(quiet) as progress:
        result = address.restore(place, replace=replace, deep=not quick, progress=progress)
    show_copy(result, "restored", as_json=as_json)
    return OK
