"""Detection of multi-line CSV values that Spark would silently corrupt.

Without ``multiLine``, Spark reads a file line by line; with it, one task reads the whole file. A quote that is open at
the end of a line counts as closed, and the rest of the value becomes a separate row. Spark reports no error, so the
files are scanned for open quotes before they are loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph.errors import UsageError
from omnigraph.spark.load.task_files import shown_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOWN_CHARS_MAX = 60
"""Maximum characters of a line in an error message."""

_OTHERWISE = {"multiline", "quote", "escape", "encoding", "charset", "linesep", "comment", "ignoreleadingwhitespace"}
"""Options that change the meaning of lines or quotes. They skip the check: the caller has described the files."""
_WHICH = {"pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter"}
"""Options that select the files to read."""


def refuse_open_quotes(spark: SparkSession, source: str, paths: Sequence[str], options: Mapping[str, str]) -> None:
    """Raise if a line ends inside a quoted value. ``options`` are the reader options in the mapping."""
    from pyspark.sql import functions as f

    given = {name.lower(): value for name, value in options.items()}
    separator = given.get("sep", given.get("delimiter", ","))
    if _OTHERWISE & given.keys() or len(separator) != 1:
        return
    lines = spark.read.options(**{name: given[name] for name in _WHICH & given.keys()}).text(list(paths))
    quotes = f.length("value") - f.length(f.replace("value", f.lit('"')))
    # An even number of quotes is always closed, so the regular expression runs on few lines.
    is_open = (quotes % 2 == 1) & ~f.col("value").rlike(_closed(separator))
    found = lines.where(is_open).select("value", "_metadata.file_path").limit(1).collect()
    if found:
        line, path = found[0]
        shown = line if len(line) <= SHOWN_CHARS_MAX else f"{line[:SHOWN_CHARS_MAX]}..."
        raise UsageError(
            f"source {source!r}: a quoted value does not end on its line: {shown_path(path)}: {shown}",
            hint="close the quote, or set options: {multiLine: true} on the source if values span lines",
            source=source,
        )


def _closed(separator: str) -> str:
    """Regular expression for lines whose quoted values are all closed. A quote inside an unquoted value is literal."""
    separator = re.escape(separator)
    value = rf'(?:"[^"]*+(?:""[^"]*+)*+"[^{separator}]*+|[^"{separator}][^{separator}]*+|)'
    return f"^{value}(?:{separator}{value})*+$"
