"""``omnigraph cleanup``: expire old commits and garbage-collect unreferenced files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Address, in_cluster, uri_argument, writes_graph
from omnigraph.cli.args.options import dry_run_option, json_option, quiet_option
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.show.commits import when
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
@click.option("--older-than", metavar="AGE", help="Expire only commits older than this, such as 7d.")
@click.option(
    "--grace", metavar="TIME", help="Grace period for readers and writers that still use expired files. [default: 24h]"
)
@dry_run_option
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="auto",
    help="Engine that lists and deletes: this process (embedded), Spark, or chosen by size (auto). [default: auto]",
)
@in_cluster
@writes_graph
@click.option("--yes", "-y", "--confirm", is_flag=True, help="Skip the confirmation before data is lost.")
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
    """Expire old commits and delete unreferenced files.

    Without --keep and --older-than no commit expires. A file is deleted once it has been unreferenced for the grace
    period, so files of commits that expire now are deleted by a later run. Unreadable files are named, everything they
    may refer to is kept, and the exit code is 1.
    """
    graph = address.open()
    if not dry_run:
        if keep is not None or older_than is not None:
            address.confirm_loss("permanently expire old commits", yes=yes)
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
