"""Runs a program under ptrace, counts its file system calls below one directory, and makes one of them go wrong.

All threads and children are followed. A seccomp filter stops them only at calls that change files, so the rest of the
program runs at full speed. Counted calls are let through one at a time: when the n-th is about to run, exactly the
first n - 1 have finished, whichever threads made them.

Two runs of one Lance write make the same number of calls, if both start from equal directories: a file left over from
a killed run makes Lance try another name, so a sweep gives each position its own copy. Calls of threads that work at
the same time may change places. File names are random; `Call.shape` is what can be compared.

Deliberately does not look at reads, and does not forget unsynced data as a power loss would. Runs may be made from
several threads at once.
"""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from tests.support.faults.child import environment
from tests.support.faults.fault import FileFault
from tests.support.faults.session import Call, Launch, Session
from tests.support.faults.syscalls import this_machine
from tests.support.faults.warm import warm_interpreter

TIMEOUT_S = 60.0


class TracerError(Exception):
    """The run says nothing about the program: tracing is not possible here, it never armed, or it did not end."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Outcome of a run. `returncode` is negative for a signal, as in `subprocess`; `hit` is the failed call."""

    calls: tuple[Call, ...]
    returncode: int
    stdout: str
    stderr: str
    hit: Call | None

    @property
    def killed(self) -> bool:
        return self.returncode == -signal.SIGKILL


def trace(
    argv: Sequence[str],
    *,
    root: Path | str,
    env: Mapping[str, str] | None = None,
    window: bool = True,
    warm: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Trace:
    """Run a program without disturbing it and say which counted calls it makes."""
    return run(argv, root=root, fault=None, env=env, window=window, warm=warm, timeout_s=timeout_s)


def run(
    argv: Sequence[str],
    *,
    root: Path | str,
    fault: FileFault | None,
    env: Mapping[str, str] | None = None,
    window: bool = True,
    warm: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Trace:
    """Run a program with one fault.

    Calls count while the program is armed (see `window`), or from its first instruction with `window=False`. A program
    that ends well without ever arming is a mistake of the test and raises. With `warm` a Python script starts in a copy
    of an interpreter that has imported everything (see `warm`).
    """
    if warm:
        with warm_interpreter().turn() as turn:
            return _run(argv, root, fault, environment(env), window, timeout_s, turn.launch)
    return _run(argv, root, fault, environment(env), window, timeout_s, None)


def _run(
    argv: Sequence[str],
    root: Path | str,
    fault: FileFault | None,
    env: dict[str, str],
    window: bool,
    timeout_s: float,
    launch: Launch | None,
) -> Trace:
    machine = this_machine()
    if machine is None:
        raise TracerError("the tracer knows Linux on x86_64 and aarch64 only")
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        session = Session(machine, os.path.realpath(root), fault, armed=not window, launch=launch)
        worker = threading.Thread(target=session.run, args=(list(argv), env, stdout, stderr), name="tracer")
        worker.start()
        try:
            worker.join(timeout_s)
        finally:
            overdue = worker.is_alive()
            if overdue:
                session.kill_all()
                worker.join()
        texts = [_read(stdout), _read(stderr)]
    if session.error is not None:
        raise session.error
    if overdue:
        raise TracerError(f"{argv} did not end within {timeout_s} s\n" + "\n".join(texts))
    if session.returncode == 0 and not session.ever_armed:
        raise TracerError(f"{argv} never armed: call tests.support.faults.arm(), or count everything with window=False")
    return Trace(tuple(session.calls), session.returncode, texts[0], texts[1], session.hit)


@cache
def why_unavailable() -> str | None:
    """The reason why tracing is not possible here, or None. Tries it once."""
    if this_machine() is None:
        return "the tracer knows Linux on x86_64 and aarch64 only"
    with tempfile.TemporaryDirectory() as directory:
        write = [sys.executable, "-I", "-S", "-c", f"open({directory + '/probe'!r}, 'w').close()"]
        try:
            probe = trace(write, root=directory, window=False)
        except (OSError, TracerError) as error:
            return f"ptrace is not permitted: {error}"
    if [call.path for call in probe.calls] != ["probe"]:
        return f"seccomp filters do not work here: {probe.stderr.strip() or probe.calls}"
    return None


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
