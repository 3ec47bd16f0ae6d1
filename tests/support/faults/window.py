"""The measured window of a program under test.

Called inside the child. Outside of a fault test both calls do nothing, so a writer script also runs on its own. The
tracer is notified by a prctl with a number unknown to the kernel: it needs no file, works from any thread and is seen
by the seccomp filter. The proxy is notified by a request to the address in `CONTROL_VARIABLE`.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

ARM = 0x4F470001
DISARM = 0x4F470002

CONTROL_VARIABLE = "OMNIGRAPH_FAULTS_CONTROL"
ARM_PATH = "/-/arm"
DISARM_PATH = "/-/disarm"

_CONTROL_TIMEOUT_S = 30


def arm() -> None:
    """Start counting. A program may arm and disarm several times; the count goes on."""
    _tell_proxy(ARM_PATH)
    _tell_tracer(ARM)


def disarm() -> None:
    """Stop counting; what follows works undisturbed."""
    _tell_tracer(DISARM)
    _tell_proxy(DISARM_PATH)


@contextmanager
def armed() -> Iterator[None]:
    """`arm` now and `disarm` at the end of the block, also when it raises."""
    arm()
    try:
        yield
    finally:
        disarm()


def _tell_tracer(signal: int) -> None:
    ctypes.CDLL(None).prctl(signal, 0, 0, 0, 0)


def _tell_proxy(path: str) -> None:
    address = os.environ.get(CONTROL_VARIABLE)
    if address is None:
        return
    # Only here: the tracer's children need no HTTP client, and start faster without one.
    from http.client import HTTPConnection

    connection = HTTPConnection(address, timeout=_CONTROL_TIMEOUT_S)
    try:
        connection.request("POST", path)
        connection.getresponse().read()
    finally:
        connection.close()
