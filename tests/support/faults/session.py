"""One traced program: follows its threads and children from stop to stop, counts, and carries out the fault.

Runs in a thread of its own, because ptrace belongs to the attaching thread and because waiting for "any child" must
not take the children of somebody else. What the calls are is in `syscalls`, how registers are reached in `ptrace`.
"""

import errno
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, assert_never

from tests.support.faults import ptrace
from tests.support.faults.fault import FailAt, FailFrom, FileFault, KillAt, PartialWriteAt
from tests.support.faults.syscalls import Machine, Signature, Space
from tests.support.faults.window import ARM

_OPTIONS = (
    ptrace.OPTION_SYSGOOD
    | ptrace.OPTION_FORK
    | ptrace.OPTION_VFORK
    | ptrace.OPTION_CLONE
    | ptrace.OPTION_EXEC
    | ptrace.OPTION_SECCOMP
    | ptrace.OPTION_EXITKILL
)
_WAIT_ALL = 0x40000000
_WAIT_OWN_THREAD = 0x20000000
_SYSCALL_STOP = signal.SIGTRAP | 0x80
_JOB_CONTROL = frozenset({signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
_AT_FDCWD = -100
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# -ERESTARTSYS and its relatives: a signal came first and the kernel will make the call again.
_RESTARTED = frozenset({-512, -513, -514, -516})


@dataclass(frozen=True, slots=True)
class Call:
    """One counted call. Paths are relative to the traced root; `result` is None if the program died in it."""

    index: int
    name: str
    path: str
    target: str | None = None
    size: int | None = None
    result: int | None = None

    @property
    def shape(self) -> tuple[str, str, str]:
        """Name, directory and suffix: what stays the same when a run is repeated with other random file names."""
        return (self.name, os.path.dirname(self.path), os.path.splitext(self.path)[1])


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A thread that waits in front of a counted call."""

    tid: int
    signature: Signature
    arguments: tuple[int, ...]
    path: str
    target: str | None


Launch = Callable[[list[str], dict[str, str], IO[bytes], IO[bytes], int], int]
"""Starts a program that waits for its filter at the pipe given last; returns its process id."""


def _launch(argv: list[str], env: dict[str, str], stdout: IO[bytes], stderr: IO[bytes], pipe_end: int) -> int:
    launcher = str(Path(__file__).with_name("launch.py"))
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", launcher, str(pipe_end), *argv],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        pass_fds=[pipe_end],
    )
    # The session waits for it; this keeps Popen from warning about a child without a wait.
    process.returncode = 0
    return process.pid


class Session:
    """One traced program, from start to the death of its last thread."""

    def __init__(
        self, machine: Machine, root: str, fault: FileFault | None, *, armed: bool, launch: Launch | None = None
    ) -> None:
        self._machine = machine
        self._launch = launch or _launch
        self._root = root
        self._fault = fault
        self._armed = armed
        self._killed = False
        self._leader = 0
        self._tids: set[int] = set()
        self._waiting: deque[_Stopped] = deque()
        # The thread inside a counted call, and the errno it is going to get instead of doing anything.
        self._inside: int | None = None
        self._denied: int | None = None
        self.ever_armed = armed
        self.calls: list[Call] = []
        self.hit: Call | None = None
        self.returncode = 0
        self.error: BaseException | None = None

    def run(self, argv: list[str], env: dict[str, str], stdout: IO[bytes], stderr: IO[bytes]) -> None:
        """The body of the tracing thread. An exception ends the program and is left in `error`."""
        try:
            self._start(argv, env, stdout, stderr)
            while self._wait():
                pass
        except BaseException as error:
            self.error = error
            self.kill_all()
            while self._reap():
                pass

    def kill_all(self) -> None:
        """SIGKILL to every process of the program; their threads die with them, at whatever stop they are."""
        self._killed = True
        for tid in self._tids.copy():
            _kill(tid)

    def _start(self, argv: list[str], env: dict[str, str], stdout: IO[bytes], stderr: IO[bytes]) -> None:
        read_end, write_end = os.pipe()
        try:
            self._leader = self._launch(argv, env, stdout, stderr, read_end)
            self._tids.add(self._leader)
            ptrace.seize(self._leader, _OPTIONS)
            os.write(write_end, self._machine.filter())
        finally:
            os.close(read_end)
            os.close(write_end)

    def _reap(self) -> tuple[int, int] | None:
        """The next report of any thread, or None when all are dead."""
        try:
            return os.waitpid(-1, _WAIT_ALL | _WAIT_OWN_THREAD)
        except ChildProcessError:
            return None

    def _wait(self) -> bool:
        report = self._reap()
        if report is None:
            return False
        tid, status = report
        if not os.WIFSTOPPED(status):
            self._ended(tid, status)
            return True
        self._tids.add(tid)
        if self._killed:
            _kill(tid)
            return True
        # If it is gone, its end will be reported as well.
        with suppress(ptrace.Gone):
            self._stopped(tid, os.WSTOPSIG(status), status >> 16)
        return True

    def _ended(self, tid: int, status: int) -> None:
        self._tids.discard(tid)
        if tid == self._leader:
            self.returncode = os.waitstatus_to_exitcode(status)
        self._waiting = deque(stopped for stopped in self._waiting if stopped.tid != tid)
        if self._inside == tid:
            self._inside = None
            # A program that ends takes its other threads along, those included that wait here for their turn.
            with suppress(ptrace.Gone):
                self._next()

    def _stopped(self, tid: int, stop_signal: int, event: int) -> None:
        if event == ptrace.EVENT_SECCOMP:
            self._before_call(tid)
        elif stop_signal == _SYSCALL_STOP:
            self._after_call(tid)
        elif event == ptrace.EVENT_STOP and stop_signal in _JOB_CONTROL:
            ptrace.stay_stopped(tid)
        elif event:
            ptrace.resume(tid)
        else:
            ptrace.resume(tid, stop_signal)

    def _before_call(self, tid: int) -> None:
        number, arguments = ptrace.entry(tid)
        if number == self._machine.prctl:
            self._armed = arguments[0] == ARM
            self.ever_armed = self.ever_armed or self._armed
            ptrace.resume(tid)
            return
        stopped = self._counted(tid, self._machine.by_number[number], arguments) if self._armed else None
        if stopped is None:
            ptrace.resume(tid)
            return
        self._waiting.append(stopped)
        self._next()

    def _counted(self, tid: int, signature: Signature, arguments: tuple[int, ...]) -> _Stopped | None:
        """The call with its paths relative to the root, or None if it is none of ours."""
        if signature.descriptor is not None:
            paths = [_descriptor_path(tid, arguments[signature.descriptor])]
        else:
            paths = [
                _resolve(tid, None if directory is None else arguments[directory], arguments[pointer])
                for directory, pointer in signature.paths
            ]
        if not any(path == self._root or path.startswith(self._root + "/") for path in paths):
            return None
        first, *rest = (os.path.relpath(path, self._root) for path in paths)
        return _Stopped(tid, signature, arguments, first, rest[0] if rest else None)

    def _next(self) -> None:
        """Let the next waiting call in, if none is inside."""
        if self._killed or self._inside is not None or not self._waiting:
            return
        stopped = self._waiting.popleft()
        signature = stopped.signature
        size = None if signature.size is None else stopped.arguments[signature.size]
        call = Call(len(self.calls) + 1, signature.name, stopped.path, stopped.target, size)
        self.calls.append(call)
        self._denied = None
        self._inside = stopped.tid
        if not self._strike(stopped, call):
            ptrace.resume_to_exit(stopped.tid)

    def _strike(self, stopped: _Stopped, call: Call) -> bool:
        """Apply the fault if this is its call. True if the program was killed before it."""
        match self._fault:
            case None:
                pass
            case KillAt(n, after):
                if call.index == n:
                    self.hit = call
                    if not after:
                        self.kill_all()
                        return True
            case FailAt(n, code):
                if call.index == n:
                    self._deny(stopped, call, code)
            case FailFrom(n, code):
                if call.index >= n and (code not in _DISK_FULL or _needs_space(stopped)):
                    self._deny(stopped, call, code)
            case PartialWriteAt(n, _):
                if call.index == n and self._halve(stopped):
                    self.hit = call
            case _:
                assert_never(self._fault)
        return False

    def _deny(self, stopped: _Stopped, call: Call, code: int) -> None:
        self.hit = self.hit or call
        self._denied = code
        ptrace.set_number(self._machine, stopped.tid, -1)

    def _halve(self, stopped: _Stopped) -> bool:
        """Shorten a write to half its bytes; False if it is no write or too short."""
        signature, tid = stopped.signature, stopped.tid
        if signature.single is not None:
            # A vector becomes a plain write of half of its first buffer. Its other arguments are in the same places.
            vector = ptrace.memory(tid, stopped.arguments[1], 16)
            address, length = (int.from_bytes(vector[at : at + 8], sys.byteorder) for at in (0, 8))
            if length < 2:
                return False
            # pwritev2 takes -1 for "at the current position", which pwrite64 does not know.
            at_position = signature.name == "pwritev2" and _signed(stopped.arguments[3]) == -1
            single = "write" if at_position else signature.single
            ptrace.set_number(self._machine, tid, self._machine.number(single))
            ptrace.set_argument(self._machine, tid, 1, address)
            ptrace.set_argument(self._machine, tid, 2, length // 2)
            return True
        if signature.name not in {"write", "pwrite64", "sendfile", "copy_file_range", "splice"}:
            return False
        assert signature.size is not None
        size = stopped.arguments[signature.size]
        if size < 2:
            return False
        ptrace.set_argument(self._machine, tid, signature.size, size // 2)
        return True

    def _after_call(self, tid: int) -> None:
        if tid != self._inside:
            ptrace.resume(tid)
            return
        self._inside = None
        result = ptrace.result(tid)
        if self._denied is not None:
            result = -self._denied
            ptrace.set_result(self._machine, tid, result)
        elif result in _RESTARTED:
            self.calls.pop()
            self._next_after(tid)
            return
        call = replace(self.calls[-1], result=result)
        self.calls[-1] = call
        if self.hit is not None and self.hit.index == call.index:
            self.hit = call
            match self._fault:
                case KillAt(_, True) | PartialWriteAt(_, True):
                    self.kill_all()
                    return
                case _:
                    pass
        self._next_after(tid)

    def _next_after(self, tid: int) -> None:
        try:
            ptrace.resume(tid)
        finally:
            self._next()


def _kill(tid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(tid, signal.SIGKILL)


def _needs_space(stopped: _Stopped) -> bool:
    match stopped.signature.space:
        case Space.NEEDED:
            return True
        case Space.NOT_NEEDED:
            return False
        case Space.IF_CREATING:
            assert stopped.signature.flags is not None
            return bool(stopped.arguments[stopped.signature.flags] & os.O_CREAT)
    assert_never(stopped.signature.space)


def _descriptor_path(tid: int, descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/{tid}/fd/{descriptor & 0x7FFFFFFF}")
    except OSError:
        # Not open: the call is going to fail with EBADF.
        return ""


def _working_directory(tid: int) -> str:
    try:
        return os.readlink(f"/proc/{tid}/cwd")
    except (FileNotFoundError, ProcessLookupError):
        # Another thread ended the program since this one stopped.
        raise ptrace.Gone from None


def _resolve(tid: int, directory: int | None, pointer: int) -> str:
    """The absolute path a call names, without symbolic links except perhaps the last part."""
    name = ptrace.text(tid, pointer)
    if not os.path.isabs(name):
        descriptor = _AT_FDCWD if directory is None else _signed(directory)
        base = _working_directory(tid) if descriptor == _AT_FDCWD else _descriptor_path(tid, descriptor)
        name = os.path.join(base, name)
    parent, last = os.path.split(os.path.normpath(name))
    return os.path.join(os.path.realpath(parent), last)


def _signed(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value
