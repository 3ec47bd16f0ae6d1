"""Logging to standard error: the records of the logger ``omnigraph``, as text or JSON lines."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from functools import partial
from typing import Final

import click

FORMATS: Final = ("text", "json")
LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)
_FACTS: Final = {"logThreads": False, "logProcesses": False, "logMultiprocessing": False, "_srcfile": None}
"""The settings of ``logging`` that its manual names for this."""
_VERBOSITY = "omnigraph.verbosity"
_FORMAT = "omnigraph.log_format"


def log_options() -> list[click.Parameter]:
    """Options of every command: the verbosity and format of the log."""
    return [
        click.Option(
            ["-v", "--verbose"],
            count=True,
            expose_value=False,
            callback=_set_verbosity,
            help="Log each step; repeat for more detail.",
        ),
        click.Option(
            ["--log-format"],
            type=click.Choice(FORMATS),
            expose_value=False,
            callback=_set_format,
            help="Format of the log. [default: text]",
        ),
    ]


def _set_verbosity(ctx: click.Context, _option: click.Parameter, count: int) -> None:
    if count:
        ctx.find_root().meta[_VERBOSITY] = count
        _configure(ctx)


def _set_format(ctx: click.Context, _option: click.Parameter, format_: str | None) -> None:
    if format_ is not None:
        ctx.find_root().meta[_FORMAT] = format_
        _configure(ctx)


def _configure(ctx: click.Context) -> None:
    """Log to standard error until the run ends."""
    run = ctx.find_root()
    level = LEVELS[min(run.meta.get(_VERBOSITY, 0), len(LEVELS) - 1)]
    logger = logging.getLogger("omnigraph")
    for handler in [handler for handler in logger.handlers if isinstance(handler, _Handler)]:
        logger.removeHandler(handler)
    added = _Handler(sys.stderr)
    added.setFormatter(_Json() if run.meta.get(_FORMAT) == "json" else _Text())
    logger.addHandler(added)
    run.call_on_close(lambda: logger.removeHandler(added))
    # Callbacks run in reverse order, so the level from before the first call is restored last.
    run.call_on_close(partial(logger.setLevel, logger.level))
    logger.setLevel(level)


def log_to_stderr(ctx: click.Context, name: str) -> None:
    """Log for a command that runs until it is stopped: what one logger says, and the warnings of all others."""
    _configure(ctx)
    _leave_out_unused_facts(ctx)
    if not ctx.find_root().meta.get(_VERBOSITY):
        logger = logging.getLogger(name)
        ctx.find_root().call_on_close(partial(logger.setLevel, logger.level))
        logger.setLevel(logging.INFO)


def _leave_out_unused_facts(ctx: click.Context) -> None:
    """Do not find out thread, process and line of code for every record: no format shows them.

    They are a tenth of the processor time of a point read of a server, which logs every request.
    """
    for name, value in _FACTS.items():
        ctx.find_root().call_on_close(partial(setattr, logging, name, getattr(logging, name)))
        setattr(logging, name, value)


class _Handler(logging.StreamHandler):  # type: ignore[type-arg] # not generic at run time in 3.11
    """The handler of this program, distinguishable from handlers of an embedding application."""


class _Text(logging.Formatter):
    """One line of text per record."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{_moment(record)} {record.levelname.lower():7} {record.getMessage()}"


class _Json(logging.Formatter):
    """One JSON line per record, with the facts of the record as members."""

    def format(self, record: logging.LogRecord) -> str:
        record_json = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        return json.dumps(record_json, ensure_ascii=False, default=str)


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
