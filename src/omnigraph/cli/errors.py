"""Reporting of failed runs: message, stream and exit code.

Errors of the tree are printed with their hints, or as JSON with `--json`. Any other exception is a bug: it is printed
in one line, and with its traceback if `OMNIGRAPH_DEBUG` is set.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import click

from omnigraph.cli.exit_codes import BROKEN_PIPE, FAILED, INTERRUPTED, PRECONDITION_LOST, USAGE
from omnigraph.cli.show.output import paint, say, say_json
from omnigraph.errors import OmnigraphError, PreconditionFailed, UsageError

OTHER_NAMES: Final = {"--port": "--bind", "--host": "--bind", "--database": "--store", "--db": "--store"}
"""Names that options have in other programs."""

STAMP_PATH: Final = "omnigraph.json"
"""As in ``manifest.layout``, which imports more than a report of an error needs."""


@contextmanager
def quiet_when_closed() -> Iterator[None]:
    """End the program silently if the reader of its output goes away, as in ``omnigraph ... | head``."""
    try:
        yield
    except BrokenPipeError:
        abandon_output()
        raise click.exceptions.Exit(BROKEN_PIPE) from None


class Interrupted(click.Abort):
    """Ctrl-C during work whose outcome must be explained, such as a load."""


def report(error: Exception, arguments: Sequence[str], *, as_json: bool) -> int:
    """Print an error of the command that the arguments call, and return the exit code."""
    match error:
        case click.Abort():
            say(f"interrupted: {error}" if isinstance(error, Interrupted) else "interrupted", to_stderr=True)
            return INTERRUPTED
        case click.UsageError():
            return _report_usage(error, arguments, as_json)
        case click.ClickException():
            _say_failure(error.format_message(), code="error", hint=None, as_json=as_json)
            return FAILED
        case OmnigraphError():
            _report_error(error, as_json)
            return _status(error)
        case OSError() if error.errno is not None and error.filename is None:
            # Input and output files are handled where their names are known: this is standard output itself.
            message = f"cannot write the output: {(error.strerror or str(error)).lower()}"
            _say_failure(message, code="io_error", hint=None, as_json=False)
            abandon_output()
            return FAILED
        case _:
            return _report_bug(error, as_json)


def abandon_output() -> None:
    """Discard buffered output: Python would flush it again at exit, fail, and replace our exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _status(error: OmnigraphError) -> int:
    match error:
        case PreconditionFailed():
            return PRECONDITION_LOST
        case UsageError():
            return USAGE
        case _:
            return FAILED


def say_error(error: OmnigraphError) -> None:
    """Print an error as text: compiler diagnostics with excerpts, others with their hint."""
    from omnigraph.wire.errors import located

    if diagnostics := located(error):
        from omnigraph.cli.show.excerpts import draw_all

        say(draw_all(diagnostics), to_stderr=True)
    else:
        _say_failure(error.message, code=error.code, hint=error.command_hint, as_json=False)


def _report_error(error: OmnigraphError, as_json: bool) -> None:
    if as_json:
        from omnigraph.wire.errors import error_json

        say_json(error_json(error))
    else:
        say_error(error)


def _report_usage(error: click.UsageError, arguments: Sequence[str], as_json: bool) -> int:
    if isinstance(error, click.NoSuchOption):
        error = _suggesting_shown(error)
    # Click lists the choices of an option on separate lines.
    message = " ".join(error.format_message().split()).rstrip(".")
    path = error.ctx.command_path if error.ctx is not None else "omnigraph"
    # Errors about one option have classes of their own: what else stands in the arguments is not their cause.
    hint = _misplaced_graph(error.ctx, arguments) if type(error) is click.UsageError else None
    hint = hint or f"see `{path} --help`"
    _say_failure(message[:1].lower() + message[1:], code=UsageError.code, hint=hint, as_json=as_json)
    return USAGE


def _misplaced_graph(ctx: click.Context | None, arguments: Sequence[str]) -> str | None:
    """A hint for ``omnigraph sql kb.omni "select 1"``: this command takes its graph by an option."""
    names = _shown_names(ctx)
    if "--store" not in names or names & {"uri", "graphs"} or "--store" in arguments:
        return None
    for word in arguments:
        if "://" in word or os.path.isfile(os.path.join(word, STAMP_PATH)):
            return f"name the graph by an option: --store {word}"
    return None


def _suggesting_shown(error: click.NoSuchOption) -> click.NoSuchOption:
    """The error with suggestions that the help lists, or the one for a name of other programs."""
    shown, name = _shown_names(error.ctx), error.option_name
    other = OTHER_NAMES.get(name)
    meant = f"No such option {name!r}. Did you mean {other!r}?" if other in shown else None
    return click.NoSuchOption(name, meant, None if meant else sorted(shown), error.ctx)


def _shown_names(ctx: click.Context | None) -> set[str]:
    taken = [] if ctx is None else [param for param in ctx.command.params if not getattr(param, "hidden", False)]
    return {name for param in taken for name in param.opts}


def _report_bug(error: Exception, as_json: bool) -> int:
    if os.environ.get("OMNIGRAPH_DEBUG"):
        say("".join(traceback.format_exception(error)).rstrip(), to_stderr=True)
    message = f"unexpected {type(error).__name__}: {error}" if str(error) else f"unexpected {type(error).__name__}"
    hint = "this is a bug in omnigraph; please report it with the command and its output under OMNIGRAPH_DEBUG=1"
    _say_failure(message, code="internal", hint=hint, as_json=as_json)
    return FAILED


def _say_failure(message: str, *, code: str, hint: str | None, as_json: bool) -> None:
    if as_json:
        from omnigraph.wire.errors import failure_json

        say_json(failure_json(message, code=code, hint=hint))
        return
    say(f"{paint('error', 'red', bold=True)}: {message}", to_stderr=True)
    if hint:
        say(f"  {paint('hint', 'cyan')}: {hint}", to_stderr=True)
