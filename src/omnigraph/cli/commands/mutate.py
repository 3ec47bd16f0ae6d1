"""``omnigraph mutate``: run a mutation query as one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import Address, writes_graph
from omnigraph.cli.args.options import (
    branch_option,
    dry_run_option,
    idempotency_key_option,
    json_option,
    message_option,
    stats_option,
)
from omnigraph.cli.args.queries import given_params, is_stored, named_by_file, query_source, takes_query
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.mutations import show_mutation
from omnigraph.cli.show.output import say, say_json
from omnigraph.cli.show.previews import show_preview
from omnigraph.errors import CompileError
from omnigraph.wire.writes import mutation_json

if TYPE_CHECKING:
    from omnigraph.engine.results import MutationResult


@click.command("mutate")
@takes_query
@branch_option
@click.option(
    "--if-commit", metavar="ID", help="Write only if this commit is the head of the branch; otherwise exit with 4."
)
@dry_run_option
@stats_option
@message_option
@idempotency_key_option
@writes_graph
@json_option
def command(
    address: Address,
    name: str | None,
    text: str | None,
    query_path: str | None,
    params_text: str | None,
    params_path: str | None,
    branch: str,
    if_commit: str | None,
    dry_run: bool,
    stats: bool,
    message: str | None,
    idempotency_key: str | None,
    actor: str | None,
    as_json: bool,
) -> int:
    """Insert, upsert, update and delete as one commit.

    NAME selects one of several queries; without -e and --query, it is a stored mutation of the server. Statements see
    each other's changes; other readers see all of them or none.
    """
    params = given_params(params_text, params_path)
    if dry_run and stats:
        raise click.UsageError("pass either --dry-run or --stats, not both")
    if is_stored(name, text, query_path, address):
        if dry_run or stats:
            raise click.UsageError("--dry-run and --stats have no effect on a stored query of a server")
        commit: dict[str, Any] = {"message": message, "idempotency_key": idempotency_key, "if_commit": if_commit}
        _show(address.connect().invoke_mutation(name or "", params, branch=branch, **commit), False, as_json)
        return OK
    source = query_source(text, query_path)
    graph = address.open()
    try:
        if dry_run:
            show_preview(graph.uri, graph.mutate_preview(source.text, params, name=name, branch=branch), as_json)
            return OK
        result = graph.mutate(
            source.text,
            params,
            name=name,
            branch=branch,
            actor=actor,
            message=message,
            idempotency_key=idempotency_key,
            if_commit=if_commit,
            stats=stats,
        )
    except CompileError as error:
        raise named_by_file(error, source) from error
    _show(result, stats, as_json)
    return OK


def _show(result: MutationResult, stats: bool, as_json: bool) -> None:
    if as_json:
        say_json(mutation_json(result, with_profile=stats))
        return
    show_mutation(result)
    if stats:
        say(result.stats(), to_stderr=True)
