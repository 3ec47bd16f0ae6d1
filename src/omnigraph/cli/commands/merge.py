"""``omnigraph merge``: previews of merges."""

from __future__ import annotations

from typing import Any

import click

from omnigraph.cli.args.addresses import Address, reads_graph
from omnigraph.cli.args.merge_options import settles_conflicts, show_conflicts, show_tables
from omnigraph.cli.args.options import engine_option, json_option
from omnigraph.cli.args.row_output import chosen_format, format_option, show_rows
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.merges import merge_preview_json, save_merge_preview


@click.group("merge", cls=CommandGroup)
def command() -> None:
    """Preview merges."""


@command.command("preview")
@click.argument("source", metavar="BRANCH")
@click.option("--into", metavar="BRANCH", default="main", help="Target branch. [default: main]")
@settles_conflicts
@click.option("--save", metavar="FILE", help="Save the preview to a file, for `branch merge --preview`.")
@engine_option("merges tables changed on both branches")
@reads_graph
@format_option
@json_option
def preview_command(
    address: Address,
    source: str,
    into: str,
    policy: dict[str, str] | None,
    resolutions: list[Any],
    save: str | None,
    engine: str,
    format_: str | None,
    as_json: bool,
) -> int:
    """Show the changes and conflicts of a merge. Nothing is written.

    Exits with 1 if conflicts are unresolved. CSV, JSON lines and Arrow contain the conflicts.
    """
    chosen = chosen_format(format_, as_json=as_json)
    graph = address.open()
    preview = graph.merge_preview(source, into, policy=policy, resolutions=resolutions, engine=engine)
    if save is not None:
        save_merge_preview(preview, save)
    if chosen == "json":
        say_json(with_uri(graph.uri, merge_preview_json(preview)))
        return FAILED if preview.conflicts else OK
    if chosen != "table":
        from omnigraph.engine.listing import listing

        about = {"outcome": preview.outcome.value}
        show_rows(listing("merge preview", preview.conflicts_table(), branch=into, about=about), chosen)
        return FAILED if preview.conflicts else OK
    show_tables(preview.tables)
    if preview.conflicts:
        show_conflicts(preview.conflicts)
        failed = paint("conflicts", "red", bold=True)
        say(f"{failed}: {source} cannot be merged into {into}: {count(len(preview.conflicts), 'conflict')}")
        return FAILED
    say(f"{paint('ok', 'green', bold=True)}: {source} into {into}: {preview.outcome.value.replace('_', ' ')}")
    return OK
