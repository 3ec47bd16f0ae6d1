"""The table of file formats, one row each. A new format is a new row.

A name decides by its suffix. Where the name says nothing, the first bytes decide; text that is not JSON has no mark,
so its format must be given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Final

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import Hint, UsageError
from omnigraph.ingest.files.columnar import FILE_MARK, open_arrow, open_parquet
from omnigraph.ingest.files.content import COMPRESSIONS, Content, open_content
from omnigraph.ingest.files.delimited import open_csv, open_tsv
from omnigraph.ingest.files.edge_lists import open_edge_list
from omnigraph.ingest.files.json_files import open_json
from omnigraph.ingest.tables import COMPLETE, Report, SourceTable, refuse
from omnigraph.storage.objects.outside_files import SourceFile


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of files, by the name that ``format=`` and ``--format`` take."""

    name: str
    suffixes: tuple[str, ...]
    open_table: Callable[[Content, Report], SourceTable]
    shape: str
    """The form of its records: the next step for a malformed one."""
    marks: tuple[bytes, ...] = ()
    """First bytes that identify the format."""
    is_json: bool = False
    """The file holds records: they may name their type, and their values have types of their own."""


_FIELDS: Final = "a record has a field for each column of the header; a field with a delimiter or a quote is quoted"

JSON_LINES: Final = FileFormat(
    "jsonl", (".jsonl", ".ndjson"), open_json, 'every line is an object, such as {"name": "Ada"}', (b"{",), is_json=True
)

LENIENT: Final = "lenient"
"""JSON values as Omnigraph 0.10's compatible reader takes them; no name or first byte implies it."""

FORMATS: Final = (
    FileFormat("csv", (".csv",), open_csv, _FIELDS),
    FileFormat("tsv", (".tsv", ".tab"), open_tsv, _FIELDS),
    FileFormat("parquet", (".parquet", ".pq"), open_parquet, COMPLETE, (b"PAR1",)),
    FileFormat(
        "json",
        (".json",),
        open_json,
        'the file is an array of objects, such as [{"name": "Ada"}]',
        (b"[",),
        is_json=True,
    ),
    JSON_LINES,
    FileFormat(
        "arrow", (".arrow", ".arrows", ".feather", ".ipc"), open_arrow, COMPLETE, (FILE_MARK, b"\xff\xff\xff\xff")
    ),
    FileFormat(LENIENT, (), open_json, 'the file is a sequence of objects, such as {"type": "Person"}', is_json=True),
    FileFormat(
        "edgelist",
        (".edgelist", ".edges", ".el"),
        open_edge_list,
        "every line has two ids, and as many values as the first one",
    ),
)

FORMAT_NAMES: Final = tuple(known.name for known in FORMATS)
SUFFIXES: Final = tuple(suffix for known in FORMATS for suffix in known.suffixes)


def format_named(name: str) -> FileFormat:
    """The format with this name; raises UsageError."""
    for known in FORMATS:
        if known.name == name.lower():
            return known
    hint = did_you_mean(name, FORMAT_NAMES) or "a file whose name ends in the suffix of its format needs no format"
    raise UsageError(f"unknown format {name!r} (expected {', '.join(FORMAT_NAMES)})", hint=hint)


def bare_name(path: str) -> str:
    """The path without the suffix of a compression."""
    found = next((suffix for suffix in COMPRESSIONS if path.lower().endswith(suffix)), "")
    return path[: len(path) - len(found)]


def format_of_name(path: str) -> FileFormat | None:
    """The format that the suffix of a path implies, in front of that of a compression."""
    suffix = os.path.splitext(bare_name(path))[1].lower()
    return next((known for known in FORMATS if suffix in known.suffixes), None)


def stem(path: str) -> str:
    """The name of a file without its directory and its known suffixes."""
    name = os.path.basename(bare_name(path))
    first, suffix = os.path.splitext(name)
    return first if suffix.lower() in SUFFIXES else name


def format_of(content: Content, given: str | None = None) -> FileFormat:
    """The format that was given, or that the name implies, or that the first bytes show."""
    named = format_of_name(content.name) if given is None else format_named(given)
    if named is not None:
        return named
    start = content.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for known in FORMATS:
        if known.marks and start.startswith(known.marks):
            return known
    if not start:
        return JSON_LINES
    raise UsageError(
        f"the format of {content.name} is not known",
        hint=Hint(
            f"name it with format=: {', '.join(FORMAT_NAMES)}", f"name it with --format: {', '.join(FORMAT_NAMES)}"
        ),
        path=content.name,
    )


@contextmanager
def open_table(
    source: str | os.PathLike[str] | SourceFile | BinaryIO,
    format_name: str | None = None,
    report: Report | None = None,
) -> Iterator[SourceTable]:
    """The table that a file holds, while it is read. Malformed rows go to ``report``; without it, the first raises."""
    with open_content(source) as content:
        known = format_of(content, format_name)
        yield known.open_table(content, report or refuse(content.name, known.shape))
