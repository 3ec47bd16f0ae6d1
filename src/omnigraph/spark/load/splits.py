"""Division of line files into splits that tasks read independently.

Invariant: a line belongs to the split in which it starts, so every line is read exactly once wherever the boundaries
are. A task counts its lines from 1; the driver converts them to lines of the file when all splits are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from omnigraph.spark.cluster import limits
from omnigraph.storage.objects.outside_files import ReadRange, SourceFile
from omnigraph.storage.objects.source_files import find_files, open_ranges


@dataclass(frozen=True, slots=True)
class FileSplit:
    """Bytes ``start`` to ``end`` of a file. ``entry`` is the position of the file in the load, ``number`` that of the
    split."""

    entry: int
    file: SourceFile
    start: int
    end: int
    number: int

    @property
    def path(self) -> str:
        """The name of the file in messages."""
        return self.file.path


def plan_splits(
    paths: Sequence[str], partitions: int | None = None, options: Mapping[str, str] | None = None
) -> list[FileSplit]:
    """Divide the files, in order, into about ``partitions`` splits, or into splits of the default size."""
    files = [file for path in paths for file in find_files(path, options or {})]
    wanted = -(-sum(file.size for file in files) // partitions) if partitions else limits.SPLIT_BYTES
    step = max(1, wanted)
    starts = ((entry, file, start) for entry, file in enumerate(files) for start in range(0, file.size, step))
    return [
        FileSplit(entry, file, start, min(start + step, file.size), number)
        for number, (entry, file, start) in enumerate(starts)
    ]


class SplitLines:
    """The lines that start in a split, in chunks. ``count`` is their number after iteration."""

    def __init__(
        self, split: FileSplit, read_bytes: int = limits.READ_BYTES, rest_bytes: int = limits.LINE_REST_BYTES
    ) -> None:
        self.count = 0
        self._split = split
        self._read_bytes = read_bytes
        self._rest_bytes = rest_bytes
        self._last = b"\n"

    def __iter__(self) -> Iterator[bytes]:
        with open_ranges(self._split.file) as read:
            for chunk in self._chunks(read):
                self.count += chunk.count(b"\n")
                self._last = chunk[-1:]
                yield chunk
        self.count += self._last != b"\n"

    def _chunks(self, read: ReadRange) -> Iterator[bytes]:
        split, is_in_line = self._split, self._split.start > 0
        # Start one byte early: if it is a newline, a line starts exactly at the boundary and belongs to this split.
        position = split.start - is_in_line
        last = b"\n"
        while position < split.end:
            chunk = read(position, min(self._read_bytes, split.end - position))
            position += len(chunk)
            if is_in_line:
                _, line_end, chunk = chunk.partition(b"\n")
                is_in_line = not line_end
            if chunk:
                last = chunk[-1:]
                yield chunk
        # The last line may end in the next split, whose task skips everything before its first newline.
        wanted = self._rest_bytes
        while last != b"\n" and position < split.file.size:
            head, line_end, _ = read(position, wanted).partition(b"\n")
            position, last, wanted = position + len(head), line_end or head[-1:], self._read_bytes
            yield head + line_end
