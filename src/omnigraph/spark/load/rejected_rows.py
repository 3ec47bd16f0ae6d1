"""Records of rejected JSON lines, read again by executors."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.rows.json_lines import records_at
from omnigraph.spark.load.splits import FileSplit, SplitLines


def records_of_lines(split: FileSplit, lines: Sequence[int]) -> dict[int, object]:
    """Records of a split by line: the text of a line that is not a record, and none for one that is too long."""
    return records_at(SplitLines(split), lines, is_start=split.start == 0)
