"""Files with the names of their types, as ``schema infer`` and ``import`` take them: ``Person=people.csv``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from omnigraph.ingest.infer.inputs import Named

_TYPED = re.compile(r"(?P<type>[A-Z][A-Za-z0-9_]*)=(?P<files>.+)", re.ASCII | re.DOTALL)

files_argument = click.argument("files", nargs=-1, required=True, metavar="[TYPE=]FILE...")


def typed_files(given: Sequence[str]) -> list[str | Named]:
    """The files; several files of one type are separated by commas, the first one with the header."""
    return [_typed(text) for text in given]


def _typed(text: str) -> str | Named:
    from omnigraph.ingest.infer.inputs import Named

    if text == "-":
        raise click.UsageError(
            "standard input can be read only once, and this reads the data several times: use a file"
        )
    if os.path.exists(text):
        return text
    found = _TYPED.fullmatch(text)
    name, files = (None, text) if found is None else (found["type"], found["files"])
    parts = [files] if os.path.exists(files) else files.split(",")
    return text if name is None and len(parts) == 1 else Named(name, parts)
