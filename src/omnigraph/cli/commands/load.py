"""``omnigraph load``: bulk load of JSON lines, or of tables through a mapping, as one commit."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import Address, uri_argument, writes_graph
from omnigraph.cli.args.completion import branch_names
from omnigraph.cli.args.data_files import STDIN, STDIN_PATH, DataFile, open_data
from omnigraph.cli.args.load_engine import chosen_engine, spark_sources
from omnigraph.cli.args.options import (
    actor_option,
    branch_option,
    dry_run_option,
    engine_option,
    idempotency_key_option,
    json_option,
    message_option,
    quiet_option,
    stats_option,
    yes_option,
)
from omnigraph.cli.errors import Interrupted
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.cli.show.previews import show_preview
from omnigraph.cli.show.progress import progress_bar, stage_bar
from omnigraph.storage.objects.uri import is_remote
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.writes import load_json

if TYPE_CHECKING:
    from omnigraph.engine.previews import WritePreview
    from omnigraph.engine.results import LoadResult

MODES = ("append", "merge", "overwrite")


@click.command("load")
@uri_argument
@click.option(
    "--data",
    "paths",
    multiple=True,
    metavar="FILE",
    help="JSON lines: a file, an s3:// address, or - for standard input; a path that ends in / means all files below "
    "it. May be repeated. With --mapping: NAME=FILE for a source.",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    required=True,
    help="append: fail if an id exists. merge: replace entities by id. overwrite: replace all entities of the types.",
)
@branch_option
@click.option(
    "--from",
    "base",
    metavar="BRANCH",
    shell_complete=branch_names,
    help="If the branch does not exist, create it from this one.",
)
@engine_option("loads")
@click.option(
    "--mapping", metavar="FILE.yaml", help="Mapping from columns of tables to types and properties. Needs Spark."
)
@click.option(
    "--reject-to",
    metavar="FILE",
    help="Write invalid rows to this new file and load the others. Needs Spark.",
)
@click.option("--resume", is_flag=True, help="Resume the same load after it was killed. Needs Spark.")
@dry_run_option
@stats_option
@message_option
@idempotency_key_option
@writes_graph
@actor_option
@yes_option
@quiet_option
@json_option
def command(
    address: Address,
    paths: tuple[str, ...],
    mode: str,
    branch: str,
    base: str | None,
    engine: str,
    mapping: str | None,
    reject_to: str | None,
    resume: bool,
    dry_run: bool,
    stats: bool,
    yes: bool,
    quiet: bool,
    as_json: bool,
    **commit_options: Any,
) -> int:
    """Load entities from JSON lines as one commit.

    The load is atomic: all of the input becomes visible, or none of it. Every violation is reported with its file and
    line.
    """
    only_spark = [name for name, is_given in (("--reject-to", reject_to), ("--resume", resume)) if is_given]
    not_dry = [*(["--stats"] if stats else []), *only_spark]
    if dry_run and not_dry:
        raise click.UsageError(f"pass either --dry-run or {not_dry[0]}, not both")
    with_spark = chosen_engine(engine, mapping, paths, only_spark, address.storage_options) == "spark"
    with ExitStack() as stack:
        # Unreadable files are reported before the graph is opened and before a Spark session starts.
        given = spark_sources(mapping, paths) if with_spark else (None, None)
        files = [] if with_spark else [stack.enter_context(open_data(path)) for path in paths if not is_remote(path)]
        graph = address.open()
        if mode == "overwrite" and not dry_run:
            address.confirm_loss(f"replace entities of branch {branch}", yes=yes)
        address.announce("load", quiet or dry_run)
        watched = files[0] if len(paths) == 1 and files else None
        place: dict[str, Any] = {"branch": branch, "base": base}
        result: LoadResult | WritePreview
        try:
            if with_spark:
                watch = stack.enter_context(stage_bar("entities", quiet=quiet))
                place |= {"mapping": given[1], "progress": watch}
                if dry_run:
                    result = graph.load_spark_preview(given[0], mode, **place)
                else:
                    commit_options |= {"reject_to": reject_to, "resume": resume, "stats": stats}
                    result = graph.load_spark(given[0], mode, **place, **commit_options)
            else:
                total = watched.size if watched else None
                report = stack.enter_context(progress_bar("loading", "entities", total=total, quiet=quiet))
                place["progress"] = lambda entities: report(watched.position if watched else 0, entities)
                data = watched or [STDIN_PATH if path == STDIN else path for path in paths]
                if dry_run:
                    result = graph.load_preview(data, mode, **place)
                else:
                    result = graph.load(data, mode, **place, **commit_options, stats=stats)
        except KeyboardInterrupt:
            raise Interrupted(_after_interrupt(watched)) from None
    # Printed after the progress bar has closed: the bar redirects standard output while it runs.
    _show(graph.uri, result, reject_to, stats, as_json)
    return OK


def _after_interrupt(watched: DataFile | None) -> str:
    if watched is not None and not watched.is_read:
        return "nothing was loaded"
    return "the load either committed or had no effect; `omnigraph commit list --limit 1` shows which"


def _show(uri: str, result: LoadResult | WritePreview, reject_to: str | None, stats: bool, as_json: bool) -> None:
    from omnigraph.engine.previews import WritePreview

    if isinstance(result, WritePreview):
        show_preview(uri, result, as_json)
        return
    if as_json:
        say_json(with_uri(uri, load_json(result, with_profile=stats)))
        return
    _say_result(result, reject_to)
    if stats:
        say(result.stats(), to_stderr=True)


def _say_result(result: LoadResult, reject_to: str | None) -> None:
    ok = paint("ok", "green", bold=True)
    if result.repeated:
        say(f"{ok}: already loaded, as commit {result.commit.id}")
        return
    for name, number in [*sorted(result.nodes.items()), *sorted(result.edges.items())]:
        say(f"  {name}: {number:,}")
    if result.rejected:
        were = "row was rejected and is" if result.rejected == 1 else "rows were rejected and are"
        say(f"  {result.rejected:,} {were} in {reject_to}")
    created = f" (made from {result.base_branch})" if result.branch_created else ""
    loaded = count(result.total, "entity", "entities")
    say(f"{ok}: loaded {loaded} into {result.branch}{created}, commit {result.commit.id}")
