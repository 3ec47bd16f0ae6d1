"""Output formats of rows: the option --format, and printing a result in the chosen format."""

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
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="Output format. [default: the operator's settings, then table]",
)


def chosen_format(format_: str | None, *, as_json: bool) -> str:
    """The format; raises for contradicting options, and for binary output to a terminal."""
    if as_json and format_ not in (None, "json"):
        raise click.UsageError("pass either --json or --format, not both")
    chosen = "json" if as_json else format_ or settings().output or "table"
    if chosen == "arrow" and sys.stdout.isatty():
        raise UsageError(
            "Arrow output to a terminal is not supported", hint="redirect it to a file or program: > rows.arrow"
        )
    return chosen


def show_list(
    name: str, columns: Mapping[str, type], rows: Sequence[Sequence[object]], format_: str, **where: Any
) -> None:
    """Print a list: aligned columns, or the rows of a query. Commands print JSON themselves, with more members."""
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
            # Cells are cut only for terminals: files and pipes get whole values unless the settings say otherwise.
            width = config.table_width or (read_formats.COLUMN_WIDTH_MAX if sys.stdout.isatty() else sys.maxsize)
            for line in read_formats.table_lines(result, width, wrap=config.table_layout == "wrap"):
                say(line)
        case "kv":
            for line in read_formats.kv_lines(result):
                say(line)
        case _:
            lines = read_formats.csv_lines(result) if format_ == "csv" else read_formats.jsonl_lines(result)
            # Machine-readable formats are UTF-8, whatever the encoding of the terminal.
            for line in lines:
                sys.stdout.buffer.write(f"{line}\n".encode())
    sys.stdout.flush()
