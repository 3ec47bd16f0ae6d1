"""``omnigraph mirror``: a branch as ordinary Lance datasets."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import Address, Command, uri_argument, writes_graph
from omnigraph.cli.args.options import branch_option, json_option, quiet_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.maintenance import mirror_json, mirror_removed_json

if TYPE_CHECKING:
    from omnigraph.engine.mirror.result import MirrorResult


def _takes_places(command: Command) -> Command:
    """Take a single argument as the directory, unless the mirror is in place: the graph may come from ``--store``."""

    @functools.wraps(command)
    def run(*, uri: str | None, target: str | None, in_place: bool, **others: Any) -> int:
        if target is None and not in_place:
            uri, target = None, uri
        if in_place == (target is not None):
            raise click.UsageError("pass either a DIRECTORY for the datasets or --in-place")
        return command(uri=uri, target=target, in_place=in_place, **others)

    return run


@click.command("mirror")
@uri_argument
@click.argument("target", metavar="[DIRECTORY]", required=False)
@click.option("--in-place", is_flag=True, help="Show the branch in the tables of the graph instead of a DIRECTORY.")
@branch_option
@click.option("--follow", is_flag=True, help="Refresh the mirror after every commit, until interrupted.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two looks at the branch, with --follow.",
)
@click.option("--remove", is_flag=True, help="Delete the mirror instead.")
@_takes_places
@writes_graph
@quiet_option
@json_option
def command(
    address: Address,
    target: str | None,
    in_place: bool,
    branch: str,
    follow: bool,
    interval: float,
    remove: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Show a branch as ordinary Lance datasets, without a copy.

    Every type becomes a dataset DIRECTORY/Type.lance for tools that only know Lance. Data is referred to, not copied:
    the graph must stay where it is. _commit.json names the commit of the last complete refresh.
    With --in-place, tools that open the table directories of the graph itself see the branch.
    """
    graph = address.open()
    if remove:
        graph.remove_mirror(target, in_place=in_place)
        place = target or graph.uri
        say_json(mirror_removed_json(place)) if as_json else say(f"removed the mirror {place}")
        return OK
    result = graph.mirror(target, branch, in_place=in_place)
    _show(graph.uri, result, as_json=as_json)
    while follow:
        time.sleep(interval)
        if graph.snapshot(branch).commit_id == result.commit_id:
            continue
        result = graph.mirror(target, branch, in_place=in_place)
        if not quiet:
            _show(graph.uri, result, as_json=as_json)
    return OK


def _show(uri: str, result: MirrorResult, *, as_json: bool) -> None:
    if as_json:
        say_json(with_uri(uri, mirror_json(result)))
        return
    for table in result.tables:
        if table.is_changed:
            say(f"  {table.name}: {count(table.rows, 'row')}, version {table.version}")
    for name in result.removed:
        say(f"  {name}: removed")
    for name in result.skipped:
        say(f"  {name}: external, not mirrored")
    changed = sum(table.is_changed for table in result.tables)
    ok = paint("ok", "green", bold=True)
    say(f"{ok}: {count(changed, 'dataset')} refreshed in {result.target}, commit {result.commit_id}")
