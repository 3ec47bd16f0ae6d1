"""Fault injection below Python: kill or fail a writer at every storage operation it makes.

Lance does its I/O in Rust threads, so nothing wrapped around Python functions sees it. Two tools do:

- `tracer` runs a program under ptrace and counts its file system calls below one directory;
- `s3` is an S3 server on loopback behind a proxy that counts requests.

Both take a program that says with `arm()` and `disarm()` (or `with armed():`) which part of it is under test, and both
take the same `KillAt(n)`. `fault` lists everything that can go wrong; `child` builds the command line of a program.
The crash matrices of the writers live with the writers; here are only the tools and their own tests.
"""

from tests.support.faults.child import python
from tests.support.faults.fault import DelayAt, DropAt, FailAt, FailFrom, KillAt, PartialWriteAt, RespondAt
from tests.support.faults.session import Call
from tests.support.faults.tracer import Trace, run, trace, why_unavailable
from tests.support.faults.window import arm, armed, disarm

__all__ = [
    "Call",
    "DelayAt",
    "DropAt",
    "FailAt",
    "FailFrom",
    "KillAt",
    "PartialWriteAt",
    "RespondAt",
    "Trace",
    "arm",
    "armed",
    "disarm",
    "python",
    "run",
    "trace",
    "why_unavailable",
]
