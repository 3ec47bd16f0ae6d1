"""A copy of the warm process becomes the process of a command: files, environment, directory, signals, streams."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
import traceback
from typing import NoReturn

from omnigraph.cli.start.leave import leave
from omnigraph.cli.start.run import run_command
from omnigraph.cli.start.warm_place import Request


def become(request: Request, files: list[int]) -> NoReturn:
    """Run the command of a request in this process, and end with its exit code."""
    status = 1
    try:
        os.setsid()
        *standard, place = files
        for number, file in enumerate(standard):
            os.dup2(file, number)
        os.fchdir(place)
        for file in files:
            os.close(file)
        os.umask(request.umask)
        os.environb.clear()
        os.environb.update(request.environment)
        time.tzset()
        _open_streams()
        _reset_signals(request.ignored)
        sys.argv = [os.fsdecode(word) for word in request.argv]
        status = run_command()
        leave(status)
    except BaseException:
        # A fault of this module: the command reports its own errors.
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        # Also after an error: nothing of the original's loop may run on in a copy.
        os._exit(status)


def _open_streams() -> None:
    """Standard streams as Python opens them, which depends on whether they are terminals."""
    for name, number, mode, buffering in (("stdin", 0, "r", -1), ("stdout", 1, "w", -1), ("stderr", 2, "w", 1)):
        usual = getattr(sys, f"__{name}__")
        stream = open(number, mode, buffering, encoding=usual.encoding, errors=usual.errors, closefd=False)  # noqa: SIM115 # open for the life of the process
        if isinstance(stream, io.TextIOWrapper) and usual.write_through:
            stream.reconfigure(write_through=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _reset_signals(ignored: tuple[int, ...]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
