"""Profiles of queries and writes: rows, time, requests and bytes of every operator or step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field, replace
from types import TracebackType
from typing import Protocol, TypeVar

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.display import Display, Displayed, counted

Subject = TypeVar("Subject")


class Meter(Protocol):
    """A running count of input and output since the meter was made."""

    def totals(self) -> tuple[int, int, int]:
        """Requests, bytes read, bytes written."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class OperatorProfile(Displayed):
    """Measurements of one operator.

    Time, reads and writes include the operator's inputs. Rows that were only counted, not materialised, are 0.
    """

    operator: str
    depth: int
    rows: int = 0
    seconds: float = 0.0
    requests: int = 0
    """Requests to the object store for tables and manifests, reads and writes."""
    bytes: int = 0
    """Bytes read from table files; memory and the memory-mapped cache do not count."""
    written: int = 0
    """Bytes written to table and manifest files."""
    remarks: tuple[str, ...] = ()
    """Access paths and their reasons; for a write, the effect of the step on each table."""

    def _display(self) -> Display:
        cost = f"{counted(self.requests, 'request')}, {self.bytes:,} bytes read, {self.written:,} written"
        title = f"{self.operator}: {counted(self.rows, 'row')} in {self.seconds * 1000:.2f} ms, {cost}"
        return Display(title, notes=self.remarks)


class Step:
    """One run of an operator. The body of the ``with`` block sets ``rows``."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows = 0

    def __enter__(self) -> Step:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


@dataclass
class Profiler:
    """Collects the profiles of one query or write, in the order of its tree. Repeated runs of a step add up.

    A profiler without ``entries`` is off: its steps cost one object each and measure nothing.
    """

    entries: list[OperatorProfile] | None = None
    meter: Meter | None = None
    remarks: list[str] = field(default_factory=list)
    """Remarks of the steps in progress, inner steps last."""
    _places: dict[int | str, int] = field(default_factory=dict)
    _depth: int = 0

    @property
    def is_on(self) -> bool:
        return self.entries is not None

    def say(self, remark: str) -> None:
        """Add a remark to the step in progress."""
        if self.is_on:
            self.remarks.append(remark)

    def step(self, subject: Subject, label: Callable[[Subject], str] = str) -> Step:
        """A context manager that measures its block as one run of ``subject``, a name or an operator."""
        return Step() if self.entries is None else _Measured(self, self._place(subject, label))

    def _totals(self) -> tuple[int, int, int]:
        return (0, 0, 0) if self.meter is None else self.meter.totals()

    def _place(self, subject: Subject, label: Callable[[Subject], str]) -> int:
        assert self.entries is not None
        # Two operators of one tree may be equal values, so an operator is identified by object identity.
        key = subject if isinstance(subject, str) else id(subject)
        if key not in self._places:
            self._places[key] = len(self.entries)
            self.entries.append(OperatorProfile(label(subject), self._depth))
        return self._places[key]


class _Measured(Step):
    __slots__ = ("_before", "_place", "_profiler", "_said", "_started")

    def __init__(self, profiler: Profiler, place: int) -> None:
        super().__init__()
        self._profiler = profiler
        self._place = place

    def __enter__(self) -> Step:
        profiler = self._profiler
        self._said, self._before = len(profiler.remarks), profiler._totals()
        profiler._depth += 1
        self._started = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = time.perf_counter() - self._started
        profiler = self._profiler
        profiler._depth -= 1
        if error is not None:
            return
        assert profiler.entries is not None
        requests, size, written = (now - then for now, then in zip(profiler._totals(), self._before, strict=True))
        known = profiler.entries[self._place]
        profiler.entries[self._place] = replace(
            known,
            rows=known.rows + self.rows,
            seconds=known.seconds + seconds,
            requests=known.requests + requests,
            bytes=known.bytes + size,
            written=known.written + written,
            # Inner steps have already removed their own remarks.
            remarks=tuple(dict.fromkeys((*known.remarks, *profiler.remarks[self._said :]))),
        )
        del profiler.remarks[self._said :]
