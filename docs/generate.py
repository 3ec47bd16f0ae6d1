"""Writes the reference pages from the program itself: the command line, Python, and HTTP.

Run by ``make docs``; a test fails when a page is not what this would write.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import groupby, pairwise
from pathlib import Path

import click
from docs import http_reference

import omnigraph
from omnigraph import aio, errors
from omnigraph.cli.root import root
from omnigraph.engine.analysis.result import AnalysisResult
from omnigraph.engine.analysis.run import Analysis
from omnigraph.exec.analytics.registry import ALGORITHMS
from omnigraph.query.types.manual import Entry, entries
from omnigraph.query.types.rules import Nulls

PAGES = Path(__file__).parent / "user"
WIDTH = 100


def command_line() -> str:
    """Every command with its help."""
    lines = [
        "# Command line reference",
        "",
        "Made from the program by `make docs`. [The command line](cli.md) explains the commands with examples.",
        "",
    ]
    for path, command in _commands(root, "omnigraph"):
        context = click.Context(
            command,
            info_name=path,
            max_content_width=WIDTH,
            terminal_width=WIDTH,
            help_option_names=["-h", "--help"],
        )
        lines += [f"## {path}", "", "```text", _plain(command.get_help(context)), "```", ""]
    return "\n".join(lines)


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands(inner, f"{path} {name}")


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def python() -> str:
    """The public names with their signatures and docstrings."""
    lines = ["# Python reference", "", "Made from the docstrings by `make docs`.", ""]
    for name in ("create", "open", "repair", "retrying"):
        lines += _function(f"omnigraph.{name}", getattr(omnigraph, name))
    lines += ["## omnigraph.Graph", "", text(omnigraph.Graph), ""]
    for name, member in members(omnigraph.Graph):
        if isinstance(member, property):
            lines += [f"### graph.{name}", "", text(member), ""]
        else:
            lines += _function(f"graph.{name}", member, level=3)
    lines += ["## omnigraph.LoadOptions", "", text(omnigraph.LoadOptions), "", *_fields(omnigraph.LoadOptions), ""]
    lines += ["## graph.analyze", "", text(Analysis), ""]
    for name, member in vars(Analysis).items():
        if not name.startswith("_"):
            lines += _function(f"graph.analyze.{name}", member, level=3)
        if name in ALGORITHMS:
            columns = ", ".join(f"`{column}`" for column in ALGORITHMS[name].columns)
            lines += [f"Columns: `type`, `id`, {columns}.", ""]
    lines += ["## Results of graph.analyze", "", text(AnalysisResult), ""]
    for name in ("top", "write"):
        lines += _function(f"result.{name}", getattr(AnalysisResult, name), level=3)
    lines += ["## omnigraph.aio", "", text(aio), ""]
    for name in ("open", "create", "repair", "retrying"):
        lines += _function(f"omnigraph.aio.{name}", getattr(aio, name), level=3)
    lines += ["### omnigraph.aio.AsyncGraph", "", text(aio.AsyncGraph), ""]
    for name in ("run", "aclose"):
        lines += _function(f"graph.{name}", getattr(aio.AsyncGraph, name), level=4)
    lines += [
        "## Errors",
        "",
        "All are below `omnigraph.errors.OmnigraphError`; [errors](errors.md) says what to do.",
        "",
    ]
    lines += [f"- `{error.__name__}` (`{error.code}`): {_summary(error)}" for error in all_errors()]
    return "\n".join([*lines, ""])


def functions() -> str:
    """Every function of expressions, by group."""
    lines = [
        "# Functions",
        "",
        "Made from the table of functions by `make docs`.",
        "They may stand wherever an expression does: in predicates, inline matches, `return` and `order`.",
        "Both engines give the same values.",
        "",
        "Positions in texts and lists count from 0, and negative ones from the end.",
        "Dates and times are in UTC.",
        "A result in the column *null* is null under that condition; without an entry it is null if an argument is.",
        "",
    ]
    for group, rows in groupby(entries(), key=lambda entry: entry.group):
        lines += [f"## {group.value}", "", "| Form | Value | Null | Example |", "|---|---|---|---|"]
        lines += [_entry(row) for row in rows]
        lines.append("")
    lines += [
        "## Types of the results",
        "",
        "Arguments of `coalesce`, `nullif`, `least` and `greatest` need one common type, and so do values of `case`.",
        "A literal takes the type of the values beside it if it fits: `coalesce($p.age, 0)` has the type of `age`.",
        "Numbers of different types become F64 if one of them is a float, otherwise I64.",
        "I64 and U64 have no common type.",
        "",
        "`cast` knows these types:",
        "",
        "| From | To |",
        "|---|---|",
        "| number | every number type; a fraction is cut off |",
        "| number, Bool, Date, DateTime | String: digits without an exponent, `true` and `false`, ISO 8601 |",
        "| String | Bool, every number type, Date, DateTime |",
        "| Bool | number: 0 or 1 |",
        "| Date, DateTime | each other |",
        "",
        "A branch of `if` and `case` is computed only where it is taken.",
        "A number that does not fit its type, or a date outside the years 1 to 9999, is an error where it is computed.",
        "",
        "## Patterns",
        "",
        "`regex_match` and `regex_extract` use [RE2](https://github.com/google/re2/wiki/Syntax): time is linear in the "
        "text, without look-around and back-references.",
        "`\\d`, `\\w` and `\\b` are ASCII; `\\pL` is a letter of any script.",
        "A pattern is a literal or a parameter and is checked before the query runs.",
        "",
    ]
    return "\n".join(lines)


def _entry(row: Entry) -> str:
    nulls = "" if row.nulls is Nulls.STRICT else row.nulls.value
    expression, value = row.example
    return f"| `{row.signature}` | {row.says} | {nulls} | `{expression}` is `{value}` |"


def members(type_: type) -> list[tuple[str, object]]:
    """Public methods and properties of a class, in the order of its source."""
    return [(name, member) for name, member in vars(type_).items() if not name.startswith("_")]


def _fields(type_: type) -> list[str]:
    """The fields of a dataclass with their defaults and the texts below them, as a table."""
    [definition] = ast.parse(inspect.cleandoc(inspect.getsource(type_))).body
    assert isinstance(definition, ast.ClassDef)
    rows = ["| Option | Default | Meaning |", "|---|---|---|"]
    for field, below in pairwise([*definition.body, ast.Pass()]):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is not None:
            meaning = below.value.value if _is_text(below) else ""  # type: ignore[attr-defined] # a constant, see _is_text
            default = getattr(type_(), field.target.id)
            shown = default.value if isinstance(default, Enum) else default
            rows.append(f"| `{field.target.id}` | `{shown!r}` | {str(meaning).replace('``', '`')} |")
    return rows


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


@dataclass(frozen=True)
class _Bare:
    """A text that is shown as it is."""

    shown: str

    def __repr__(self) -> str:
        return self.shown


def _function(name: str, function: object, level: int = 2) -> list[str]:
    assert callable(function)
    signature = inspect.signature(function)
    parameters = [_shown(item) for item in signature.parameters.values() if item.name != "self"]
    returned = _short(signature.return_annotation)
    shown = f"{name}{inspect.Signature(parameters)} -> {returned}"
    if len(shown) > WIDTH:
        inner = ",\n".join(f"    {parameter}" for parameter in _starred(parameters))
        shown = f"{name}(\n{inner},\n) -> {returned}"
    return [f"{'#' * level} {name}", "", "```text", shown, "```", "", text(function), ""]


def _shown(parameter: inspect.Parameter) -> inspect.Parameter:
    default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
    return parameter.replace(annotation=_Bare(_short(parameter.annotation)), default=default)


def _starred(parameters: list[inspect.Parameter]) -> list[object]:
    """With the star that parts positional from named parameters."""
    named = [index for index, item in enumerate(parameters) if item.kind is inspect.Parameter.KEYWORD_ONLY]
    return [*parameters[: named[0]], "*", *parameters[named[0] :]] if named else list(parameters)


def _short(annotation: object) -> str:
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return re.sub(r"\b[a-z_]+(\.[a-z_]+)*\.", "", name)


def text(thing: object) -> str:
    """The docstring of a thing, as Markdown."""
    return inspect.cleandoc(getattr(thing, "__doc__", None) or "").replace("``", "`")


def _summary(thing: object) -> str:
    return text(thing).split("\n\n")[0].replace("\n", " ")


def all_errors() -> list[type[errors.OmnigraphError]]:
    """The tree of errors from the root, each before those below it."""

    def below(error: type[errors.OmnigraphError]) -> Iterator[type[errors.OmnigraphError]]:
        yield error
        for inner in error.__subclasses__():
            if inner.__module__ == errors.__name__:
                yield from below(inner)

    return list(below(errors.OmnigraphError))


WRITTEN = {
    "cli-reference.md": command_line,
    "functions.md": functions,
    "python-reference.md": python,
    "http-reference.md": http_reference.page,
}
"""The pages that are made, by their names."""


def main() -> None:
    """Write all pages."""
    for name, page in WRITTEN.items():
        (PAGES / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
