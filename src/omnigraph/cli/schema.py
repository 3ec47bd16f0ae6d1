"""``omnigraph schema``: commands about schemas and how they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.addresses import Address, reads_graph, uri_argument, writes_graph
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.files import read_source
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.options import (
    actor_option,
    branch_option,
    idempotency_key_option,
    json_option,
    message_option,
    yes_option,
)
from omnigraph.cli.output import count, paint, say, say_json
from omnigraph.cli.queries import named_by_file
from omnigraph.errors import CompileError
from omnigraph.schema.migrate import plan_texts
from omnigraph.schema.migration import MigrationPlan, step_text
from omnigraph.schema.steps import DropProperty, DropType, Safety

if TYPE_CHECKING:
    from omnigraph.engine.schema_result import SchemaResult

_COLOURS = {Safety.SAFE: "green", Safety.NEEDS_DATA_CHECK: "yellow", Safety.REFUSED: "red"}
_WORDS = {Safety.SAFE: "safe", Safety.NEEDS_DATA_CHECK: "to be checked", Safety.REFUSED: "refused"}


@click.group("schema", cls=CommandGroup, aliases={"get": "show"})
def command() -> None:
    """Show and change schemas, and plan migrations."""


@command.command("plan")
@click.option("--from", "before_path", required=True, metavar="FILE.pg", help="The schema that is in use.")
@click.option("--to", "after_path", required=True, metavar="FILE.pg", help="The schema that is wanted.")
@click.option("--allow-data-loss", is_flag=True, help="Plan drops that also remove the data from older versions.")
@json_option
def plan_command(before_path: str, after_path: str, allow_data_loss: bool, as_json: bool) -> int:
    """Show the steps of a migration between two schemas.

    Nothing is changed and no data is read. Exits with 1 if a step is not supported.
    """
    before, after = read_source(before_path), read_source(after_path)
    plan = plan_texts(before, after, allow_data_loss=allow_data_loss)
    if as_json:
        say_json({"from": before.name, "to": after.name, "step_count": len(plan.steps), **plan.to_json()})
    else:
        _show(plan)
    return OK if plan.supported else FAILED


@command.command("apply")
@uri_argument
@click.option("--schema", "schema_path", required=True, metavar="FILE.pg", help="The schema that is wanted.")
@branch_option
@click.option("--allow-data-loss", is_flag=True, help="Plan drops as hard ones, after which nobody relies on the data.")
@click.option("--dry-run", is_flag=True, help="Show the steps; change nothing. Exits with 1 if one is not supported.")
@click.option("--if-commit", metavar="ID", help="Only if this commit is the head of the branch; else exit with 4.")
@message_option
@idempotency_key_option
@writes_graph
@actor_option
@yes_option
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
    as_json: bool,
) -> int:
    """Give a branch another schema, as one commit.

    Entities that do not comply with it are named, and then nothing is changed. Older commits keep their schema and
    their data.
    """
    source = read_source(schema_path)
    graph = address.open()
    try:
        plan = graph.plan_schema(source.text, branch=branch, allow_data_loss=allow_data_loss)
        if dry_run:
            return _show_dry(graph.uri, branch, plan, as_json)
        if any(isinstance(step, DropType | DropProperty) for step in plan.steps):
            address.confirm_loss("drop types or properties with their data", yes=yes)
        result = graph.apply_schema(
            source.text,
            branch=branch,
            allow_data_loss=allow_data_loss,
            actor=actor,
            message=message,
            idempotency_key=idempotency_key,
            if_commit=if_commit,
        )
    except CompileError as error:
        raise named_by_file(error, source) from error
    if as_json:
        say_json(result.to_json())
    else:
        _show_applied(result)
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
        say_json({"schema_source": text})
    else:
        say(text.removesuffix("\n"))
    return OK


def _show_dry(uri: str, branch: str, plan: MigrationPlan, as_json: bool) -> int:
    if as_json:
        facts = {"uri": uri, "branch": branch, "applied": False, "step_count": len(plan.steps)}
        say_json({**facts, **plan.to_json()})
    else:
        _show(plan)
    return OK if plan.supported else FAILED


def _show_applied(result: SchemaResult) -> None:
    ok = paint("ok", "green", bold=True)
    _show_steps(result.plan)
    if result.commit is None:
        say(f"{ok}: {result.branch} has this schema already, no commit")
    else:
        say(f"{ok}: {count(len(result.plan.steps), 'step')} on {result.branch}, commit {result.commit.id}")


def _show(plan: MigrationPlan) -> None:
    _show_steps(plan)
    say(_summary(plan))


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
