"""``omnigraph cleanup``: give up old commits and delete files that nothing refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Address, uri_argument, writes_graph
from omnigraph.cli.args.options import dry_run_option, json_option, quiet_option
from omnigraph.cli.commands.commit import when
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.cli.show.progress import progress_bar
from omnigraph.cli.show.tables import aligned
from omnigraph.engine.engine_choice import ENGINES
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.maintenance import cleanup_json

if TYPE_CHECKING:
    from omnigraph.engine.upkeep.cleanup_result import CleanupResult
    from omnigraph.storage.upkeep.sweep import Count


@click.command("cleanup")
@uri_argument
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="Keep the newest N commits of every branch.")
@click.option("--older-than", metavar="AGE", help="Give up only commits older than this, such as 7d.")
@click.option("--grace", metavar="TIME", help="How long readers and writers may still need what is given up; 24h.")
@dry_run_option
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="auto",
    help="Who lists and deletes: this process or Spark; auto decides by size.",
)
@writes_graph
@click.option("--yes", "-y", "--confirm", is_flag=True, help="Do not ask before something is lost.")
@quiet_option
@json_option
def command(
    address: Address,
    keep: int | None,
    older_than: str | None,
    grace: str | None,
    dry_run: bool,
    engine: str,
    yes: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Give up old commits and delete unreferenced files.

    Without --keep and --older-than no commit is given up. Files are deleted when nothing has referred to them for the
    grace period: what this run gives up is deleted by a run after it. Files that cannot be read are named, whatever
    they may lead to is left alone, and the exit code is 1 then.
    """
    graph = address.open()
    if not dry_run:
        if keep is not None or older_than is not None:
            address.confirm_loss("give up old commits for ever", yes=yes)
        address.announce("cleanup", quiet)
    with progress_bar("cleaning", "tables", total=None, quiet=quiet) as progress:
        result = graph.cleanup(
            keep=keep,
            older_than=older_than,
            grace=grace,
            dry_run=dry_run,
            engine=engine,
            progress=lambda tables: progress(tables, tables),
        )
    if as_json:
        say_json(with_uri(graph.uri, cleanup_json(result)))
    else:
        _show(result)
    return FAILED if result.damaged else OK


def _show(result: CleanupResult) -> None:
    from omnigraph.storage.upkeep.sweep import Count, Fate

    fates = (Fate.NEEDED, Fate.DELETED, Fate.WAITING, Fate.JOBS)
    headers = ("kind", *(f"{name} {what}" for name in ("needed", "deleted", "waiting") for what in ("files", "bytes")))
    is_kept_by_jobs = result.total(Fate.JOBS).files > 0
    shown = fates if is_kept_by_jobs else fates[:-1]
    rows = [
        (kind, *(number for fate in shown for number in _numbers(counts.get(fate, Count()))))
        for kind, counts in result.files.items()
    ]
    say(aligned((*headers, "jobs' files", "jobs' bytes") if is_kept_by_jobs else headers, rows))
    if result.waiting.files:
        say(f"waiting until {when(result.waiting.until_us)} at the latest; run cleanup again then")
    verb = "would give up" if result.dry_run else "gave up"
    waiting = f", {result.commits_waiting} waiting" if result.commits_waiting else ""
    for item in result.damaged:
        say(f"{paint(item.path, bold=True)}: {item.what}; what it may lead to is left alone")
    done = paint("damaged", "red", bold=True) if result.damaged else paint("ok", "green", bold=True)
    say(f"{done}: {verb} {count(result.commits_given_up, 'commit')}{waiting}; {result.commits_retained} can be read")


def _numbers(counted: Count) -> tuple[int, int]:
    return counted.files, counted.bytes
