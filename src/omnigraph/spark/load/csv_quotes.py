"""Values of CSV files that go on in the next line, where the reader was not told so.

Spark reads a file by lines unless it is told ``multiLine``, and then one task reads all of it. A quote that is still
open at the end of a line it takes for closed, and the rest of the value for a row of its own. That is no error to
Spark, so files are looked through before they are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph.errors import UsageError
from omnigraph.spark.load.frame_slices import shown_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOWN_CHARS_MAX = 60
"""Characters of a line that are shown."""

_OTHERWISE = {"multiline", "quote", "escape", "encoding", "charset", "linesep", "comment", "ignoreleadingwhitespace"}
"""Options with which lines or quotes are something else. Whoever gives them knows the files."""
_WHICH = {"pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter"}
"""Options that say which files are read."""


def refuse_open_quotes(spark: SparkSession, source: str, paths: Sequence[str], options: Mapping[str, str]) -> None:
    """Raise if a line of the files ends within a value in quotes. ``options`` are those that the mapping gives."""
    from pyspark.sql import functions as f

    given = {name.lower(): value for name, value in options.items()}
    separator = given.get("sep", given.get("delimiter", ","))
    if _OTHERWISE & given.keys() or len(separator) != 1:
        return
    lines = spark.read.options(**{name: given[name] for name in _WHICH & given.keys()}).text(list(paths))
    quotes = f.length("value") - f.length(f.replace("value", f.lit('"')))
    # Most lines have an even number of them, and need no closer look.
    is_open = (quotes % 2 == 1) & ~f.col("value").rlike(_closed(separator))
    found = lines.where(is_open).select("value", "_metadata.file_path").limit(1).collect()
    if found:
        line, path = found[0]
        shown = line if len(line) <= SHOWN_CHARS_MAX else f"{line[:SHOWN_CHARS_MAX]}..."
        raise UsageError(
            f"source {source!r}: a value in quotes does not end in its line: {shown_path(path)}: {shown}",
            hint="close the quote, or give the source options: {multiLine: true} if values have several lines",
            source=source,
        )


def _closed(separator: str) -> str:
    """Lines whose values in quotes all end there; a quote within another value is one of its characters."""
    separator = re.escape(separator)
    value = rf'(?:"[^"]*+(?:""[^"]*+)*+"[^{separator}]*+|[^"{separator}][^{separator}]*+|)'
    return f"^{value}(?:{separator}{value})*+$"
