"""What this process and those it started have used, as Linux tells it: beside other work the clock tells little."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """Seconds by the clock, and seconds of processors of the whole tree of processes."""

    seconds: float
    processor: float


def timed(work: Callable[[], object], used: Callable[[], float] | None = None) -> Cost:
    """What work costs. ``used`` tells the seconds of processors so far; those of the whole tree if not given."""
    used = used or processor_seconds
    start, before = time.perf_counter(), used()
    work()
    return Cost(time.perf_counter() - start, used() - before)


def processor_seconds() -> float:
    """Of this process and all that descend from it; those that ended count with who waited for them."""
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
        while process not in (0, os.getpid()):
            process = parents.get(process, 0)
        return process != 0

    return sum(ticks for process, ticks in used.items() if is_ours(process)) / _TICKS


def forget_peak() -> None:
    """From here on ``peak_bytes`` is the peak."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """The most memory that this process alone has held."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return next(int(line[1]) * 1024 for line in lines if line[0] == "VmHWM:")
