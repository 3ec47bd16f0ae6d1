"""Source formats of a mapping, one row each: file suffixes, reader options and checks. A new format is a new row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from omnigraph.spark.load.csv_quotes import refuse_open_quotes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Check = Callable[["SparkSession", str, Sequence[str], Mapping[str, str]], None]
"""Checks the files of a source, given its name, paths and options in the mapping; raises UsageError."""


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """A file format that Spark reads. Options of the mapping override ``options``."""

    name: str
    """Spark's name of the format."""
    suffixes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Suffixes of file names that imply the format, each with the reader options that it implies."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Default reader options: malformed data is an error, never silently dropped or nulled."""
    check: Check | None = None


FORMATS: Final = (
    SourceFormat(
        "csv",
        {".csv": {}, ".tsv": {"sep": "\t"}},
        # With enforceSchema, Spark would apply the header of one file to all files and ignore theirs.
        {"header": "true", "escape": '"', "mode": "FAILFAST", "enforceSchema": "false"},
        refuse_open_quotes,
    ),
    SourceFormat("json", {".json": {}, ".jsonl": {}, ".ndjson": {}}, {"mode": "FAILFAST"}),
    # Without mergeSchema, Spark would take the columns of one file and drop those that only other files have.
    SourceFormat("orc", {".orc": {}}, {"mergeSchema": "true"}),
    SourceFormat("parquet", {".parquet": {}}, {"mergeSchema": "true"}),
)


def format_of_name(name: str) -> SourceFormat:
    """The row of a format; one without defaults for a format that only Spark knows."""
    return next((known for known in FORMATS if known.name == name), SourceFormat(name))


def format_of_path(path: str) -> tuple[str | None, Mapping[str, str]]:
    """The format that the suffix of a path implies, None if unknown, and the options that the suffix implies."""
    lowered = path.lower()
    for known in FORMATS:
        for suffix, options in known.suffixes.items():
            if lowered.endswith(suffix):
                return known.name, options
    return None, {}
