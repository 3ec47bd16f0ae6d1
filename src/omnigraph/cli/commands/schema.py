"""``omnigraph schema``: show schemas, and plan and apply migrations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import (
    Address,
    may_read_graph,
    reads_graph,
    storage_options_option,
    uri_argument,
    writes_graph,
)
from omnigraph.cli.args.files import read_source, replacing
from omnigraph.cli.args.options import (
    branch_option,
    idempotency_key_option,
    json_option,
    message_option,
    quiet_option,
    yes_option,
)
from omnigraph.cli.args.queries import named_by_file
from omnigraph.cli.args.typed_files import files_argument, typed_files
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.errors import CompileError
from omnigraph.lang.source import Source
from omnigraph.schema.migrate import plan_texts
from omnigraph.schema.migration import MigrationPlan, step_text
from omnigraph.schema.steps import Safety, drops_data
from omnigraph.wire.inferred import inferred_json
from omnigraph.wire.schemas import schema_plan_json, schema_result_json, schema_text_json

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.schema.result import SchemaResult

_COLOURS = {Safety.SAFE: "green", Safety.NEEDS_DATA_CHECK: "yellow", Safety.REFUSED: "red"}
_WORDS = {Safety.SAFE: "safe", Safety.NEEDS_DATA_CHECK: "to be checked", Safety.REFUSED: "refused"}


@click.group("schema", cls=CommandGroup, aliases={"get": "show"})
def command() -> None:
    """Show, infer and change schemas, and plan migrations."""


_allow_option = click.option(
    "--allow-data-loss", is_flag=True, help="Plan hard drops: cleanup may delete the dropped data."
)


@command.command("plan")
@uri_argument
@click.option("--schema", "schema_path", metavar="FILE.pg", help="New schema for a graph.")
@click.option("--from", "before_path", metavar="FILE.pg", help="Current schema, instead of a graph.")
@click.option("--to", "after_path", metavar="FILE.pg", help="New schema, with --from.")
@branch_option
@_allow_option
@may_read_graph
@json_option
def plan_command(
    address: Address | None,
    schema_path: str | None,
    before_path: str | None,
    after_path: str | None,
    branch: str,
    allow_data_loss: bool,
    as_json: bool,
) -> int:
    """Show the migration plan from the schema of a graph, or of a file, to a new schema.

    Nothing is changed and no data is read. Exits with 1 if a step is not supported.
    """
    if (before_path is None) != (after_path is None) or (before_path is None) == (schema_path is None):
        raise click.UsageError("pass a graph and --schema, or two files with --from and --to")
    if before_path is not None and after_path is not None:
        before, after = read_source(before_path), read_source(after_path)
        plan = plan_texts(before, after, allow_data_loss=allow_data_loss)
        return _show_plan({"from": before.name, "to": after.name}, plan, as_json)
    if address is None or schema_path is None:
        raise click.UsageError("no graph is given: name one, or pass two files with --from and --to")
    return _show_plan(*_planned(address.open(), read_source(schema_path), branch, allow_data_loss), as_json)


def _planned(
    graph: Graph, source: Source, branch: str, allow_data_loss: bool
) -> tuple[dict[str, object], MigrationPlan]:
    """The plan from the schema of a branch to that of a file, after the members that identify both."""
    try:
        plan = graph.plan_schema(source.text, branch=branch, allow_data_loss=allow_data_loss)
    except CompileError as error:
        raise named_by_file(error, source) from error
    return {"uri": graph.uri, "branch": branch, "applied": False}, plan


@command.command("apply")
@uri_argument
@click.option("--schema", "schema_path", required=True, metavar="FILE.pg", help="New schema.")
@branch_option
@_allow_option
@click.option(
    "--dry-run", is_flag=True, help="Show the steps and change nothing. Exits with 1 if a step is not supported."
)
@click.option(
    "--if-commit", metavar="ID", help="Apply only if this commit is the head of the branch; otherwise exit with 4."
)
@message_option
@idempotency_key_option
@writes_graph
@yes_option
@quiet_option
@json_option
def apply_command(
    address: Address,
    schema_path: str,
    branch: str,
    allow_data_loss: bool,
    dry_run: bool,
    if_commit: str | None,
    message: str | None,
    idempotency_key: str | None,
    actor: str | None,
    yes: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Migrate a branch to a new schema, as one commit.

    Entities that violate the new schema are reported, and then nothing is changed. Older commits keep their schema and
    data.
    """
    source = read_source(schema_path)
    graph = address.open()
    about, plan = _planned(graph, source, branch, allow_data_loss)
    if dry_run:
        return _show_plan(about, plan, as_json)
    address.refuse_managed()
    if any(drops_data(step) for step in plan.steps):
        address.confirm_loss("drop types or properties with their data", yes=yes)
    address.announce("schema apply", quiet)
    result = graph.apply_schema(
        source.text,
        branch=branch,
        allow_data_loss=allow_data_loss,
        actor=actor,
        message=message,
        idempotency_key=idempotency_key,
        if_commit=if_commit,
    )
    if as_json:
        say_json(schema_result_json(result))
    else:
        _show_applied(result)
    return OK


