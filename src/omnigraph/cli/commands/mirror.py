"""``omnigraph mirror``: a branch as ordinary Lance datasets."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Address, uri_argument, writes_graph
from omnigraph.cli.args.options import branch_option, json_option, quiet_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.maintenance import mirror_json, mirror_removed_json

if TYPE_CHECKING:
    from omnigraph.engine.mirror.result import MirrorResult


@click.command("mirror")
@uri_argument
@click.argument("target", metavar="DIRECTORY")
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
@writes_graph
@quiet_option
@json_option
def command(
    address: Address,
    target: str,
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
    """
    graph = address.open()
    if remove:
        graph.remove_mirror(target)
        say_json(mirror_removed_json(target)) if as_json else say(f"removed the mirror {target}")
        return OK
    result = graph.mirror(target, branch)
    _show(graph.uri, result, as_json=as_json)
    while follow:
        time.sleep(interval)
        if graph.snapshot(branch).commit_id == result.commit_id:
            continue
        result = graph.mirror(target, branch)
        if not quiet:
            _show(graph.uri, result, as_json=as_json)
    return OK


def _show(uri: str, result: MirrorResult, *, as_json: bool) -> None:
    if as_json:
        say_json(with_uri(uri, mirror_json(result)))
        return
    for table in result.tables:
        if table.is_changed:
            say(f"  {table.name}.lance: {count(table.rows, 'row')}, version {table.version}")
    for name in result.removed:
        say(f"  {name}.lance: removed")
    changed = sum(table.is_changed for table in result.tables)
    ok = paint("ok", "green", bold=True)
    say(f"{ok}: {count(changed, 'dataset')} refreshed in {result.target}, commit {result.commit_id}")
