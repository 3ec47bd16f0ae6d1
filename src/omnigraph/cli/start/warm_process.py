"""The warm process: has imported what commands need, and runs each command in a copy of itself.

It calls nothing of Lance and makes copies only while it has a single thread, so that a copy is as good as a fresh
start. It ends when it was idle for ten minutes, or when its socket is deleted.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import pkgutil
import selectors
import signal
import socket
import sys
import time
import warnings
from typing import Final

import omnigraph
from omnigraph.cli.start.warm_command import become
from omnigraph.cli.start.warm_place import (
    ACCEPTED,
    ENDED,
    FILES,
    LENGTH_BYTES,
    REQUEST_BYTES_MAX,
    STATUS_BYTES,
    Request,
    directory,
    identity,
    read_request,
    socket_path,
    user_of,
)
from omnigraph.cli.start.without_pandas import refuse_pandas

IDLE_SECONDS: Final = 600.0
LOOK_SECONDS: Final = 5.0
"""Time between two looks at the clock and at the socket file."""
REQUEST_SECONDS: Final = 2.0
WAITING_MAX: Final = 64
"""Commands that may wait to be accepted; others run as usual."""
PR_SET_PDEATHSIG: Final = 1

_LATE: Final = ("duckdb", "lance.optimize", "obstore", "pyarrow.json", "pyarrow.parquet", "rich.console")
"""Modules that commands import on first use."""

_NOT_NEEDED: Final = tuple(
    f"omnigraph.{name}"
    for name in ("__main__", "aio", "cluster", "integrations", "lake", "mcp", "namespace", "policy", "server", "spark")
)


def import_commands() -> None:
    """Import every module that a command may come to, except those of extras."""
    for module in pkgutil.walk_packages(omnigraph.__path__, "omnigraph.", onerror=lambda name: None):
        if not module.name.startswith(_NOT_NEEDED):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in _LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def is_single_threaded() -> bool:
    return len(os.listdir("/proc/self/task")) == 1


class WarmProcess:
    """The loop of the process: accepts commands, forwards their signals, and reports how they ended."""

    def __init__(self, listener: socket.socket, path: str, own: bytes) -> None:
        self._listener = listener
        self._path = path
        self._file = os.stat(path).st_ino
        self._identity = own
        self._running: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._wakeup, notified = socket.socketpair()
        notified.setblocking(False)
        self._notified = notified
        self._prctl = ctypes.CDLL(None).prctl

    def serve(self) -> None:
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._notified.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        used = time.monotonic()
        while self._running or (time.monotonic() - used < IDLE_SECONDS and self._is_reachable()):
            for key, _ in self._selector.select(LOOK_SECONDS):
                used = time.monotonic()
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._wakeup:
                    self._wakeup.recv(4096)
                    self._reap()
                else:
                    self._forward(key.data)
        if self._is_reachable():
            os.unlink(self._path)

    def _is_reachable(self) -> bool:
        try:
            return os.stat(self._path).st_ino == self._file
        except OSError:
            return False

    def _accept(self) -> None:
        channel, _ = self._listener.accept()
        files: list[int] = []
        try:
            request = self._read(channel, files)
            # A thread of a library that was loaded late would make copies unsafe.
            if request is None or not is_single_threaded():
                channel.close()
                return
            pid = os.fork()
            if pid == 0:
                self._become(channel, request, files)
            self._running[pid] = channel
            self._selector.register(channel, selectors.EVENT_READ, pid)
            channel.sendall(ACCEPTED)
        except (OSError, ValueError):
            channel.close()
        finally:
            for file in files:
                os.close(file)

    def _read(self, channel: socket.socket, files: list[int]) -> Request | None:
        channel.settimeout(REQUEST_SECONDS)
        if user_of(channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)) != os.geteuid():
            return None
        sent, received, _, _ = socket.recv_fds(channel, LENGTH_BYTES, FILES)
        files.extend(received)
        wanted = int.from_bytes(sent, "big")
        if len(sent) != LENGTH_BYTES or len(files) != FILES or wanted > REQUEST_BYTES_MAX:
            return None
        parts = bytearray()
        while len(parts) < wanted and (part := channel.recv(min(1 << 16, wanted - len(parts)))):
            parts += part
        request = read_request(bytes(parts))
        return request if request.identity == self._identity else None

    def _become(self, channel: socket.socket, request: Request, files: list[int]) -> None:
        """In the copy: let go of everything that belongs to this process, and run the command."""
        parent = os.getppid()
        self._prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The original may have ended before the line above.
        if parent != os.getppid():
            os._exit(1)
        signal.set_wakeup_fd(-1)
        self._selector.close()
        for one in (channel, self._listener, self._wakeup, self._notified, *self._running.values()):
            one.close()
        become(request, files)

    def _forward(self, pid: int) -> None:
        channel = self._running.get(pid)
        if channel is None:
            return
        try:
            sent = channel.recv(64)
        except OSError:
            sent = b""
        for number in sent:
            os.kill(pid, signal.SIGSTOP if number == signal.SIGTSTP else number)
        if not sent:
            # The caller was killed, and the work that it stands in for ends with it.
            self._selector.unregister(channel)
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            channel = self._running.pop(pid)
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(channel)
            with contextlib.suppress(OSError):
                channel.sendall(ENDED + status.to_bytes(STATUS_BYTES, "big"))
            channel.close()


def main() -> int:
    own = identity(dict(os.environb))
    home = directory()
    if home is None:
        return 1
    path = socket_path(home, own)
    os.chdir("/")
    refuse_pandas()
    import_commands()
    # Lance warns of every fork; here it has no runtime yet.
    warnings.filterwarnings("ignore", "lance is not fork-safe")
    if not is_single_threaded():
        # The mark of the start remains, so that commands do not try again immediately.
        return 1
    # Collections in the copies would write to, and so duplicate, all pages of these objects.
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{path}.new")
        os.chmod(f"{path}.new", 0o600)
        listener.listen(WAITING_MAX)
        os.rename(f"{path}.new", path)
        with contextlib.suppress(OSError):
            os.unlink(f"{path}.start")
        print("ready", flush=True)
        WarmProcess(listener, path, own).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
