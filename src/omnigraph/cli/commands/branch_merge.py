"""``omnigraph branch merge``: three-way merge of a branch into another one, as one commit."""

from __future__ import annotations

from typing import Any

import click

from omnigraph.cli.args.addresses import Address, writes_graph
from omnigraph.cli.args.merge_options import settles_conflicts, show_tables
from omnigraph.cli.args.options import (
    engine_option,
    idempotency_key_option,
    json_option,
    message_option,
    quiet_option,
)
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import paint, say, say_json
from omnigraph.errors import OmnigraphError
from omnigraph.wire.merges import branch_merge_json, load_merge_preview


@click.command("merge")
@click.argument("source", metavar="BRANCH", required=False)
@click.option("--into", metavar="BRANCH", help="Target branch. [default: main]")
@settles_conflicts
@click.option("--preview", "preview_path", metavar="FILE", help="Merge a saved preview instead of BRANCH.")
@click.option("--delete-branch", is_flag=True, help="Delete the source branch after the merge.")
@click.option(
    "--if-commit", metavar="ID", help="Merge only if this commit is the head of the target; otherwise exit with 4."
)
@engine_option("merges tables changed on both branches")
@message_option
@idempotency_key_option
@writes_graph
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
    **commit_options: str | None,
) -> int:
    """Merge a branch into another one as one commit.

    Unresolved conflicts abort the merge and change nothing; `merge preview` shows them with the values of both sides.
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
        **commit_options,
    }
    if preview_path is None:
        assert source is not None
        result = graph.merge(source, into, **options)
    else:
        result = graph.merge(load_merge_preview(preview_path), into, **options)
    delete_error: str | None = None
    if delete_branch:
        try:
            graph.delete_branch(result.source)
        except OmnigraphError as error:
            # The merge is committed: a branch that stays is a remark, not a failure.
            delete_error = error.message
    if as_json:
        branch_deleted = delete_error is None if delete_branch else None
        say_json(branch_merge_json(graph.uri, result, branch_deleted=branch_deleted, delete_error=delete_error))
        return OK
    show_tables(result.tables)
    outcome = result.outcome.value.replace("_", " ")
    commit = f", commit {result.commit.id}" if result.commit else ""
    say(f"{paint('ok', 'green', bold=True)}: {result.source} into {result.target}: {outcome}{commit}")
    if delete_error is not None:
        say(f"branch {result.source} was not deleted: {delete_error}", to_stderr=True)
    return OK
