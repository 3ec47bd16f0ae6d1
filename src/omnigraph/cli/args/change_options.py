"""Options that filter changes, and the text form of changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Command
from omnigraph.cli.args.options import types_option
from omnigraph.cli.args.row_output import show_rows
from omnigraph.cli.show.output import paint, say
from omnigraph.cli.show.tables import cell
from omnigraph.core.limits import FEED_CHANGES_PER_PAGE, FEED_CHANGES_PER_PAGE_MAX

if TYPE_CHECKING:
    from omnigraph.engine.history.commit_changes import ChangeBlock
    from omnigraph.history.changes import Change

_OPTIONS = (
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice(("node", "edge")),
        help="Only nodes, or only edges. [default: both]",
    ),
    types_option,
    click.option(
        "--op",
        "ops",
        multiple=True,
        type=click.Choice(("insert", "update", "delete")),
        help="Only changes of this operation; may be repeated. [default: all]",
    ),
)

_COLOURS = {"+": "green", "~": "yellow", "-": "red"}


def chooses_changes(command: Command) -> Command:
    """Give a command the options --kind, --type and --op."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


page_limit_option = click.option(
    "--limit",
    type=int,
    default=FEED_CHANGES_PER_PAGE,
    metavar="N",
    help=f"Maximum number of changes, up to {FEED_CHANGES_PER_PAGE_MAX:,}. [default: {FEED_CHANGES_PER_PAGE:,}]",
)


def show_blocks(name: str, blocks: Sequence[ChangeBlock], format_: str, about: Mapping[str, object]) -> None:
    """Print changes of commits as rows. Cursors are in the first line of JSON lines, else on standard error."""
    from omnigraph.engine.history.commit_changes import blocks_table
    from omnigraph.engine.listing import listing

    known = {key: value for key, value in about.items() if value is not None}
    show_rows(listing(name, blocks_table(blocks), about=known), format_)
    for key, value in known.items() if format_ != "jsonl" else ():
        say(f"{key}: {value}", to_stderr=True)


def say_changes(changes: Iterable[Change], indent: str = "") -> None:
    """One line per change."""
    from omnigraph.history.changes import change_text

    for change in changes:
        text = cell(change_text(change))
        say(indent + paint(text, _COLOURS[text[0]]))
