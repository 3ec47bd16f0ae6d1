"""The target of a copy with a point before every change, at which other parties act or the copy is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omnigraph.core.tuning import Tuning

SEQUENTIAL = Tuning(copied_files_parallel=1)
"""One file at a time, so that every run has the same points."""

CHANGES = ("create", "replace", "write_chunks", "delete")


class Stopped(BaseException):
    """The copy ends here, as if its process had been killed."""


class SteppedObjects:
    """The files of a store, with a point before every change, or before calls of other names."""

    def __init__(self, inner: Any, point: Callable[[int], None], names: tuple[str, ...] = CHANGES) -> None:
        self._inner, self._point, self._names = inner, point, names
        self.seen = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._stepped(found) if name in self._names else found

    def _stepped(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            self.seen += 1
            self._point(self.seen)
            return change(*arguments)

        return called
