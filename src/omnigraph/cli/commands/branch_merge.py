"""``omnigraph branch merge``: bring a branch into another one, as one commit."""

from __future__ import annotations

from typing import Any

import click

from omnigraph.cli.args.addresses import Address, writes_graph
from omnigraph.cli.args.merge_options import settles_conflicts, show_tables
from omnigraph.cli.args.options import (
    actor_option,
    engine_option,
    idempotency_key_option,
    json_option,
    message_option,
    quiet_option,
)
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import paint, say, say_json
from omnigraph.errors import OmnigraphError


@click.command("merge")
@click.argument("source", metavar="BRANCH", required=False)
@click.option("--into", metavar="BRANCH", help="The branch to merge into; main if not given.")
@settles_conflicts
@click.option("--preview", "preview_path", metavar="FILE", help="Merge what a saved preview showed, instead of BRANCH.")
@click.option("--delete-branch", is_flag=True, help="Delete the merged branch afterwards.")
@click.option(
    "--if-commit", metavar="ID", help="Only if this commit is the head that is merged into; else exit with 4."
)
@engine_option("Who merges tables that both branches changed")
@message_option
@idempotency_key_option
@writes_graph
@actor_option
@quiet_option
@json_option
def merge_command(
    address: Address,
    source: str | None,
    into: str | None,
    policy: dict[str, str] | None,
    resolutions: list[Any],
    preview_path: str | None,
    delete_branch: bool,
    if_commit: str | None,
    engine: str,
    quiet: bool,
    as_json: bool,
    **said: str | None,
) -> int:
    """Merge a branch into another one as one commit.

    If there are conflicts that nothing settles, nothing is changed; `merge preview` shows them with their values.
    """
    if (source is None) == (preview_path is None):
        raise click.UsageError("name either the branch to merge, or a saved preview with --preview")
    graph = address.open()
    address.announce("branch merge", quiet)
    options: dict[str, Any] = {
        "policy": policy,
        "resolutions": resolutions,
        "if_commit": if_commit,
        "engine": engine,
        **said,
    }
    if preview_path is None:
        assert source is not None
        result = graph.merge(source, into, **options)
    else:
        from omnigraph.engine.merge.result import MergePreview

        result = graph.merge(MergePreview.load(preview_path), into, **options)
    deleted: dict[str, object] = {}
    if delete_branch:
        try:
            graph.delete_branch(result.source)
            deleted = {"branch_deleted": True}
        except OmnigraphError as error:
            # The merge is made, whatever becomes of the name.
            deleted = {"branch_deleted": False, "branch_delete_error": error.message}
    if as_json:
        say_json({"uri": graph.uri, **result.to_json(), **deleted})
        return OK
    show_tables(result.tables)
    outcome = result.outcome.value.replace("_", " ")
    commit = f", commit {result.commit.id}" if result.commit else ""
    say(f"{paint('ok', 'green', bold=True)}: {result.source} into {result.target}: {outcome}{commit}")
    if "branch_delete_error" in deleted:
        say(f"branch {result.source} was not deleted: {deleted['branch_delete_error']}", to_stderr=True)
    return OK
