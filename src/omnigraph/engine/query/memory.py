"""The memory limit of a query: from the caller, the environment, or a share of the machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from omnigraph.errors import UsageError

VARIABLE = "OMNIGRAPH_QUERY_MEMORY"

MACHINE_SHARE = 2
"""Without a setting, a query may use the machine's memory divided by this."""

UNKNOWN_MACHINE_BYTES = 8 * 2**30
"""The assumed memory of a machine whose system does not report it."""

CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def query_memory(given: int | None, environment: Mapping[str, str] = os.environ) -> int:
    """Bytes that one query may use."""
    if given is not None:
        return given
    setting = environment.get(VARIABLE, "").strip()
    return machine_bytes() // MACHINE_SHARE if not setting else parsed(setting)


def parsed(setting: str, variable: str = VARIABLE) -> int:
    """Bytes written as a number with an optional unit: ``500M``, ``4 GiB``. Units are powers of 1024."""
    size = _SIZE.fullmatch(setting)
    if size is None:
        raise UsageError(
            f"{variable} is `{setting}`, which is no number of bytes", hint="write 500000000, 500M or 4GiB, for example"
        )
    return int(size[1]) * _UNITS[size[2].upper()]


@cache
def machine_bytes(container_limit: Path = CONTAINER_LIMIT) -> int:
    """The memory of the machine, or of the container if that is less."""
    known = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in known:
        return UNKNOWN_MACHINE_BYTES
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        allowed = container_limit.read_text(encoding="ascii").strip()
    except OSError:
        return machine
    return min(machine, int(allowed)) if allowed.isdigit() else machine
