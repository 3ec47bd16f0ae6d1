"""The states that a power cut may leave behind, computed from the recorded file system calls of one write.

The model is weaker than ext4 and than POSIX demands, so that a write which holds here holds on any journaling file
system:

- Changes of names (create, link, rename, unlink, mkdir, rmdir) become durable in their order, up to any point; and
  those of a directory when that directory is synced, whatever became of the others.
- What was written to a file is durable when the file is synced. Before that it may be missing, zeros, cut short, or
  there.

A state is chosen by three numbers: the calls that were made, the changes of names that were durable without a sync,
and what became of unsynced contents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from tests.support.faults import Call

_WRITES = frozenset({"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "splice", "copy_file_range"})
_SYNCS = frozenset({"fsync", "fdatasync"})
_DIRECTORY = -1
"""Stands for an inode: directories have no content of their own."""


class Tear(Enum):
    """What becomes of content that was written and not synced."""

    MISSING = "missing"
    ZEROS = "zeros"
    HALF = "half"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class NameChange:
    """One change of names: ``removed`` goes, ``added`` leads to ``inode``. It is in the directories of both."""

    call: int
    inode: int
    removed: str | None = None
    added: str | None = None
    synced_by: list[int] = field(default_factory=list)

    def is_synced(self, made: int) -> bool:
        return any(position < made for position in self.synced_by)

    def is_in(self, directory: str) -> bool:
        return directory in {os.path.dirname(path) for path in (self.removed, self.added) if path is not None}


@dataclass(frozen=True, slots=True)
class State:
    """The files and directories that are found after a power cut. ``made`` calls had been made by then."""

    made: int
    files: Mapping[str, bytes]
    directories: frozenset[str]

    def restore(self, root: Path) -> None:
        """Make the state real."""
        root.mkdir(parents=True, exist_ok=True)
        for directory in sorted(self.directories):
            (root / directory).mkdir()
        for path, content in self.files.items():
            (root / path).write_bytes(content)


def read_tree(root: Path) -> dict[str, bytes | None]:
    """Files with their contents, and directories with None, by relative path."""
    paths = sorted(root.rglob("*")) if root.exists() else []
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in paths}


class Recording:
    """The calls of one write, as changes of names, written bytes and syncs."""

    def __init__(
        self, before: Mapping[str, bytes | None], calls: Sequence[Call], after: Mapping[str, bytes | None]
    ) -> None:
        self._before = dict(enumerate(sorted(before)))
        self._start = {path: _DIRECTORY if before[path] is None else inode for inode, path in self._before.items()}
        self._contents = {inode: before[path] or b"" for inode, path in self._before.items()}
        self._changes: list[NameChange] = []
        self._written: list[tuple[int, int, int]] = []
        self._synced: list[tuple[int, int]] = []
        self.calls = len(calls)
        self.names = dict(self._start)
        for position, call in enumerate(calls):
            if call.result is not None and call.result >= 0:
                self._take(position, call)
        for path, inode in self.names.items():
            if inode != _DIRECTORY and path in after:
                self._contents[inode] = after[path] or b""

    def _take(self, position: int, call: Call) -> None:
        name = call.name.removesuffix("at2").removesuffix("at")
        if call.name in _WRITES:
            assert call.result is not None
            self._written.append((position, self.names[call.path], call.result))
        elif call.name in _SYNCS:
            self._sync(position, call.path)
        elif name == "mkdir":
            self._change(NameChange(position, _DIRECTORY, added=call.path))
        elif name in ("open", "creat"):
            if call.path not in self.names:
                self._change(NameChange(position, self._new_inode(), added=call.path))
        elif name == "link":
            self._change(NameChange(position, self.names[call.path], added=call.target))
        elif name == "rename":
            self._change(NameChange(position, self.names[call.path], removed=call.path, added=call.target))
        elif name in ("unlink", "rmdir"):
            self._change(NameChange(position, self.names[call.path], removed=call.path))
        else:
            raise AssertionError(f"the model does not know {call}")

    def _new_inode(self) -> int:
        inode = len(self._contents)
        self._contents[inode] = b""
        return inode

    def _change(self, change: NameChange) -> None:
        self._changes.append(change)
        _apply(self.names, change)

    def _sync(self, position: int, path: str) -> None:
        inode = self.names.get(path, _DIRECTORY)
        if inode != _DIRECTORY:
            self._synced.append((position, inode))
            return
        directory = "" if path == "." else path
        for change in self._changes:
            if change.is_in(directory):
                change.synced_by.append(position)

    def state(self, made: int, journaled: int, tear: Tear) -> State:
        """The state after ``made`` calls, with the changes of names of the first ``journaled`` ones durable."""
        names = dict(self._start)
        for change in self._changes:
            if change.call < made and (change.call < journaled or change.is_synced(made)):
                _apply(names, change)
        reachable = {path: inode for path, inode in names.items() if _is_reachable(path, names)}
        return State(
            made,
            {path: self._content(inode, made, tear) for path, inode in reachable.items() if inode != _DIRECTORY},
            frozenset(path for path, inode in reachable.items() if inode == _DIRECTORY),
        )

    def _content(self, inode: int, made: int, tear: Tear) -> bytes:
        writes = [(position, size) for position, written, size in self._written if written == inode]
        if not writes:
            return self._contents[inode]
        synced_at = max((at for at, synced in self._synced if synced == inode and at < made), default=-1)
        written = sum(size for position, size in writes if position < made)
        synced = sum(size for position, size in writes if position < synced_at)
        # A file without a name at the end is never read: its bytes do not matter, their number does.
        whole = self._contents[inode][:written].ljust(written, b"\1")
        match tear:
            case Tear.MISSING:
                return whole[:synced]
            case Tear.ZEROS:
                return whole[:synced].ljust(written, b"\0")
            case Tear.HALF:
                return whole[: synced + (written - synced) // 2]
            case Tear.WHOLE:
                return whole

    def choices(self) -> Iterator[tuple[int, int, Tear]]:
        """The numbers of every state that the model allows; few of them give the same one."""
        for made in range(self.calls + 1):
            open_changes = [
                change.call for change in self._changes if change.call < made and not change.is_synced(made)
            ]
            is_torn = any(
                position < made and not self._is_synced(inode, position, made) for position, inode, _ in self._written
            )
            for journaled in [0, *(call + 1 for call in open_changes)]:
                for tear in Tear if is_torn else [Tear.WHOLE]:
                    yield made, journaled, tear

    def _is_synced(self, inode: int, position: int, made: int) -> bool:
        return any(synced == inode and position < at < made for at, synced in self._synced)

    def states(self, count: int | None = None) -> Iterator[State]:
        """Every state, or some that are evenly spread over the calls, the last one included."""
        choices = list(self.choices())
        if count is not None and count < len(choices):
            choices = [choices[(number + 1) * len(choices) // count - 1] for number in range(count)]
        return (self.state(*choice) for choice in choices)


def _apply(names: dict[str, int], change: NameChange) -> None:
    if change.removed is not None:
        names.pop(change.removed, None)
    if change.added is not None:
        names[change.added] = change.inode


def _is_reachable(path: str, names: Mapping[str, int]) -> bool:
    """A name counts only if every directory above it is there."""
    parents = Path(path).parents
    return all(names.get(str(parent)) == _DIRECTORY for parent in parents if str(parent) != ".")
