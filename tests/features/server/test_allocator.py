"""Memory that a query frees is kept for the next one, in the front and in readers."""

import subprocess
import sys
from platform import libc_ver

import pytest

FAULTS = """
import resource, sys
import numpy as np
from omnigraph.server.allocator import keep_freed_memory

keep_freed_memory({environment})
for _ in range(3):
    arrays = [np.ones(400_000) for _ in range(8)]
    del arrays
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    arrays = [np.ones(400_000) for _ in range(8)]
    del arrays
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(environment: dict[str, str]) -> int:
    """The pages that the kernel maps for ten times eight arrays of 3 MB."""
    code = FAULTS.format(environment=environment)
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)


@pytest.mark.skipif(libc_ver()[0] != "glibc", reason="other C libraries have no such thresholds")
def test_arrays_of_one_query_after_the_other_take_the_same_pages() -> None:
    assert faults({}) < 1_000
    assert faults({"MALLOC_ARENA_MAX": "4"}) > 10_000, "the settings of an operator stay in force"
