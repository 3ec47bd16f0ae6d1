"""Which part of which file each task of a frame reads, as Spark planned it. The same plan means the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TaskFiles = list[tuple[str, int, int]]
"""Of one task: parts of files, how large the file is and when it was written."""


def files_of_tasks(frame: DataFrame) -> list[TaskFiles] | str:
    """What each task reads, by its number; or why nobody can tell."""
    planned: Any = getattr(frame, "_jdf", None)
    if planned is None:
        return "a session of Spark Connect does not say which task reads what"
    tasks = []
    for partition in planned.queryExecution().toRdd().partitions():
        if partition.getClass().getSimpleName() != "FilePartition":
            return "its tasks do not read files alone"
        tasks.append([(str(file), int(file.fileSize()), int(file.modificationTime())) for file in partition.files()])
    return tasks
