"""``omnigraph optimize``: compaction and index maintenance; query results do not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Address, in_cluster, uri_argument, writes_graph
from omnigraph.cli.args.options import (
    branch_option,
    engine_option,
    json_option,
    quiet_option,
    types_option,
)
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.cli.show.progress import progress_bar
from omnigraph.cli.show.tables import aligned
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.maintenance import optimize_json

if TYPE_CHECKING:
    from omnigraph.engine.upkeep.optimize_result import OptimizeResult


@click.command("optimize")
@uri_argument
@branch_option
@types_option
@click.option("--no-compact", is_flag=True, help="Do not compact data files.")
@click.option("--no-index", is_flag=True, help="Do not build or extend indexes.")
@engine_option("rewrites large tables")
@in_cluster
@writes_graph
@quiet_option
@json_option
def command(
    address: Address,
    branch: str,
    types: tuple[str, ...],
    no_compact: bool,
    no_index: bool,
    engine: str,
    actor: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Compact files and bring indexes up to date.

    Query results do not change. Concurrent reads and writes are allowed; what they change during the run is left for
    the next one. If there is nothing to do, no commit is made.
    """
    graph = address.open()
    address.announce("optimize", quiet)
    with progress_bar("optimizing", "tables", total=None, quiet=quiet) as progress:
        result = graph.optimize(
            branch,
            types=types or None,
            compact=not no_compact,
            index=not no_index,
            engine=engine,
            actor=actor,
            progress=lambda tables: progress(tables, tables),
        )
    if as_json:
        say_json(with_uri(graph.uri, optimize_json(result)))
    else:
        _show(result)
    return OK


def _show(result: OptimizeResult) -> None:
    from omnigraph.engine.upkeep.optimize_result import changes

    rows = [
        (outcome.key, outcome.rows, outcome.fragments_after, changes(outcome) or "nothing to do")
        for outcome in result.tables
    ]
    say(aligned(("table", "rows", "fragments", "done"), rows))
    for outcome in result.tables:
        for reason in outcome.skipped:
            say(f"{outcome.key}: {reason}")
    made = ", ".join(commit.id for commit in result.commits)
    ok = paint("ok", "green", bold=True)
    say(f"{ok}: {count(len(result.commits), 'commit')}{f' ({made})' if made else ''} on {result.branch}")
