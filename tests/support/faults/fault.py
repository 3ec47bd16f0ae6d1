"""Faults, each at a counted operation. Values only; `tracer` and `proxy` carry them out.

`n` counts from 1. An operation is a file system call for the tracer and a request for the proxy; a fault that reaches
an operation is reported as `hit`, so a sweep notices when it aimed past the end.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KillAt:
    """SIGKILL to the whole program just before operation `n`, or right after it took effect but before it was answered.

    Operations are let through one at a time, so exactly the first `n - 1` (or `n`) have happened, and none later.
    """

    n: int
    after: bool = False


@dataclass(frozen=True, slots=True)
class FailAt:
    """The `n`-th file system call does nothing and returns this errno; later calls work again."""

    n: int
    errno: int


@dataclass(frozen=True, slots=True)
class FailFrom:
    """Every file system call from the `n`-th on fails with this errno, until the window closes.

    For ENOSPC and EDQUOT only calls that need space fail: a full disk can still unlink, sync and open what exists.
    """

    n: int
    errno: int


@dataclass(frozen=True, slots=True)
class PartialWriteAt:
    """The `n`-th call writes only the first half of its bytes and says so; with `kill` the program then dies.

    Aimed at a call that is not a write of at least two bytes, it does nothing and is not reported as hit.
    """

    n: int
    kill: bool = False


@dataclass(frozen=True, slots=True)
class RespondAt:
    """Requests `n` to `n + times - 1` are answered with this status; with `after` they took effect nevertheless."""

    n: int
    status: int
    times: int = 1
    after: bool = False


@dataclass(frozen=True, slots=True)
class DropAt:
    """Requests `n` to `n + times - 1` get no answer, only a closed connection; `after` is a lost acknowledgement."""

    n: int
    times: int = 1
    after: bool = False


@dataclass(frozen=True, slots=True)
class DelayAt:
    """Request `n` waits before it is forwarded."""

    n: int
    seconds: float


FileFault = KillAt | FailAt | FailFrom | PartialWriteAt
RequestFault = KillAt | RespondAt | DropAt | DelayAt
