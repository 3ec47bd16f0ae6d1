"""Options of ``omnigraph load`` about types, formats and columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

FORMAT_NAMES = ("csv", "tsv", "parquet", "json", "jsonl", "arrow", "lenient", "edgelist")
"""Names of ``ingest.files.formats``, which takes longer to import than help may take; a test compares them."""


def column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; ``column_values`` reads them."""
    options = (
        click.option("--type", "type_name", metavar="TYPE", help="The type of rows that do not name one."),
        click.option(
            "--format",
            type=click.Choice(FORMAT_NAMES),
            help="The format of the data. By default the name of a file decides, or its first bytes.",
        ),
        click.option(
            "--map",
            "mapped",
            multiple=True,
            metavar="PROPERTY=COLUMN,...",
            help="Columns whose names differ from those of the properties, such as id=person_id,from=src.",
        ),
        click.option("--ignore", multiple=True, metavar="COLUMN,...", help="Columns to leave out."),
        click.option(
            "--constant",
            multiple=True,
            metavar="PROPERTY=VALUE,...",
            help="Values that every row gets, such as run=42.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def column_values(mapped: Sequence[str], ignore: Sequence[str], constant: Sequence[str]) -> dict[str, Any]:
    """The options as ``graph.load`` takes them."""
    ignored = [name for given in ignore for name in given.split(",") if name]
    return {"map": _pairs("--map", mapped), "ignore": ignored, "constant": _pairs("--constant", constant)}


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """``a=1,b=2``, in one option or in several. A part without a sign belongs to the value before it: ``note=x,y``."""
    found: dict[str, str] = {}
    for text in given:
        name = ""
        for part in text.split(","):
            before, sign, value = part.partition("=")
            if sign and before:
                name = before.strip()
                if name in found:
                    raise click.UsageError(f"{option} gives {name} twice")
                found[name] = value
            elif name:
                found[name] += f",{part}"
            else:
                raise click.UsageError(f"{option} takes NAME=VALUE, separated by commas; {text!r} is none")
    return found
