"""What the program tells about its work on standard error, if asked to: the records of the logger ``omnigraph``."""

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
_VERBOSITY = "omnigraph.verbosity"
_FORMAT = "omnigraph.log_format"


def log_options() -> list[click.Parameter]:
    """Options that every command has: how much is told, and in which form."""
    return [
        click.Option(
            ["-v", "--verbose"],
            count=True,
            expose_value=False,
            callback=_set_verbosity,
            help="Tell what is done; twice for more.",
        ),
        click.Option(
            ["--log-format"],
            type=click.Choice(FORMATS),
            expose_value=False,
            callback=_set_format,
            help="The form of what -v tells; text if not given.",
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
    """Send records to standard error, and stop when the run ends."""
    run = ctx.find_root()
    level = LEVELS[min(run.meta.get(_VERBOSITY, 0), len(LEVELS) - 1)]
    logger = logging.getLogger("omnigraph")
    for handler in [handler for handler in logger.handlers if isinstance(handler, _Told)]:
        logger.removeHandler(handler)
    told = _Told(sys.stderr)
    told.setFormatter(_Json() if run.meta.get(_FORMAT) == "json" else _Text())
    logger.addHandler(told)
    run.call_on_close(lambda: logger.removeHandler(told))
    # Closed in reverse: the level of the first call is the one that is left.
    run.call_on_close(partial(logger.setLevel, logger.level))
    logger.setLevel(level)


class _Told(logging.StreamHandler):  # type: ignore[type-arg] # not generic at run time in 3.11
    """The handler of this program, which is told from those of others."""


class _Text(logging.Formatter):
    """A line for people."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{_moment(record)} {record.levelname.lower():7} {record.getMessage()}"


class _Json(logging.Formatter):
    """A line for programs; what a record knows beside its text stands in fields of its own."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        return json.dumps(told, ensure_ascii=False, default=str)


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
