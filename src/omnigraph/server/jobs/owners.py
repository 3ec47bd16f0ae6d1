"""The process that a job belongs to, and whether it still runs: a job of a process that is gone was interrupted."""

from __future__ import annotations

import os
import socket
from functools import cache


@cache
def this_process() -> str:
    """Names this process so that no other one has the same name, on this machine or another."""
    return f"{socket.gethostname()} {os.getpid()} {_started(os.getpid())}"


def is_alive(owner: str) -> bool | None:
    """True if the process of that name runs; None if it is one of another machine, which cannot be looked at."""
    host, pid, started = owner.rsplit(" ", 2)
    if host != socket.gethostname():
        return None
    return started != "" and _started(int(pid)) == started


def _started(pid: int) -> str:
    """The start of a process, by the clock of the machine; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except OSError:
        return "" if os.path.isdir("/proc") else _without_proc(pid)


def _without_proc(pid: int) -> str:
    """On a machine without ``/proc``, a process that exists counts as the one of that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"
