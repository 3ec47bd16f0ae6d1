"""``omnigraph external``: list and refresh the types whose rows are in tables outside the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Address, reads_graph, uri_argument, writes_graph
from omnigraph.cli.args.options import (
    at_option,
    branch_option,
    dry_run_option,
    idempotency_key_option,
    json_option,
    message_option,
    quiet_option,
    read_branch_option,
    types_option,
)
from omnigraph.cli.args.row_output import chosen_format, format_option, show_list
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import paint, say, say_json
from omnigraph.cli.show.previews import show_preview
from omnigraph.cli.show.progress import progress_bar
from omnigraph.cli.show.tables import aligned
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.graphs import external_types_json
from omnigraph.wire.writes import refresh_json

if TYPE_CHECKING:
    from omnigraph.engine.external.result import RefreshResult


@click.group("external", cls=CommandGroup)
def command() -> None:
    """List and refresh the types whose rows are in tables outside the graph."""


@command.command("list")
@uri_argument
@read_branch_option
@at_option
@click.option("--check", is_flag=True, help="Compare the sealed files with those that are there.")
@reads_graph
@format_option
@json_option
def list_command(
    address: Address, branch: str | None, at: str | None, check: bool, format_: str | None, as_json: bool
) -> int:
    """List the external types with the versions of their tables that a commit pins.

    With --check, a file that changed or is gone is shown, and the exit code is 1.
    """
    chosen = chosen_format(format_, as_json=as_json)
    graph = address.open()
    types = graph.external_types(branch, at=at, check=check)
    status = FAILED if any(item.problem for item in types) else OK
    if chosen == "json":
        say_json(with_uri(graph.uri, external_types_json(types)))
        return status
    rows = [(item.name, item.format, item.address, item.version, item.files, item.rows) for item in types]
    columns = {"type": str, "format": str, "address": str, "version": str, "files": int, "rows": int}
    show_list("external list", columns, rows, chosen)
    for item in types:
        if item.problem is not None:
            say(f"{paint('changed', 'red', bold=True)}: {item.name}: {item.problem}", to_stderr=True)
    return status


@command.command("refresh")
@uri_argument
@types_option
@branch_option
@dry_run_option
@message_option
@idempotency_key_option
@writes_graph
@quiet_option
@json_option
def refresh_command(
    address: Address,
    types: tuple[str, ...],
    branch: str,
    dry_run: bool,
    message: str | None,
    idempotency_key: str | None,
    actor: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Pin the newest versions of the tables of external types, as one commit.

    The rows are read and checked like those of a load. A key that edges still use must stay: otherwise the edges are
    listed, and nothing is changed. Without a newer version there is no commit.
    """
    graph = address.open()
    chosen = list(types) or None
    if dry_run:
        show_preview(graph.uri, graph.refresh_external_preview(chosen, branch=branch), as_json)
        return OK
    address.announce("external refresh", quiet)
    with progress_bar("reading", "rows", total=None, quiet=quiet) as report:
        result = graph.refresh_external(
            chosen,
            branch=branch,
            actor=actor,
            message=message,
            idempotency_key=idempotency_key,
            progress=lambda rows: report(rows, rows),
        )
    if as_json:
        say_json(with_uri(graph.uri, refresh_json(result)))
    else:
        _show(result)
    return OK


def _show(result: RefreshResult) -> None:
    ok = paint("ok", "green", bold=True)
    for remark in result.remarks:
        say(f"{paint('note', 'yellow')}: {remark}", to_stderr=True)
    if result.commit is None:
        say(f"{ok}: nothing is newer than what {result.branch} pins")
        return
    rows = [(item.key, item.inserted, item.updated, item.deleted) for item in result.commit.tables]
    say(aligned(("table", "inserted", "updated", "deleted"), rows))
    say(f"{ok}: refreshed on {result.branch}, commit {result.commit.id}")
