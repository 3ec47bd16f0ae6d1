"""How a failed run ends: what is printed, where, and with which exit code.

The only place that knows this. An error of ours is told with its hint, or as JSON where `--json` was asked for;
anything else is a bug, told briefly, with its traceback when `OMNIGRAPH_DEBUG` is set.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from omnigraph.cli.exit_codes import FAILED, INTERRUPTED, PRECONDITION_LOST, USAGE
from omnigraph.cli.show.output import paint, say, say_json
from omnigraph.errors import (
    ChangeFeedGap,
    CompileError,
    KeyConflictError,
    MergeConflicts,
    OmnigraphError,
    PreconditionFailed,
    SchemaConflict,
    UsageError,
    ViolationError,
)

if TYPE_CHECKING:
    from omnigraph.lang.diagnostics import Diagnostic


class Interrupted(click.Abort):
    """Ctrl-C at a moment when there is something to say about what was done."""


def report(error: Exception, *, as_json: bool) -> int:
    """Tell what went wrong and return the exit code."""
    match error:
        case click.Abort():
            say(f"interrupted: {error}" if isinstance(error, Interrupted) else "interrupted", to_stderr=True)
            return INTERRUPTED
        case click.UsageError():
            return _report_usage(error, as_json)
        case click.ClickException():
            _tell(error.format_message(), code="error", hint=None, as_json=as_json)
            return FAILED
        case OmnigraphError():
            _report_ours(error, as_json)
            return _status(error)
        case OSError() if error.errno is not None and error.filename is None:
            # Files we read or write are handled where their names are known; what is left is our own output.
            message = f"cannot write the output: {(error.strerror or str(error)).lower()}"
            _tell(message, code="io_error", hint=None, as_json=False)
            _abandon_output()
            return FAILED
        case _:
            return _report_bug(error, as_json)


def _abandon_output() -> None:
    """Forget what could not be written: Python would try once more at its end, and exit with a code of its own."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def told(error: OmnigraphError) -> dict[str, object]:
    """The JSON form of an error."""
    shown: dict[str, object] = {"error": error.message, "code": error.code, "hint": error.hint}
    if diagnostics := located(error):
        shown["error"] = diagnostics[0].headline()
        shown["diagnostics"] = [item.to_json() for item in diagnostics]
    match error:
        case ViolationError():
            samples = [_violation(sample) for sample in error.samples]
            shown["violations"] = {"total": error.total, "counts": error.counts, "samples": samples}
        case PreconditionFailed():
            shown["precondition_failure"] = dict(error.facts)
        case MergeConflicts():
            from omnigraph.history.conflicts import MergeConflict

            conflicts = [item for item in error.conflicts if isinstance(item, MergeConflict)]
            shown["merge_conflicts"] = [conflict.to_json() for conflict in conflicts]
        case SchemaConflict():
            from omnigraph.schema.merge import SchemaClash

            clashes = error.facts.get("conflicts")
            listed = clashes if isinstance(clashes, tuple) else ()
            shown["schema_conflicts"] = [clash.to_json() for clash in listed if isinstance(clash, SchemaClash)]
        case ChangeFeedGap():
            shown["change_feed_gap"] = dict(error.facts)
        case KeyConflictError():
            shown["key_conflict"] = dict(error.facts)
        case _:
            pass
    return shown


def _violation(sample: object) -> dict[str, object]:
    from omnigraph.rows.violations import Violation

    assert isinstance(sample, Violation)
    place = sample.place
    return {
        "code": sample.code.value,
        "message": sample.message,
        "source": place.source if place else None,
        "line": place.line if place else None,
        "table_key": sample.table_key,
        "id": sample.entity_id,
        "property": sample.property,
    }


def _status(error: OmnigraphError) -> int:
    match error:
        case PreconditionFailed():
            return PRECONDITION_LOST
        case UsageError():
            return USAGE
        case _:
            return FAILED


def tell(error: OmnigraphError) -> None:
    """Print an error of ours for people: located ones with their excerpts, others with their hint."""
    if diagnostics := located(error):
        from omnigraph.cli.show.excerpts import draw_all

        say(draw_all(diagnostics), to_stderr=True)
    else:
        _tell(error.message, code=error.code, hint=error.hint, as_json=False)


def located(error: OmnigraphError) -> Sequence[Diagnostic]:
    """The diagnostics that an error carries, if it comes from the compiler."""
    from omnigraph.lang.diagnostics import Diagnostic

    carried = error.diagnostics if isinstance(error, CompileError) else error.facts.get("diagnostics")
    return [item for item in carried if isinstance(item, Diagnostic)] if isinstance(carried, tuple) else []


def _report_ours(error: OmnigraphError, as_json: bool) -> None:
    if as_json:
        say_json(told(error))
    else:
        tell(error)


def _report_usage(error: click.UsageError, as_json: bool) -> int:
    # What may be chosen is listed on lines of its own.
    message = " ".join(error.format_message().split()).rstrip(".")
    path = error.ctx.command_path if error.ctx is not None else "omnigraph"
    hint = f"`{path} --help` shows how to call it"
    _tell(message[:1].lower() + message[1:], code=UsageError.code, hint=hint, as_json=as_json)
    return USAGE


def _report_bug(error: Exception, as_json: bool) -> int:
    if os.environ.get("OMNIGRAPH_DEBUG"):
        say("".join(traceback.format_exception(error)).rstrip(), to_stderr=True)
    message = f"unexpected {type(error).__name__}: {error}" if str(error) else f"unexpected {type(error).__name__}"
    hint = "this is a bug in omnigraph; please report it with the command and its output under OMNIGRAPH_DEBUG=1"
    _tell(message, code="internal", hint=hint, as_json=as_json)
    return FAILED


def _tell(message: str, *, code: str, hint: str | None, as_json: bool) -> None:
    if as_json:
        say_json({"error": message, "code": code, "hint": hint})
        return
    say(f"{paint('error', 'red', bold=True)}: {message}", to_stderr=True)
    if hint:
        say(f"  {paint('hint', 'cyan')}: {hint}", to_stderr=True)
