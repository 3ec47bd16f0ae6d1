"""Printing the rows of a result in the format that was asked for, for every command that has some."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from omnigraph.cli.args.settings import settings
from omnigraph.cli.show.output import say, say_json
from omnigraph.cli.show.tables import aligned
from omnigraph.errors import UsageError

if TYPE_CHECKING:
    from omnigraph.engine.query.result import QueryResult

FORMATS: Final = ("table", "kv", "csv", "jsonl", "json", "arrow")

format_option = click.option(
    "--format", "format_", type=click.Choice(FORMATS), help="How rows are printed; table if not given."
)


def chosen_format(format_: str | None, *, as_json: bool) -> str:
    """The format; raises for two at once, and for bytes on a terminal."""
    if as_json and format_ not in (None, "json"):
        raise click.UsageError("pass either --json or --format, not both")
    chosen = "json" if as_json else format_ or settings().output or "table"
    if chosen == "arrow" and sys.stdout.isatty():
        raise UsageError("Arrow data is not for terminals", hint="send it to a file or a program: > rows.arrow")
    return chosen


def show_list(
    name: str, columns: Mapping[str, type], rows: Sequence[Sequence[object]], format_: str, **where: Any
) -> None:
    """Print a list: aligned for people, else as the rows of a query. JSON is for the command, which knows more."""
    if format_ == "table":
        say(aligned(tuple(columns), rows))
        return
    from omnigraph.engine.listing import listed

    show_rows(listed(name, columns, rows, **where), format_)


def show_rows(result: QueryResult, format_: str) -> None:
    """Print the rows."""
    from omnigraph.cli.show import read_formats

    match format_:
        case "json":
            from omnigraph.wire.results import result_json

            say_json(result_json(result))
        case "arrow":
            result.write_arrow(sys.stdout.buffer)
        case "table":
            config = settings()
            # What goes to a file or a program is whole, unless the operator wants it otherwise.
            width = config.table_width or (read_formats.COLUMN_WIDTH_MAX if sys.stdout.isatty() else sys.maxsize)
            for line in read_formats.table_lines(result, width, wrap=config.table_layout == "wrap"):
                say(line)
        case "kv":
            for line in read_formats.kv_lines(result):
                say(line)
        case _:
            lines = read_formats.csv_lines(result) if format_ == "csv" else read_formats.jsonl_lines(result)
            # What programs read is UTF-8, whatever the terminal speaks.
            for line in lines:
                sys.stdout.buffer.write(f"{line}\n".encode())
    sys.stdout.flush()
