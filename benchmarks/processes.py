"""Processor time and peak memory of this process tree, from `/proc`: wall time says little on a shared machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """Wall time and processor time of the whole process tree, in seconds."""

    seconds: float
    processor: float


def timed(work: Callable[[], object], used: Callable[[], float] | None = None) -> Cost:
    """Time ``work``. ``used`` returns the processor seconds so far; by default those of the whole process tree."""
    used = used or processor_seconds
    start, before = time.perf_counter(), used()
    work()
    return Cost(time.perf_counter() - start, used() - before)


def processor_seconds(root: int | None = None) -> float:
    """Processor time of a process, by default this one, and its descendants.

    An ended one counts with the parent that waited for it.
    """
    root = os.getpid() if root is None else root
    parents, used = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = sum(int(field) for field in fields[11:15])

    def is_ours(process: int) -> bool:
        while process not in (0, root):
            process = parents.get(process, 0)
        return process != 0

    return sum(ticks for process, ticks in used.items() if is_ours(process)) / _TICKS


def forget_peak() -> None:
    """Reset the peak that ``peak_bytes`` returns."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Peak resident memory of this process alone."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return next(int(line[1]) * 1024 for line in lines if line[0] == "VmHWM:")
