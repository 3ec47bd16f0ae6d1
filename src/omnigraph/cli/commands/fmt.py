"""``omnigraph fmt``: formatter for ``.pg`` and ``.gq`` files."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath
from typing import Final

import click

from omnigraph.cli.args.files import read_source, read_stdin, replace_text
from omnigraph.cli.args.options import json_option
from omnigraph.cli.errors import say_error
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.errors import OmnigraphError, UsageError
from omnigraph.lang.source import Source
from omnigraph.wire.errors import error_json
from omnigraph.wire.program import formatted_file_json, formatted_files_json


def _format_pg(source: Source) -> str:
    from omnigraph.lang.pg_format import format_schema
    from omnigraph.lang.pg_parser import parse_schema

    return format_schema(parse_schema(source))


def _format_gq(source: Source) -> str:
    from omnigraph.lang.gq_format import format_queries
    from omnigraph.lang.gq_parser import parse_queries

    return format_queries(parse_queries(source))


LANGUAGES: Final[dict[str, Callable[[Source], str]]] = {"pg": _format_pg, "gq": _format_gq}


class Outcome(Enum):
    """The outcome for one file."""

    UNCHANGED = "unchanged"
    FORMATTED = "formatted"
    WOULD_CHANGE = "would change"
    FAILED = "error"


@dataclass(frozen=True, slots=True)
class Formatted:
    """One file of a run: its text before and after, or the error."""

    path: str
    outcome: Outcome
    before: str = ""
    after: str = ""
    error: OmnigraphError | None = None


@click.command("fmt")
@click.argument("files", nargs=-1)
@click.option(
    "--check", is_flag=True, help="List files that would change, without changing them; exit with 1 if there are any."
)
@click.option("--diff", is_flag=True, help="Print the diff without changing files.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Format standard input to standard output; needs --lang.")
@click.option("--lang", type=click.Choice(list(LANGUAGES)), help="Language. [default: by the suffix of the file]")
@json_option
def command(files: tuple[str, ...], check: bool, diff: bool, from_stdin: bool, lang: str | None, as_json: bool) -> int:
    """Format .pg and .gq files in place.

    Comments are kept, and formatting is idempotent. A file that does not parse is left unchanged.
    """
    if from_stdin == bool(files):
        raise click.UsageError("name the files to format, or pass --stdin")
    if from_stdin and lang is None:
        raise click.UsageError("--stdin needs --lang pg or --lang gq")
    in_place = not (check or diff or from_stdin)
    if lang is not None and from_stdin:
        results = [_format(read_stdin, "<stdin>", lang)]
    else:
        results = [_format_file(path, lang, in_place) for path in files]
    if as_json:
        _show_json(results, with_diff=diff, with_text=from_stdin)
    elif from_stdin:
        _show_stdin(results[0], check=check, diff=diff)
    else:
        _show(results, check=check, diff=diff)
    would_change = any(result.outcome is Outcome.WOULD_CHANGE for result in results)
    failed = any(result.outcome is Outcome.FAILED for result in results)
    return FAILED if failed or (check and would_change) else OK


def _format_file(path: str, lang: str | None, in_place: bool) -> Formatted:
    result = _format(lambda: read_source(path), click.format_filename(path), lang)
    if result.outcome is not Outcome.WOULD_CHANGE or not in_place:
        return result
    try:
        replace_text(path, result.after)
    except OmnigraphError as error:
        return Formatted(result.path, Outcome.FAILED, error=error)
    return Formatted(result.path, Outcome.FORMATTED, result.before, result.after)


def _format(read: Callable[[], Source], path: str, lang: str | None) -> Formatted:
    """Format one text; an error becomes part of the result, so that the other files are still formatted."""
    try:
        source = read()
        after = _language(path, lang)(source)
    except OmnigraphError as error:
        return Formatted(path, Outcome.FAILED, error=error)
    outcome = Outcome.UNCHANGED if after == source.text else Outcome.WOULD_CHANGE
    return Formatted(path, outcome, source.text, after)


def _language(path: str, lang: str | None) -> Callable[[Source], str]:
    wanted = lang or PurePath(path).suffix.removeprefix(".")
    if wanted not in LANGUAGES:
        raise UsageError(
            f"unknown language of {path}: the name ends neither in .pg nor in .gq",
            hint="pass --lang pg or --lang gq",
        )
    return LANGUAGES[wanted]


def _diff(result: Formatted) -> Iterator[str]:
    before, after = result.before.splitlines(), result.after.splitlines()
    names = (f"{result.path} (now)", f"{result.path} (formatted)")
    return difflib.unified_diff(before, after, *names, lineterm="")


def _show_json(results: Sequence[Formatted], *, with_diff: bool, with_text: bool) -> None:
    files = [
        formatted_file_json(
            result.path,
            result.outcome.value.replace(" ", "_"),
            error=None if result.error is None else error_json(result.error),
            text=result.after if with_text and result.error is None else None,
            diff="\n".join(_diff(result)) if with_diff and result.outcome is Outcome.WOULD_CHANGE else None,
        )
        for result in results
    ]
    say_json(formatted_files_json(files, failed=any(result.outcome is Outcome.FAILED for result in results)))


def _show_stdin(result: Formatted, *, check: bool, diff: bool) -> None:
    if result.error is not None:
        say_error(result.error)
    elif diff:
        _show_diff(result)
    elif check and result.outcome is Outcome.WOULD_CHANGE:
        say(f"would reformat {result.path}")
    elif not check:
        click.echo(result.after, nl=False)


def _show(results: Sequence[Formatted], *, check: bool, diff: bool) -> None:
    """Print files and diffs on standard output, errors and the summary on standard error."""
    for result in results:
        if result.error is not None:
            say_error(result.error)
        elif result.outcome is Outcome.FORMATTED:
            say(f"formatted {result.path}")
        elif result.outcome is Outcome.WOULD_CHANGE and diff:
            _show_diff(result)
        elif result.outcome is Outcome.WOULD_CHANGE and check:
            say(f"would reformat {result.path}")
    say(_summary(results), to_stderr=True)


def _show_diff(result: Formatted) -> None:
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in _diff(result):
        is_name = line.startswith(("+++", "---"))
        say(paint(line, bold=True) if is_name else paint(line, colours.get(line[:1])))


def _summary(results: Sequence[Formatted]) -> str:
    parts = []
    for outcome, words in (
        (Outcome.FORMATTED, "formatted"),
        (Outcome.WOULD_CHANGE, "would change"),
        (Outcome.UNCHANGED, "already formatted"),
        (Outcome.FAILED, "not formatted because of errors"),
    ):
        number = sum(result.outcome is outcome for result in results)
        if number:
            parts.append(f"{count(number, 'file')} {words}")
    return ", ".join(parts)
