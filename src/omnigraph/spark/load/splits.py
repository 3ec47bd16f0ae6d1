"""Division of line files into splits, and of splits into groups that tasks read independently.

Invariant: a line belongs to the split in which it starts, so every line is read exactly once wherever the boundaries
are. A task counts its lines from 1; the driver converts them to lines of the file when all splits are read.

Each task writes files of its own. Small files therefore share tasks, which read them one after the other.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from omnigraph.spark.cluster import limits
from omnigraph.storage.objects.outside_files import ReadRange, SourceFile
from omnigraph.storage.objects.source_files import find_files, open_ranges

_MARK = codecs.BOM_UTF8


@dataclass(frozen=True, slots=True)
class FileSplit:
    """Bytes ``start`` to ``end`` of a file. ``entry`` is the position of the file in the load."""

    entry: int
    file: SourceFile
    start: int
    end: int

    @property
    def path(self) -> str:
        """The name of the file in messages."""
        return self.file.path


@dataclass(frozen=True, slots=True)
class SplitGroup:
    """Consecutive splits that one task reads. ``number`` is the position of the group in the load."""

    splits: tuple[FileSplit, ...]
    number: int

    @property
    def path(self) -> str:
        """The name of all lines until they are located in their files."""
        return self.splits[0].path

    @property
    def is_start(self) -> bool:
        """True if the first line is that of a file."""
        return self.splits[0].start == 0


def plan_splits(
    paths: Sequence[str], partitions: int | None = None, options: Mapping[str, str] | None = None
) -> list[FileSplit]:
    """Divide the files, in order, into about ``partitions`` splits, or into splits of the default size."""
    files = [file for path in paths for file in find_files(path, options or {})]
    wanted = -(-sum(file.size for file in files) // partitions) if partitions else limits.SPLIT_BYTES
    step = max(1, wanted)
    return [
        FileSplit(entry, file, start, min(start + step, file.size))
        for entry, file in enumerate(files)
        for start in range(0, file.size, step)
    ]


def plan_groups(
    paths: Sequence[str], partitions: int | None = None, options: Mapping[str, str] | None = None
) -> list[SplitGroup]:
    """Divide the files, in order, among about ``partitions`` tasks; by default, join only small files.

    Example with a limit of 100 bytes, where each file counts as 10 bytes at least:

    ====  =====  =====  ================
    file  bytes  split  group
    ====  =====  =====  ================
    a     150    0-100  0
    a            100-   1 (50 bytes)
    b     3      0-3    1 (60 bytes)
    c     80     0-80   2
    ====  =====  =====  ================
    """
    splits = plan_splits(paths, partitions, options)
    most = -(-sum(split.end - split.start for split in splits) // partitions) if partitions else limits.GROUP_BYTES
    least = 0 if partitions else limits.GROUPED_FILE_BYTES
    groups: list[list[FileSplit]] = []
    held = 0
    for split in splits:
        size = max(split.end - split.start, least)
        if not groups or held + size > most:
            groups.append([])
            held = 0
        groups[-1].append(split)
        held += size
    return [SplitGroup(tuple(group), number) for number, group in enumerate(groups)]


class GroupLines:
    """The lines of a group as one stream. Iterate it once; ``counts`` are then the lines of each split."""

    def __init__(self, group: SplitGroup) -> None:
        self._group = group
        self.counts: list[int] = []

    def __iter__(self) -> Iterator[bytes]:
        last = b"\n"
        for split in self._group.splits:
            lines = SplitLines(split)
            for number, chunk in enumerate(lines):
                if last != b"\n" and number == 0:
                    yield b"\n"
                # The reader drops the mark of the first file.
                shown = chunk.removeprefix(_MARK) if number == 0 and split.start == 0 and self.counts else chunk
                last = chunk[-1:]
                if shown:
                    yield shown
            self.counts.append(lines.count)


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
