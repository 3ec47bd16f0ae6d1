"""The end of a process of the command line, without dismantling the interpreter.

Python releases every module and object when it ends, which takes a tenth of a second after Lance and Arrow were used,
and frees only what the system frees anyway. Exit functions run and output is flushed, as at an ordinary end.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import NoReturn


def leave(status: int) -> NoReturn:
    """End this process with an exit code."""
    others = [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.main_thread()]
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(status)
    # An ordinary end waits for the other threads.
    if others:
        sys.exit(status)
    atexit._run_exitfuncs()
    os._exit(status)
