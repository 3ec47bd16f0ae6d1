"""An interpreter that has imported everything and is copied by fork: a program starts in milliseconds.

Starting Python and importing Lance, pyarrow and the package is most of what a position of a sweep costs. The warm
interpreter (`warm_process`) does it once. Lance must not be forked once its runtime has threads; the warm interpreter
calls nothing, and refuses to fork with more than one thread, so a copy is as good as a fresh start.

Copies run one at a time. A test that needs a process with a history of its own starts a cold one.
"""

import json
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from tests.support.faults.child import environment, python, script_of

_SINGLE_THREADED = {
    # numpy's linear algebra starts a thread for each core when it is imported, Arrow's allocator one to tidy up.
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
MESSAGE_BYTES_MAX = 1 << 17


class WarmError(Exception):
    """The warm interpreter could not start or could not be copied."""


class Turn:
    """One copy, from its start to its end."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self.pid: int | None = None
        self.returncode: int | None = None

    def launch(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        stdout: IO[Any],
        stderr: IO[Any],
        filter_pipe: int | None = None,
    ) -> int:
        """Start the script of an argv made by `python`; with a pipe it waits there for its seccomp filter."""
        request = {"argv": script_of(argv), "env": dict(env), "is_traced": filter_pipe is not None}
        files = [stdout.fileno(), stderr.fileno(), *([] if filter_pipe is None else [filter_pipe])]
        socket.send_fds(self._channel, [json.dumps(request).encode()], files)
        answer = json.loads(self._channel.recv(MESSAGE_BYTES_MAX) or b"{}")
        if "pid" not in answer:
            raise WarmError(answer.get("error", "the warm interpreter has ended"))
        self.pid = answer["pid"]
        return int(answer["pid"])

    def wait(self, timeout_s: float | None = None) -> int:
        """The exit code, negative for a signal; TimeoutError if it takes longer."""
        if self.returncode is None:
            self._channel.settimeout(timeout_s)
            try:
                self.returncode = int(json.loads(self._channel.recv(MESSAGE_BYTES_MAX))["returncode"])
            finally:
                self._channel.settimeout(None)
        return self.returncode


class WarmInterpreter:
    """The interpreter that is copied. It ends when the process that started it does.

    ``modules`` are imported beside what writers need.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self._lock = threading.Lock()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        script = Path(__file__).with_name("warm_process.py")
        with theirs:
            self._process = subprocess.Popen(
                python(script, theirs.fileno(), *modules),
                env=environment(None) | _SINGLE_THREADED,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._channel = ours
        if ours.recv(MESSAGE_BYTES_MAX) != b"ready":
            raise WarmError(f"the warm interpreter did not start: exit code {self._process.wait()}")

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """The right to run one copy. At the end of the block the copy has ended or is waited for."""
        with self._lock:
            turn = Turn(self._channel)
            try:
                yield turn
            finally:
                if turn.pid is not None:
                    turn.wait()

    def close(self) -> None:
        self._channel.close()
        self._process.wait()


@cache
def warm_interpreter() -> WarmInterpreter:
    """The one of this process."""
    import atexit

    interpreter = WarmInterpreter()
    atexit.register(interpreter.close)
    return interpreter
