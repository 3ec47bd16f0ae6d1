"""The query and parameters of a command, from the command line or from a file."""

from __future__ import annotations

import json
from dataclasses import replace

import click

from omnigraph.cli.args.addresses import Address, Command
from omnigraph.cli.args.files import read_source
from omnigraph.errors import CompileError, InputError, ParameterError
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.source import Source

_OPTIONS = (
    click.argument("name", required=False),
    click.option("-e", "--query-string", "text", metavar="TEXT", help="Text of the query."),
    click.option("--query", "query_path", metavar="FILE.gq", help="File with one or more queries."),
    click.option("--params", "params_text", metavar="JSON", help="Parameters, as a JSON object."),
    click.option("--params-file", "params_path", metavar="FILE", help="File with the parameters."),
)


def takes_query(command: Command) -> Command:
    """Give a command NAME and the options that ``query_source`` and ``given_params`` read."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def is_stored(name: str | None, text: str | None, query_path: str | None, address: Address) -> bool:
    """True if only a name is given, and the graph is behind a server: then it is the name of a stored query."""
    return name is not None and text is None and query_path is None and address.is_behind_server


def query_source(text: str | None, query_path: str | None) -> Source:
    """The text of the query or queries."""
    if text is not None and query_path is not None:
        raise click.UsageError("pass either -e or --query, not both")
    if query_path is not None:
        source = read_source(query_path)
    elif text is not None:
        source = Source(text, "<query>")
    else:
        raise click.UsageError("pass a query with -e, or a file with --query; NAME alone is a stored query of a server")
    if not source.text.strip():
        raise InputError(
            f"{source.name} is empty", hint="a query looks like: query all() { match { $p: Person } return { $p } }"
        )
    return source


def given_params(text: str | None, path: str | None) -> dict[str, object] | None:
    """The parameters, or None if none are given. They are checked when the query is bound."""
    if text is not None and path is not None:
        raise click.UsageError("pass either --params or --params-file, not both")
    if path is not None:
        source = read_source(path)
        return _parse(source.text, source.name)
    return None if text is None else _parse(text, "--params")


def _parse(text: str, name: str) -> dict[str, object]:
    from omnigraph.query.types.supplied import kind_of

    example = 'write an object, for example --params \'{"name": "Ada"}\''
    try:
        params = json.loads(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        place = f"{error.msg.lower()} at {line}column {error.colno}"
        raise ParameterError(f"{name} is not JSON: {place}", hint=example) from error
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{name} is not JSON: nested too deeply, or a number is too long", hint=example) from error
    if not isinstance(params, dict):
        raise ParameterError(f"{name} must be an object, got {kind_of(params)}", hint=example)
    return params


def named_by_file(error: CompileError, source: Source) -> CompileError:
    """The same error with diagnostics that name the user's file: the graph was given only the text."""
    located = [replace(item, source=source) if isinstance(item, Diagnostic) else item for item in error.diagnostics]
    return CompileError(located)
