"""``omnigraph load``: load of files, or of tables through a mapping, as one commit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import Address, uri_argument, writes_graph
from omnigraph.cli.args.data_files import DataFile
from omnigraph.cli.args.load_columns import column_options, column_values
from omnigraph.cli.args.load_engine import LoadPlan, plan_load
from omnigraph.cli.args.options import (
    base_option,
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
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.writes import load_json

if TYPE_CHECKING:
    from omnigraph.engine.previews import WritePreview
    from omnigraph.engine.results import LoadResult

MODES = ("upsert", "update", "merge", "append", "overwrite")


@click.command("load")
@uri_argument
@click.option(
    "--data",
    "paths",
    multiple=True,
    metavar="[TYPE=]FILE",
    help="CSV, TSV, Parquet, JSON, JSON lines or Arrow, also compressed: a file, a pattern such as 'people-*.csv', a "
    "directory with a file for each type, an s3:// address, or - for standard input. May be repeated. With --mapping: "
    "NAME=FILE for a source.",
)
@column_options
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="upsert",
    show_default=True,
    help="upsert: set the properties that the input names. update: the same, but fail if an entity does not exist. "
    "merge: replace entities by id. append: fail if an id exists. overwrite: replace all entities of the types.",
)
@branch_option
@base_option
@engine_option("loads")
@click.option("--mapping", metavar="FILE.yaml", help="Mapping from columns of tables to types and properties.")
@click.option(
    "--reject-to",
    metavar="FILE",
    help="Write invalid rows to this new file and load the others.",
)
@click.option("--resume", is_flag=True, help="Resume the same load after it was killed. Needs Spark.")
@dry_run_option
@stats_option
@message_option
@idempotency_key_option
@writes_graph
@yes_option
@quiet_option
@json_option
def command(
    address: Address,
    paths: tuple[str, ...],
    type_name: str | None,
    format: str | None,
    mapped: tuple[str, ...],
    ignore: tuple[str, ...],
    constant: tuple[str, ...],
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
    """Load files as one commit.

    \b
    omnigraph load G --data people.csv --type Person
    omnigraph load G --data Person=people.csv --data Knows=knows.parquet

    The load is atomic: all of the input becomes visible, or none of it. Every violation is reported with its file and
    line.
    """
    for name, is_given in (("--stats", stats), ("--resume", resume)):
        if dry_run and is_given:
            raise click.UsageError(f"pass either --dry-run or {name}, not both")
    columns = {"type_name": type_name, "format": format, **column_values(mapped, ignore, constant)}
    place: dict[str, Any] = {"branch": branch, "base": base, **columns, "reject_to": reject_to}
    earlier = None if dry_run else _earlier(address, mode, branch, commit_options)
    if earlier is not None:
        _show(*earlier, reject_to, stats, as_json)
        return OK
    with ExitStack() as stack:
        # Unreadable files are reported before the graph is opened and before a Spark session starts.
        options = address.storage_options or {}
        plan = plan_load(stack, engine, mapping, paths, type_name, resume, options)
        graph = address.open()
        if mode == "overwrite" and not dry_run:
            address.confirm_loss(f"replace entities of branch {branch}", yes=yes)
        address.announce("load", quiet or dry_run)
        place |= {"mapping": plan.mapping, "progress": _progress(stack, plan, quiet)}
        result: LoadResult | WritePreview
        try:
            if dry_run:
                preview = graph.load_spark_preview if plan.with_spark else graph.load_preview
                result = preview(plan.data, mode, **place)
            elif plan.with_spark:
                result = graph.load_spark(plan.data, mode, **place, **commit_options, stats=stats, resume=resume)
            else:
                result = graph.load(plan.data, mode, **place, **commit_options, stats=stats)
        except KeyboardInterrupt:
            raise Interrupted(_after_interrupt(plan.watched)) from None
    # Printed after the progress bar has closed: the bar redirects standard output while it runs.
    _show(graph.uri, result, reject_to, stats, as_json)
    return OK


def _earlier(address: Address, mode: str, branch: str, commit_options: dict[str, Any]) -> tuple[str, LoadResult] | None:
    """The result of an earlier load with the same idempotency key: its files need not exist any more."""
    key = commit_options.get("idempotency_key")
    # A server finds the load again by its key and the actor of the token.
    if key is None or address.is_behind_server:
        return None
    from omnigraph.engine.load_options import LoadOptions

    graph = address.open()
    found = graph.earlier_load(LoadOptions(mode, branch=branch, idempotency_key=key))
    return None if found is None else (graph.uri, found)


def _progress(stack: ExitStack, plan: LoadPlan, quiet: bool) -> Callable[..., None] | None:
    if plan.with_spark:
        return stack.enter_context(stage_bar("entities", quiet=quiet))
    watched = plan.watched
    total = watched.size if watched else None
    report = stack.enter_context(progress_bar("loading", "entities", total=total, quiet=quiet))
    return lambda entities: report(watched.position if watched else 0, entities)


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
    from omnigraph.engine.results import loaded_text

    ok = paint("ok", "green", bold=True)
    if result.repeated:
        say(f"{ok}: already loaded, as commit {result.commit.id}")
        return
    for name, number in [*sorted(result.nodes.items()), *sorted(result.edges.items())]:
        say(f"  {name}: {number:,}")
    if result.rejected:
        were = "row was rejected and is" if result.rejected == 1 else "rows were rejected and are"
        say(f"  {result.rejected:,} {were} in {reject_to}")
    if result.cleared:
        say(f"  {count(result.cleared, 'value', 'values')} cleared: the input does not name them")
    for remark in result.remarks:
        say(f"{paint('remark', 'yellow')}: {remark}", to_stderr=True)
    created = f" (made from {result.base_branch})" if result.branch_created else ""
    say(f"{ok}: loaded {loaded_text(result)} into {result.branch}{created}, commit {result.commit.id}")
