"""Files of lines, cut into parts that tasks read on their own.

A line belongs to the part in which it starts, so every line is read once wherever the cuts are. A task counts its
lines from 1; what it reports gets the line of the file when all parts are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from omnigraph.spark.cluster import limits
from omnigraph.storage.objects.outside_files import ReadRange, SourceFile
from omnigraph.storage.objects.source_files import find_files, open_ranges


@dataclass(frozen=True, slots=True)
class FileSplit:
    """Bytes ``start`` to ``end`` of a file. ``entry`` is the place of the file among those that are loaded, ``number``
    that of the split among all of them."""

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
    """All of the files, in order, in about as many parts as wanted, or in parts of a good size."""
    files = [file for path in paths for file in find_files(path, options or {})]
    wanted = -(-sum(file.size for file in files) // partitions) if partitions else limits.SPLIT_BYTES
    step = max(1, wanted)
    starts = ((entry, file, start) for entry, file in enumerate(files) for start in range(0, file.size, step))
    return [
        FileSplit(entry, file, start, min(start + step, file.size), number)
        for number, (entry, file, start) in enumerate(starts)
    ]


class SplitLines:
    """The lines that start in a split, in chunks. ``count`` is how many there were, once all were read."""

    def __init__(self, split: FileSplit) -> None:
        self.count = 0
        self._split = split
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
        # The byte before tells whether a line starts right here.
        position = split.start - is_in_line
        last = b"\n"
        while position < split.end:
            chunk = read(position, min(limits.READ_BYTES, split.end - position))
            position += len(chunk)
            if is_in_line:
                _, line_end, chunk = chunk.partition(b"\n")
                is_in_line = not line_end
            if chunk:
                last = chunk[-1:]
                yield chunk
        # The last line may end in the next split, which leaves it out.
        wanted = limits.LINE_REST_BYTES
        while last != b"\n" and position < split.file.size:
            head, line_end, _ = read(position, wanted).partition(b"\n")
            position, last, wanted = position + len(head), line_end or head[-1:], limits.READ_BYTES
            yield head + line_end
