"""A program that writes to a graph as fast as it can, until its disk fails, and says what was acknowledged.

Run as `write_on.py <graph> <worker> <seed> <cut at> <flush>`. It begins when it gets a line. Every line it prints is
one step as JSON: `begin` before a write, `done` after its acknowledgement with the commit that it made, `failed` with
the error's code at the end.

With a number above 0 it cuts the power itself, right before the n-th call of a function that orders writes; with
`flush` an unrelated file is synced first. That makes the file system write its journal: the names that exist at that
moment are durable, the contents of files that were not synced are not. It is the worst moment for a power cut.
"""

import os
import random
import sys
import threading
import traceback
from collections.abc import Callable
from itertools import count
from typing import Any

import omnigraph
from omnigraph.errors import OmnigraphError
from tests.promises.power.disk import cut
from tests.promises.power.workload import Writer, say

WATCHED = ("link", "fsync", "unlink", "makedirs", "rename", "replace")
"""Functions of `os` that the order of a commit is made of."""


class Cutter:
    """Counts the watched calls and cuts before one of them."""

    def __init__(self, directory: str, at: int, flush: bool) -> None:
        self._directory, self._at, self._flush = directory, at, flush
        self._seen = 0
        self._lock = threading.Lock()
        self._fsync = os.fsync

    def watch(self) -> None:
        for name in WATCHED:
            setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                self._seen += 1
                is_due = self._seen == self._at
            if is_due:
                if self._flush:
                    self._write_journal()
                say("cut", before=name)
                cut(self._directory)
            return function(*arguments, **options)

        return called

    def _write_journal(self) -> None:
        with open(os.path.join(self._directory, "unrelated"), "ab", buffering=0) as file:
            file.write(b"x")
            self._fsync(file.fileno())


def main(uri: str, worker: str, seed: str, cut_at: str, flush: str) -> None:
    writer = Writer(omnigraph.open(uri), worker, random.Random(seed))
    if int(cut_at):
        Cutter(uri, int(cut_at), flush == "flush").watch()
    say("ready")
    sys.stdin.readline()
    try:
        for _ in count():
            writer.write()
    except OmnigraphError as error:
        say("failed", code=error.code, message=str(error))
    except Exception as error:
        say("raw", code=type(error).__name__, message="".join(traceback.format_exception(error)))


main(*sys.argv[1:])
