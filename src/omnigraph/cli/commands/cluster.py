"""``omnigraph cluster``: graphs, schemas, stored queries, policies and tokens declared in a directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import ACTOR_VARIABLE, storage_options_option
from omnigraph.cli.args.options import json_option
from omnigraph.cli.args.settings import usual_actor
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import say_json

if TYPE_CHECKING:
    from omnigraph.cluster.control.session import Operator


@click.group("cluster", cls=CommandGroup, aliases={"refresh": "observe", "force-unlock": "unlock"})
def command() -> None:
    """Plan and apply graphs and policies declared in a directory."""


_config_option = click.option(
    "--config",
    "directory",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Directory of cluster.yaml. [default: .]",
)
_actor_option = click.option(
    "--as",
    "actor",
    metavar="ACTOR",
    envvar=ACTOR_VARIABLE,
    default=usual_actor,
    help=f"Author of commits and approvals. [default: {ACTOR_VARIABLE}, then the actor of the operator's settings]",
)


def _common(function: Callable[..., int]) -> Callable[..., int]:
    """The options of every command of the group."""
    for option in (json_option, storage_options_option, _config_option):
        function = option(function)
    return function


def _operator(directory: Path, storage_options: Mapping[str, str], actor: str | None = None) -> Operator:
    try:
        from omnigraph.cluster.control.session import Operator
    except ImportError as error:
        raise click.UsageError(
            f"clusters need {error.name}; install it with: pip install 'omnigraph[server]'"
        ) from error
    return Operator(directory, storage_options, actor)


@command.command("init")
@click.option("--graph", default="kb", metavar="ID", help="Id of the first graph. [default: kb]")
@_actor_option
@_common
def init_command(
    graph: str, actor: str | None, directory: Path, storage_options: Mapping[str, str], as_json: bool
) -> int:
    """Write a configuration to start from, and the first state.

    The directory gets cluster.yaml, a schema, a stored query and a policy. Existing files are never overwritten.
    """
    operator = _operator(directory, storage_options, actor)
    from omnigraph.cli.show.clusters import show_started
    from omnigraph.cluster.control.scaffold import init
    from omnigraph.wire.cluster.states import started_json

    started = init(operator, graph)
    if as_json:
        say_json(started_json(started))
    else:
        show_started(started)
    return _status(started)


@command.command("validate")
@_common
def validate_command(directory: Path, storage_options: Mapping[str, str], as_json: bool) -> int:
    """Check a configuration with its schemas, stored queries and policies.

    All problems are listed. The storage is not read.
    """
    operator = _operator(directory, storage_options)
    from omnigraph.cli.show.clusters import show_validation
    from omnigraph.cluster.control.apply import validate
    from omnigraph.wire.cluster.plans import validation_json

    validation = validate(operator)
    if as_json:
        say_json(validation_json(validation))
    else:
        show_validation(validation)
    return _status(validation)


@command.command("plan")
@_common
def plan_command(directory: Path, storage_options: Mapping[str, str], as_json: bool) -> int:
    """Show the changes from what was applied to what is declared.

    Each change is safe, risky or destructive. Nothing is changed. The digest at the end can be passed to
    `cluster apply --plan`, which then applies this plan or nothing.
    """
    operator = _operator(directory, storage_options)
    from omnigraph.cli.show.clusters import show_planning
    from omnigraph.cluster.control.apply import plan
    from omnigraph.wire.cluster.plans import plan_json

    planning = plan(operator)
    if as_json:
        say_json(plan_json(planning))
    else:
        show_planning(planning)
    return _status(planning)


@command.command("apply")
@click.option(
    "--plan", "expected", metavar="DIGEST", help="Apply only if the plan has this digest. [default: apply any plan]"
)
@_actor_option
@_common
def apply_command(
    expected: str | None, actor: str | None, directory: Path, storage_options: Mapping[str, str], as_json: bool
) -> int:
    """Make what is declared true, and record it in the state.

    Changes that need an approval, or depend on one that does, wait; the exit code is then 0, and `converged` of the
    JSON form is false. A run that was killed is completed by the next one.
    """
    operator = _operator(directory, storage_options, actor)
    from omnigraph.cli.show.clusters import show_application
    from omnigraph.cluster.control.apply import apply
    from omnigraph.wire.cluster.plans import application_json

    application = apply(operator, expected)
    if as_json:
        say_json(application_json(application))
    else:
        show_application(application)
    return _status(application)


@command.command("approve")
@click.argument("resource")
@_actor_option
@_common
def approve_command(
    resource: str, actor: str | None, directory: Path, storage_options: Mapping[str, str], as_json: bool
) -> int:
    """Approve the deletion of a graph: RESOURCE is graph.ID.

    The approval holds for the present configuration and the graph as it was applied, and is used once.
    """
    operator = _operator(directory, storage_options, actor)
    from omnigraph.cli.show.clusters import show_approving
    from omnigraph.cluster.control.apply import approve
    from omnigraph.wire.cluster.plans import approval_json

    approving = approve(operator, resource)
    if as_json:
        say_json(approval_json(approving))
    else:
        show_approving(approving)
    return _status(approving)


@command.command("status")
@_common
def status_command(directory: Path, storage_options: Mapping[str, str], as_json: bool) -> int:
    """Show what was applied, the lock, and files that are missing or changed."""
    operator = _operator(directory, storage_options)
    from omnigraph.cli.show.clusters import show_standing
    from omnigraph.cluster.control.status import status
    from omnigraph.wire.cluster.states import status_json

    standing = status(operator)
    if as_json:
        say_json(status_json(standing))
    else:
        show_standing(standing)
    return _status(standing)


@command.command("observe")
@_common
def observe_command(directory: Path, storage_options: Mapping[str, str], as_json: bool) -> int:
    """Compare the state with graphs and files as they are, and record what has drifted.

    Graphs are only read. The next plan repairs what has drifted.
    """
    operator = _operator(directory, storage_options)
    from omnigraph.cli.show.clusters import show_observing
    from omnigraph.cluster.control.observe import observe
    from omnigraph.wire.cluster.states import observation_json

    observing = observe(operator)
    if as_json:
        say_json(observation_json(observing))
    else:
        show_observing(observing)
    return _status(observing)


@command.command("import")
@_common
def import_command(directory: Path, storage_options: Mapping[str, str], as_json: bool) -> int:
    """Write the first state of a cluster, with the graphs that exist already."""
    operator = _operator(directory, storage_options)
    from omnigraph.cli.show.clusters import show_observing
    from omnigraph.cluster.control.observe import import_cluster
    from omnigraph.wire.cluster.states import observation_json

    observing = import_cluster(operator)
    if as_json:
        say_json(observation_json(observing))
    else:
        show_observing(observing)
    return _status(observing)


@command.command("unlock")
@click.argument("lock_id", required=False)
@click.option("--stale", is_flag=True, help="Release the lock if its process has ended; for storage on this machine.")
@_common
def unlock_command(
    lock_id: str | None, stale: bool, directory: Path, storage_options: Mapping[str, str], as_json: bool
) -> int:
    """Release the lock of a command that was killed, by its id.

    Make sure that the command does not run any more.
    """
    if (lock_id is None) != stale:
        raise click.UsageError("pass either the id of the lock, or --stale")
    operator = _operator(directory, storage_options)
    from omnigraph.cli.show.clusters import show_unlocking
    from omnigraph.cluster.control.status import unlock
    from omnigraph.wire.cluster.states import unlocked_json

    unlocking = unlock(operator, lock_id)
    if as_json:
        say_json(unlocked_json(unlocking))
    else:
        show_unlocking(unlocking)
    return _status(unlocking)


def _status(findings: Any) -> int:
    return OK if findings.ok else FAILED
