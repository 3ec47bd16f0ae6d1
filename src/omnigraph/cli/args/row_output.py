"""Output of rows: the options --format, --output and --null, and printing a result in the chosen format."""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from omnigraph.cli.args.addresses import Command
from omnigraph.cli.args.files import writing
from omnigraph.cli.args.settings import settings
from omnigraph.cli.show.output import is_utf8, paint, say
from omnigraph.cli.show.tables import aligned
from omnigraph.errors import UsageError

if TYPE_CHECKING:
    from omnigraph.cli.show.machine_formats import Delimited
    from omnigraph.engine.query.result import QueryResult

TEXT_FORMATS: Final = ("table", "kv", "csv", "tsv", "json", "jsonl", "ndjson")
BINARY_FORMATS: Final = ("arrow", "parquet")
FORMATS: Final = (*TEXT_FORMATS, *BINARY_FORMATS)
_SUFFIXES: Final = {f".{name}": name for name in FORMATS if name not in ("table", "kv")} | {".arrows": "arrow"}
_DELIMITED: Final = ("csv", "tsv")
_PATH: Final = "omnigraph.output"
_NULL: Final = "omnigraph.null"

_OPTIONS: Final = (
    click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        help="Output format. [default: the suffix of --output, then the operator's settings, then table]",
    ),
    click.option(
        "--output",
        "output_path",
        metavar="FILE",
        help="Output file or s3://... address, replaced once it is complete. [default: standard output]",
    ),
    click.option("--null", "null_text", metavar="TEXT", help="Mark for null in csv and tsv. [default: null]"),
)


def format_option(command: Command) -> Command:
    """Give a command --format, --output and --null; it is called with ``format_`` for ``chosen_format``."""

    @functools.wraps(command)
    def run(*, output_path: str | None, null_text: str | None, **others: Any) -> int:
        context = click.get_current_context()
        context.meta[_PATH], context.meta[_NULL] = output_path, null_text
        if output_path is None:
            return command(**others)
        with _redirected(output_path, context.params.get("storage_options") or {}):
            status = command(**others)
        say(f"{paint('ok', 'green', bold=True)}: wrote {click.format_filename(output_path)}", to_stderr=True)
        return status

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


@contextmanager
def _redirected(path: str, options: Mapping[str, str]) -> Iterator[None]:
    """Send standard output to a file that becomes visible once it is complete."""
    with writing(path, options) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        try:
            with redirect_stdout(text):
                yield
            text.flush()
        finally:
            # The wrapper would close the file before it is renamed.
            text.detach()


def chosen_format(format_: str | None, *, as_json: bool) -> str:
    """The format; raises for contradicting options, and for binary output to a terminal."""
    if as_json and format_ not in (None, "json"):
        raise click.UsageError("pass either --json or --format, not both")
    given = click.get_current_context().meta
    path, null = given.get(_PATH), given.get(_NULL)
    suffix = os.path.splitext(path)[1].lower() if path else ""
    chosen = "json" if as_json else format_ or _SUFFIXES.get(suffix) or settings().output or "table"
    if null is not None:
        _check_null(null, chosen)
    if chosen in BINARY_FORMATS and sys.stdout.isatty():
        raise UsageError(
            f"{chosen.capitalize()} output to a terminal is not supported",
            hint=f"write it to a file with --output rows.{chosen}, or pipe it to a program",
        )
    return chosen


def _check_null(null: str, format_: str) -> None:
    if format_ not in _DELIMITED:
        raise click.UsageError(f"--null applies to the formats csv and tsv, not to {format_}")
    if any(char in null for char in ',\t"\r\n'):
        raise click.UsageError(f"--null {null!r} contains a separator, a quote or a line break")


def show_list(
    name: str, columns: Mapping[str, type], rows: Sequence[Sequence[object]], format_: str, **where: Any
) -> None:
    """Print a list: aligned columns, or the rows of a query. Commands print JSON themselves, with more members."""
    if format_ == "table":
        if sys.stdout.isatty():
            from omnigraph.cli.show.terminal_tables import draw_list

            draw_list(tuple(columns), rows)
        else:
            say(aligned(tuple(columns), rows))
        return
    from omnigraph.engine.listing import listed

    show_rows(listed(name, columns, rows, **where), format_)


def show_rows(result: QueryResult, format_: str, *, with_profile: bool = False) -> None:
    """Print the rows; ``with_profile`` adds the profile of the operators to JSON."""
    from omnigraph.cli.show import machine_formats as formats

    match format_:
        case "table":
            _show_table(result)
        case "kv":
            from omnigraph.cli.show.read_formats import kv_lines
            from omnigraph.cli.show.terminal_tables import shown_text

            # Whole values go to files and pipes.
            for line in kv_lines(result, shown_text) if sys.stdout.isatty() else kv_lines(result):
                say(line)
        case "json":
            for part in formats.json_parts(result, with_profile=with_profile, is_ascii=not is_utf8(sys.stdout)):
                sys.stdout.write(part)
            say()
        case "arrow":
            result.write_arrow(sys.stdout.buffer)
        case "parquet":
            result.to_parquet(sys.stdout.buffer)
        case "jsonl":
            _write_lines(formats.jsonl_lines(result))
        case "ndjson":
            _write_lines(formats.ndjson_lines(result))
        case _:
            _write_lines(_with_null(formats.CSV if format_ == "csv" else formats.TSV).lines(result))
    sys.stdout.flush()


def _show_table(result: QueryResult) -> None:
    config = settings()
    if sys.stdout.isatty():
        from omnigraph.cli.show.terminal_tables import draw_rows

        draw_rows(result, width_max=config.table_width, wraps=config.table_layout != "truncate")
        return
    from omnigraph.cli.show.read_formats import table_lines

    # Files and pipes get whole values unless the settings name a width.
    for line in table_lines(result, config.table_width or sys.maxsize, wrap=config.table_layout == "wrap"):
        say(line)


def _with_null(format_: Delimited) -> Delimited:
    null = click.get_current_context().meta.get(_NULL)
    return format_ if null is None else replace(format_, null=null, quotes_null_text=True)


def _write_lines(lines: Iterable[str]) -> None:
    """Machine-readable formats are UTF-8, whatever the encoding of the terminal."""
    for line in lines:
        sys.stdout.buffer.write(f"{line}\n".encode())
