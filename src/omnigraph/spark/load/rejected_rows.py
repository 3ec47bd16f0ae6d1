"""Records of rejected JSON lines, read again by executors."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.rows.read.json_lines import records_at
from omnigraph.spark.load.splits import GroupLines, SplitGroup


def records_of_lines(group: SplitGroup, lines: Sequence[int]) -> dict[int, object]:
    """Records of a group by line: the text of a line that is not a record, and none for one that is too long."""
    return records_at(GroupLines(group), lines, is_start=group.is_start)
