"""Source formats of a mapping on Spark, one row each: reader options and checks. A new format is a new row.

The suffixes that imply a format are in ``ingest.mapping``.
"""

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
    options: Mapping[str, str] = field(default_factory=dict)
    """Default reader options: malformed data is an error, never silently dropped or nulled."""
    check: Check | None = None


FORMATS: Final = (
    SourceFormat(
        "csv",
        # With enforceSchema, Spark would apply the header of one file to all files and ignore theirs.
        {"header": "true", "escape": '"', "mode": "FAILFAST", "enforceSchema": "false"},
        refuse_open_quotes,
    ),
    SourceFormat("json", {"mode": "FAILFAST"}),
    # Without mergeSchema, Spark would take the columns of one file and drop those that only other files have.
    SourceFormat("orc", {"mergeSchema": "true"}),
    SourceFormat("parquet", {"mergeSchema": "true"}),
)


def format_of_name(name: str) -> SourceFormat:
    """The row of a format; one without defaults for a format that only Spark knows."""
    return next((known for known in FORMATS if known.name == name), SourceFormat(name))
