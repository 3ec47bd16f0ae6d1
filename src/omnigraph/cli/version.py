"""``omnigraph version``."""

from __future__ import annotations

import click

from omnigraph import __version__
from omnigraph.cli.args.options import json_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import say, say_json
from omnigraph.wire.program import version_json

STORAGE_FORMAT = 1
"""The storage format that this program reads and writes."""


def version_text() -> str:
    """The output of ``omnigraph version`` and ``omnigraph --version``."""
    return f"omnigraph {__version__}\nformat {STORAGE_FORMAT}"


@click.command("version")
@json_option
def command(as_json: bool) -> int:
    """Show the version of the program and of the storage format."""
    if as_json:
        say_json(version_json(__version__, STORAGE_FORMAT))
    else:
        say(version_text())
    return OK
