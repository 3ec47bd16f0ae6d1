"""``omnigraph commit``: the commit history of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Address, reads_graph, uri_argument
from omnigraph.cli.args.change_options import chooses_changes, page_limit_option, say_changes, show_blocks
from omnigraph.cli.args.options import branch_option, json_option
from omnigraph.cli.args.row_output import chosen_format, format_option, show_list
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.commits import COMMIT_COLUMNS, commit_row, when
from omnigraph.cli.show.output import say, say_json
from omnigraph.cli.show.tables import aligned, cell
from omnigraph.core.commit import CommitKind
from omnigraph.wire.changes import commit_changes_json
from omnigraph.wire.commits import commit_json, commits_json

if TYPE_CHECKING:
    from omnigraph.core.commit import GraphCommit

_OPTIONS_OF_THEIR_OWN = ("branch", "limit")


@click.group("commit", cls=CommandGroup)
def command() -> None:
    """List and show commits, and what they changed."""


def _filters(_ctx: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    filters: dict[str, str] = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not key or not sign:
            raise click.BadParameter(f"{text!r} is not key=value, such as actor=ann")
        if key in _OPTIONS_OF_THEIR_OWN:
            raise click.BadParameter(f"{key} has an option of its own: --{key}")
        if filters.setdefault(key, value) != value:
            raise click.BadParameter(f"{key} cannot be both {filters[key]!r} and {value!r}")
    kinds = [kind.value for kind in CommitKind]
    if filters.get("kind", kinds[0]) not in kinds:
        raise click.BadParameter(f"{filters['kind']!r} is not a kind of commit (expected {', '.join(kinds)})")
    return filters


@command.command("list")
@uri_argument
@branch_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Maximum number of commits. [default: no limit]")
@click.option(
    "--filter",
    "filters",
    multiple=True,
    callback=_filters,
    metavar="KEY=VALUE",
    help="Only commits with this actor, kind, message, idempotency_key or provenance value; may be repeated.",
)
@click.option("--draw", "is_drawn", is_flag=True, help="Draw the commit graph.")
@reads_graph
@format_option
@json_option
def list_command(
    address: Address,
    branch: str,
    limit: int | None,
    filters: dict[str, str],
    is_drawn: bool,
    format_: str | None,
    as_json: bool,
) -> int:
    """List the commits of a branch, newest first."""
    if is_drawn and (filters or format_ or as_json):
        raise click.UsageError(
            "--draw shows all commits as text: it cannot be combined with --filter, --format or --json"
        )
    chosen = "table" if is_drawn else chosen_format(format_, as_json=as_json)
    graph = address.open()
    commits = list(graph.commits(branch, limit=limit, **filters))
    if chosen == "json":
        say_json(commits_json(commits))
    elif not commits and chosen == "table":
        say("no commits")
    elif is_drawn:
        say(_drawing(commits))
    else:
        columns = dict.fromkeys(COMMIT_COLUMNS, str)
        show_list("commit list", columns, [commit_row(commit) for commit in commits], chosen, branch=branch)
    return OK


def _drawing(commits: list[GraphCommit]) -> str:
    from omnigraph.cli.show.commit_graph import drawn

    lines = list(drawn(commits))
    listed = iter(
        aligned(COMMIT_COLUMNS, [commit_row(commit) for _, commit in lines if commit is not None]).split("\n")
    )
    width = max(len(drawing) for drawing, _ in lines)
    head = f"{' ' * width}  {next(listed)}"
    rows = [drawing if commit is None else f"{drawing.ljust(width)}  {next(listed)}" for drawing, commit in lines]
    return "\n".join([head, *rows])


@command.command("show")
@click.argument("commit_id", metavar="COMMIT")
@reads_graph
@json_option
def show_command(address: Address, commit_id: str, as_json: bool) -> int:
    """Show one commit and the tables it changed.

    COMMIT is an id or its first characters, a branch, or a form such as main~2.
    """
    commit = address.open().commit(commit_id)
    if as_json:
        say_json(commit_json(commit))
        return OK
    facts = [
        ("commit", commit.id),
        ("time", when(commit.created_at_us)),
        ("kind", commit.kind.value),
        ("branch", commit.branch),
        ("parents", ", ".join(commit.parents)),
        ("actor", commit.actor),
        ("message", commit.message),
        ("key", commit.idempotency_key),
        *commit.provenance.items(),
    ]
    present = [(name, value) for name, value in facts if value]
    width = max(len(name) for name, _ in present)
    for name, value in present:
        say(f"{cell(name).ljust(width)}  {cell(value)}")
    if commit.tables:
        say()
        rows = [(change.key, change.inserted, change.updated, change.deleted) for change in commit.tables]
        say(aligned(("table", "inserted", "updated", "deleted"), rows))
    return OK


@command.command("changes")
@click.argument("commit_id", metavar="COMMIT")
@click.option("--page-token", metavar="TEXT", help="Token of the previous page.")
@page_limit_option
@chooses_changes
@reads_graph
@format_option
@json_option
def changes_command(
    address: Address,
    commit_id: str,
    page_token: str | None,
    limit: int,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    format_: str | None,
    as_json: bool,
) -> int:
    """Show the changes of one commit relative to its first parent."""
    chosen = chosen_format(format_, as_json=as_json)
    page = address.open().commit_changes(commit_id, page_token=page_token, limit=limit, kind=kinds, type=types, op=ops)
    if chosen == "json":
        say_json(commit_changes_json(page))
        return OK
    if chosen != "table":
        show_blocks("commit changes", [page.block], chosen, {"next_page_token": page.next_page_token})
        return OK
    say_changes(page)
    if page.next_page_token is not None:
        say(f"more follows; --page-token {page.next_page_token}")
    elif not len(page):
        say("no changes")
    return OK