@command.command("infer")
@files_argument
@click.option("--out", metavar="FILE.pg", help="Write the schema to this file. [default: standard output]")
@storage_options_option
@json_option
def infer_command(files: tuple[str, ...], out: str | None, storage_options: Mapping[str, str], as_json: bool) -> int:
    """Guess a schema from data files, with every guess in a comment.

    Reads what `omnigraph import` reads; nothing else is written. The type is the name of the file (people.csv: Person)
    or the one in front of it.
    """
    from omnigraph.engine.graph import infer_schema

    inferred = infer_schema(typed_files(files), storage_options=storage_options)
    if out is not None:
        with replacing(out) as file:
            file.write(inferred.text.encode())
    if as_json:
        say_json(inferred_json(inferred))
    elif out is None:
        say(inferred.text.removesuffix("\n"))
    else:
        say(f"{paint('ok', 'green', bold=True)}: {count(len(inferred.types), 'type')} in {out}")
    return OK


@command.command("show")
@uri_argument
@branch_option
@reads_graph
@json_option
def show_command(address: Address, branch: str, as_json: bool) -> int:
    """Show the schema of a graph."""
    text = address.open().schema_text(branch)
    if as_json:
        say_json(schema_text_json(text))
    else:
        say(text.removesuffix("\n"))
    return OK


def _show_plan(about: dict[str, object], plan: MigrationPlan, as_json: bool) -> int:
    if as_json:
        say_json(schema_plan_json(about, plan))
    else:
        _show_steps(plan)
        say(_summary(plan))
    return OK if plan.supported else FAILED


def _show_applied(result: SchemaResult) -> None:
    ok = paint("ok", "green", bold=True)
    _show_steps(result.plan)
    for remark in result.remarks:
        say(f"{paint('note', 'yellow')}: {remark}", to_stderr=True)
    if result.commit is None:
        say(f"{ok}: {result.branch} has this schema already, no commit")
    else:
        say(f"{ok}: {count(len(result.plan.steps), 'step')} on {result.branch}, commit {result.commit.id}")


def _show_steps(plan: MigrationPlan) -> None:
    for step in plan.steps:
        say(f"{paint('-', _COLOURS[step.safety], bold=True)} {step_text(step)}")


def _summary(plan: MigrationPlan) -> str:
    if not plan.steps:
        return "no changes: both schemas mean the same"
    found = [step.safety for step in plan.steps]
    parts = [f"{found.count(kind)} {_WORDS[kind]}" for kind in Safety if kind in found]
    kinds = ", ".join(parts) if len(parts) > 1 else f"all {_WORDS[found[0]]}"
    verdict = paint("ok", "green", bold=True) if plan.supported else paint("refused", "red", bold=True)
    return f"{verdict}: {count(len(plan.steps), 'step')}, {kinds}"
