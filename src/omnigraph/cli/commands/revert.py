"""``omnigraph revert``: a new commit that undoes earlier commits and keeps later changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import Address, writes_graph
from omnigraph.cli.args.merge_options import settles_conflicts, show_conflicts
from omnigraph.cli.args.options import (
    branch_option,
    dry_run_option,
    idempotency_key_option,
    json_option,
    message_option,
    quiet_option,
)
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.cli.show.tables import aligned
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.merges import revert_json, revert_preview_json

if TYPE_CHECKING:
    from omnigraph.core.tables import TableCounts
    from omnigraph.engine.revert.result import RevertPreview


@click.command("revert")
@click.argument("commits", metavar="[COMMIT|OLDER..NEWER]", required=False)
@click.option("--actor", "whose", metavar="ACTOR", help="Revert only commits of this actor.")
@click.option("--run", "run_id", metavar="ID", help="Revert only commits with this run in their provenance.")
@click.option("--since", metavar="TIME", help="Revert only commits from this time on.")
@click.option("--until", metavar="TIME", help="Revert only commits up to this time.")
@branch_option
@settles_conflicts
@dry_run_option
@message_option
@idempotency_key_option
@writes_graph
@quiet_option
@json_option
def command(
    address: Address,
    commits: str | None,
    whose: str | None,
    run_id: str | None,
    dry_run: bool,
    message: str | None,
    idempotency_key: str | None,
    actor: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Undo commits, as one new commit on top of the head.

    Select a commit or a range (the older end is excluded), or filter by actor, run and time. Later changes are kept;
    one that contradicts the revert is a conflict, and then nothing is changed. Conflicts are resolved as in a merge:
    source is the state before the commits, target the head.
    """
    graph = address.open()
    chosen = {"actor": whose, "run": run_id, **options}
    if dry_run:
        preview = graph.revert_preview(commits, **chosen)
        if as_json:
            say_json(with_uri(graph.uri, revert_preview_json(preview)))
        else:
            _show_preview(preview)
        return FAILED if preview.conflicts else OK
    address.announce("revert", quiet)
    result = graph.revert(commits, **chosen, by=actor, message=message, idempotency_key=idempotency_key)
    if as_json:
        say_json(with_uri(graph.uri, revert_json(result)))
        return OK
    _show_tables(result.tables)
    ok = paint("ok", "green", bold=True)
    undone = count(len(result.reverted), "commit")
    if result.commit is None:
        say(f"{ok}: nothing that {undone} did is left on {result.branch}")
    else:
        say(f"{ok}: reverted {undone} on {result.branch}, commit {result.commit.id}")
    return OK


def _show_tables(tables: tuple[TableCounts, ...]) -> None:
    if tables:
        rows = [(item.key, item.inserted, item.updated, item.deleted) for item in tables]
        say(aligned(("table", "inserted", "updated", "deleted"), rows))


def _show_preview(preview: RevertPreview) -> None:
    _show_tables(preview.tables)
    undone = count(len(preview.reverted), "commit")
    if preview.conflicts:
        show_conflicts(preview.conflicts)
    elif preview.tables:
        say(f"{undone} can be reverted on {preview.branch}")
    else:
        say(f"nothing that {undone} did is left on {preview.branch}")
