"""Processor time and memory of a process tree, from `/proc`: wall time says little on a shared machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

SAMPLE_SECONDS = 0.5
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


class Memory(NamedTuple):
    """Peak bytes. Those of the workers are a sum over processes; pages they share are divided among them."""

    driver: int = 0
    jvm: int = 0
    workers: int = 0


class Sampler:
    """Samples the tree below a process until it is stopped."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._ended = threading.Event()
        self.peak = Memory()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            held = memory_of(self._root)
            self.peak = Memory(*(max(pair) for pair in zip(self.peak, held, strict=True)))


def memory_of(root: int) -> Memory:
    """The memory of a driver and its descendants now."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parent = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry))
    jvm = workers = 0
    waiting = list(children.get(root, ()))
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, ())
        if _is_java(process):
            jvm += _bytes(process)
        else:
            workers += _bytes(process)
    return Memory(_bytes(root), jvm, workers)


def _is_java(process: int) -> bool:
    try:
        return os.path.basename(os.readlink(f"/proc/{process}/exe")) == "java"
    except OSError:
        return False


def _bytes(process: int) -> int:
    """The proportional set size; 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
