"""A command that asks the warm process to run it: hands over its files and environment, and stands in for it.

Whatever prevents that (no process yet, another version, another user, another system) lets the command run as usual.
The first command that finds no warm process starts one, and does not wait for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from typing import Final

from omnigraph.cli.start.warm_place import (
    ACCEPTED,
    COLD,
    ENDED,
    LENGTH_BYTES,
    SINGLE_THREADED,
    STATUS_BYTES,
    Request,
    directory,
    identity,
    socket_path,
    user_of,
)

FORWARDED: Final = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGTSTP", "SIGCONT")
    if name in signal.Signals.__members__
)
START_SECONDS: Final = 60.0
"""Time after which a warm process that has not appeared may be started again."""
ANSWER_SECONDS: Final = 2.0
"""Longest wait for the warm process to accept a command."""
LOST: Final = 1
ENDED_EARLY: Final = b"""\
error: the warm process ended while it ran this command
  hint: a write may have been committed: see `omnigraph commit list`
"""


def run_warm(argv: list[str]) -> int | None:
    """The exit code of the command, or None if it has to run in this process."""
    if not _is_possible(argv):
        return None
    home = directory()
    if home is None:
        return None
    environment = dict(os.environb)
    own = identity(environment)
    path = socket_path(home, own)
    try:
        files = [*range(3), os.open(".", os.O_RDONLY)]
    except OSError:
        return None
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            if not _is_accepted(channel, path, _request(argv, environment, own), files):
                return None
            os.close(files.pop())
            return _outcome(channel)
    finally:
        for file in files[3:]:
            os.close(file)


def _is_possible(argv: list[str]) -> bool:
    if sys.platform != "linux" or not sys.executable or sys.flags.ignore_environment:
        return False
    # The rights of a program that runs as another user than its caller are not those of the warm process.
    if os.getuid() != os.geteuid() or os.getgid() != os.getegid():
        return False
    if any(name in os.environ for name in SINGLE_THREADED):
        return False
    if len(argv) < 2 or argv[1] in COLD or argv[1].startswith("-"):
        return False
    try:
        for file in range(3):
            os.fstat(file)
    except OSError:
        return False
    return True


def _request(argv: list[str], environment: dict[bytes, bytes], own: bytes) -> bytes:
    umask = os.umask(0o077)
    os.umask(umask)
    ignored = tuple(int(one) for one in FORWARDED if signal.getsignal(one) is signal.SIG_IGN)
    return Request(own, umask, ignored, tuple(os.fsencode(word) for word in argv), environment).to_bytes()


def _is_accepted(channel: socket.socket, path: str, request: bytes, files: list[int]) -> bool:
    channel.settimeout(ANSWER_SECONDS)
    try:
        channel.connect(path)
    except OSError:
        _start(path)
        return False
    try:
        credentials = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if user_of(credentials) != os.geteuid():
            return False
        length = len(request).to_bytes(LENGTH_BYTES, "big")
        socket.send_fds(channel, [length], files)
        channel.sendall(request)
        return channel.recv(len(ACCEPTED)) == ACCEPTED
    except OSError:
        return False


def _outcome(channel: socket.socket) -> int:
    """Wait for the end of the command, handing on the signals that this process receives."""
    channel.settimeout(None)

    def forward(number: int, _frame: object) -> None:
        with contextlib.suppress(OSError):
            channel.send(bytes([number]))
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)

    for number in FORWARDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, forward)
    answer = b""
    with contextlib.suppress(OSError):
        while len(answer) < len(ENDED) + STATUS_BYTES and (part := channel.recv(64)):
            answer += part
    if not answer.startswith(ENDED):
        os.write(2, ENDED_EARLY)
        return LOST
    status = int.from_bytes(answer[len(ENDED) :], "big")
    if os.WIFSIGNALED(status):
        # The caller sees the signal that ended the command.
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def _start(path: str) -> None:
    """Start a warm process that will listen at a path, unless another command is just doing that."""
    mark = f"{path}.start"
    try:
        if time.time() - os.stat(mark).st_mtime < START_SECONDS:
            return
        os.unlink(mark)
    except OSError:
        pass
    with contextlib.suppress(OSError):
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0)
        same = [(os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
        # Without -P a module in the working directory could replace one of ours.
        command = [sys.executable, "-P", "-m", "omnigraph.cli.start.warm_process"]
        os.posix_spawn(
            sys.executable, command, {**os.environ, **SINGLE_THREADED}, file_actions=[nothing, *same], setsid=True
        )
