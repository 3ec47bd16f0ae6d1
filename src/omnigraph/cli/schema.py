"""``omnigraph schema``: commands about schemas and how they change."""

from __future__ import annotations

import click

from omnigraph.cli.addresses import Address, reads_graph, uri_argument
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.files import read_source
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.options import branch_option, json_option
from omnigraph.cli.output import count, paint, say, say_json
from omnigraph.schema.migrate import plan_texts
from omnigraph.schema.steps import MigrationPlan, Safety, step_text

_COLOURS = {Safety.SAFE: "green", Safety.NEEDS_DATA_CHECK: "yellow", Safety.REFUSED: "red"}
_WORDS = {Safety.SAFE: "safe", Safety.NEEDS_DATA_CHECK: "destructive", Safety.REFUSED: "refused"}


@click.group("schema", cls=CommandGroup, aliases={"get": "show"})
def command() -> None:
    """Show schemas and plan migrations."""


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


def _show(plan: MigrationPlan) -> None:
    for step in plan.steps:
        say(f"{paint('-', _COLOURS[step.safety], bold=True)} {step_text(step)}")
    say(_summary(plan))


def _summary(plan: MigrationPlan) -> str:
    if not plan.steps:
        return "no changes: both schemas mean the same"
    found = [step.safety for step in plan.steps]
    parts = [f"{found.count(kind)} {_WORDS[kind]}" for kind in Safety if kind in found]
    kinds = ", ".join(parts) if len(parts) > 1 else f"all {_WORDS[found[0]]}"
    verdict = paint("ok", "green", bold=True) if plan.supported else paint("refused", "red", bold=True)
    return f"{verdict}: {count(len(plan.steps), 'step')}, {kinds}"
