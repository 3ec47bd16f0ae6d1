"""``omnigraph branch``: create, list, delete and rename branches."""

from __future__ import annotations

import click

from omnigraph.cli.args.addresses import Address, reads_graph, uri_argument, writes_graph
from omnigraph.cli.args.completion import branch_names
from omnigraph.cli.args.options import dry_run_option, json_option, quiet_option, yes_option
from omnigraph.cli.args.row_output import chosen_format, format_option, show_list
from omnigraph.cli.commands.branch_merge import merge_command
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.commits import when
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.branches import (
    branch_loss_json,
    branches_json,
    created_branch_json,
    deleted_branch_json,
    renamed_branch_json,
)


@click.group("branch", cls=CommandGroup)
def command() -> None:
    """Create, list, merge, rename and delete branches."""


command.add_command(merge_command)


@command.command("create")
@click.argument("name")
@click.option(
    "--from",
    "parent",
    metavar="MOMENT",
    shell_complete=branch_names,
    help="Branch or other moment to start from, such as main~2. [default: main]",
)
@click.option("--at", "commit_id", metavar="MOMENT", help="Commit or time to start from, instead of a branch.")
@writes_graph
@quiet_option
@json_option
def create_command(
    address: Address,
    name: str,
    parent: str | None,
    commit_id: str | None,
    actor: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Create a branch from a branch or any commit. No data is copied."""
    if parent is not None and commit_id is not None:
        raise click.UsageError("pass either --from or --at, not both")
    graph = address.open()
    address.announce("branch create", quiet)
    start = parent or "main"
    made = graph.create_branch(name, start, at=commit_id, actor=actor)
    if as_json:
        say_json(created_branch_json(graph.uri, commit_id or start, made))
    else:
        say(f"{paint('ok', 'green', bold=True)}: branch {made.name} at {made.head}")
    return OK


@command.command("list")
@uri_argument
@click.option(
    "--against",
    metavar="BRANCH",
    shell_complete=branch_names,
    help="Count the commits that each branch is ahead of and behind another one, such as main.",
)
@reads_graph
@format_option
@json_option
def list_command(address: Address, against: str | None, format_: str | None, as_json: bool) -> int:
    """List the branches with their heads.

    A branch that cannot be read is listed as damaged, and the exit code is 1.
    """
    chosen = chosen_format(format_, as_json=as_json)
    branches = address.open().branches(against=against)
    status = FAILED if branches.damaged else OK
    if chosen == "json":
        say_json(branches_json(branches))
        return status
    columns: dict[str, type] = {"branch": str, "head": str, "created": str, "actor": str}
    rows: list[tuple[str | int | None, ...]] = [
        (item.name, item.head, when(item.created_at_us), item.actor) for item in branches
    ]
    rows += [(item.branch or item.path, "damaged", None, None) for item in branches.damaged]
    if against is not None:
        columns |= {"ahead": int, "behind": int}
        counts = [*((item.ahead, item.behind) for item in branches), *((None, None) for _ in branches.damaged)]
        rows = [(*row, *count) for row, count in zip(rows, counts, strict=True)]
    show_list("branch list", columns, rows, chosen)
    for item in branches.damaged:
        say(f"{paint('damaged', 'red', bold=True)}: {item.path} {item.what}", to_stderr=True)
    return status


@command.command("delete")
@click.argument("name", shell_complete=branch_names)
@dry_run_option
@writes_graph
@yes_option
@quiet_option
@json_option
def delete_command(
    address: Address, name: str, dry_run: bool, actor: str | None, yes: bool, quiet: bool, as_json: bool
) -> int:
    """Delete a branch.

    Its commits stay readable until cleanup. --dry-run counts the commits that no other branch contains.
    """
    graph = address.open()
    if dry_run:
        loss = graph.delete_branch_preview(name)
        if as_json:
            say_json(with_uri(graph.uri, branch_loss_json(loss)))
        else:
            only_here = count(len(loss.commits), "commit")
            say(f"would delete branch {loss.name} and {only_here} that no other branch contains; nothing was changed")
        return OK
    address.confirm_loss(f"delete branch {name}", yes=yes)
    address.announce("branch delete", quiet)
    graph.delete_branch(name, actor=actor)
    if as_json:
        say_json(deleted_branch_json(graph.uri, name, actor))
    else:
        say(f"{paint('ok', 'green', bold=True)}: deleted branch {name}")
    return OK


@command.command("rename")
@click.argument("name", metavar="OLD", shell_complete=branch_names)
@click.argument("new_name", metavar="NEW")
@writes_graph
@quiet_option
@json_option
def rename_command(address: Address, name: str, new_name: str, actor: str | None, quiet: bool, as_json: bool) -> int:
    """Rename a branch."""
    graph = address.open()
    address.announce("branch rename", quiet)
    graph.rename_branch(name, new_name, actor=actor)
    if as_json:
        say_json(renamed_branch_json(graph.uri, name, new_name, actor))
    else:
        say(f"{paint('ok', 'green', bold=True)}: renamed branch {name} to {new_name}")
    return OK
