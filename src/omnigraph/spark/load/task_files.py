"""The files that each task of a frame reads, from Spark's physical plan. Equal plans read equal rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TaskFiles = list[tuple[str, int, int]]
"""Byte ranges of files that one task reads, each with the size and the modification time of the file."""


def files_of_tasks(frame: DataFrame) -> list[TaskFiles] | str:
    """The files of each task, by task number; or the reason why they are unknown."""
    planned: Any = getattr(frame, "_jdf", None)
    if planned is None:
        return "Spark Connect does not expose which task reads which file"
    tasks = []
    for partition in planned.queryExecution().toRdd().partitions():
        if partition.getClass().getSimpleName() != "FilePartition":
            return "its tasks read more than files"
        tasks.append([(str(file), int(file.fileSize()), int(file.modificationTime())) for file in partition.files()])
    return tasks


def shown_path(url: str) -> str:
    """The path of a file as the user wrote it: local paths without scheme and escapes."""
    parsed = urlparse(url)
    return unquote(parsed.path) if parsed.scheme == "file" else url
