"""``omnigraph changes``: the change feed of a branch (change data capture)."""

from __future__ import annotations

import json

import click

from omnigraph.cli.args.addresses import Address, reads_graph
from omnigraph.cli.args.change_options import chooses_changes, page_limit_option, say_changes, show_blocks
from omnigraph.cli.args.files import locked, replacing
from omnigraph.cli.args.options import branch_option, json_option
from omnigraph.cli.args.row_output import chosen_format, format_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.commits import when
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.wire.changes import baseline_json, change_page_json, resume_json, written_baseline_json

_STARTS = ("now", "beginning")


@click.group("changes", cls=CommandGroup)
def command() -> None:
    """Follow the change feed of a branch."""


def _start(_ctx: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    if given is None or given in _STARTS or given.startswith("after:"):
        return given
    raise click.BadParameter(f"{given!r} is not a start (expected now, beginning or after:COMMIT)")


@command.command("poll")
@branch_option
@click.option("--cursor", metavar="TEXT", help="Resume after the last cursor or page token.")
@click.option(
    "--start",
    callback=_start,
    metavar="now|beginning|after:COMMIT",
    help="Start without a cursor. [default: now]",
)
@page_limit_option
@chooses_changes
@reads_graph
@format_option
@json_option
def poll_command(
    address: Address,
    branch: str,
    cursor: str | None,
    start: str | None,
    limit: int,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    format_: str | None,
    as_json: bool,
) -> int:
    """Show the next page of a branch's changes, commit by commit.

    Each commit is compared with its first parent. Store the cursor of a page after processing it: the next poll resumes
    there.
    """
    if cursor is not None and start is not None:
        raise click.UsageError("pass either --cursor or --start, not both")
    chosen = chosen_format(format_, as_json=as_json)
    graph = address.open()
    page = graph.changes(cursor or start or "now", limit=limit, branch=branch, kind=kinds, type=types, op=ops)
    if chosen == "json":
        say_json(change_page_json(page))
        return OK
    if chosen != "table":
        show_blocks("changes poll", page.blocks, chosen, resume_json(page))
        return OK
    for block in page:
        commit = block.commit
        remark = "  ".join(item for item in (commit.actor, commit.message) if item)
        say(paint(f"{commit.id}  {when(commit.created_at_us)}  {commit.kind.value}  {remark}".rstrip(), bold=True))
        say_changes(block, indent="  ")
    if not page.blocks:
        say("no changes")
    state = "more of the last commit follows" if page.is_partial else "caught up" if page.caught_up else "more follows"
    say(f"{state}; cursor: {page.cursor}")
    return OK


@command.command("baseline")
@branch_option
@click.option("--out", "out_path", required=True, metavar="PATH", help="Output file.")
@chooses_changes
@reads_graph
@json_option
def baseline_command(
    address: Address,
    branch: str,
    out_path: str,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    as_json: bool,
) -> int:
    """Export a whole branch, with the cursor that resumes the feed from there.

    The lines are those of `export`; the last one contains the commit and the cursor. The file is replaced atomically
    and is durable before the cursor is printed. PATH.lock excludes other writers. --op applies to the cursor only.
    """
    graph = address.open()
    baseline = graph.change_baseline(branch, kind=kinds, type=types, op=ops)
    entities = 0
    with locked(out_path), replacing(out_path, is_durable=True) as file:
        for chunk in baseline.lines():
            entities += chunk.count(b"\n")
            file.write(chunk)
        file.write(json.dumps(baseline_json(baseline)).encode() + b"\n")
    if as_json:
        say_json(written_baseline_json(graph.uri, out_path, entities, baseline))
        return OK
    ok = paint("ok", "green", bold=True)
    say(f"{ok}: {count(entities, 'entity', 'entities')} in {click.format_filename(out_path)}")
    say(f"cursor: {baseline.cursor}")
    return OK
