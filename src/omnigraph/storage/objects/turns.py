"""Turns: advisory locks that make optimistic concurrency fair to a writer that keeps losing its swap.

A writer whose preparation takes longer than the interval between other swaps would starve. After some lost swaps it
holds the turn of its branch, and every other writer waits before its own swap. Correctness never depends on a turn: the
swap stays strict, a turn ends with its process, and a writer waits no longer than the holder has announced.

On a local disk the turn is a lock that the operating system releases; checking it costs a few microseconds. In an
object store it is a small object. A writer looks for it only after losing a swap, so a winning write sends no extra
request. Therefore the holder also makes the others lose once (``needs_knock``).
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import random
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from omnigraph.errors import OmnigraphError
from omnigraph.storage.objects.protocol import Objects
from omnigraph.storage.objects.uri import Root

_logger = logging.getLogger(__name__)

TURN_SECONDS_MAX = 600.0
"""Longest turn that other writers respect, whatever its holder announces."""

ANNOUNCED_WITHIN_SECONDS = 1.0
"""Pause before the announced end of a local turn is looked at: its holder may not have written it yet."""

_REMOTE_PAUSE_SECONDS = 0.2

FILE = "_turn"


class LocalTurns:
    """Turns as locks on ``<manifest>/_turn``; the file holds the announced end of the turn."""

    needs_knock = False

    def __init__(self, root: Root) -> None:
        self._root = root
        self._held: set[str] = set()

    def wait(self, location: str) -> None:
        if location in self._held:
            return
        try:
            descriptor = os.open(self._path(location), os.O_RDONLY)
        except OSError:
            # No writer has ever held a turn here.
            return
        try:
            _lock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    def note_lost(self, location: str) -> None:
        return

    @contextmanager
    def hold(self, location: str, seconds: float) -> Iterator[bool]:
        try:
            descriptor = os.open(self._path(location), os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            yield False
            return
        try:
            is_locked = _lock(descriptor, fcntl.LOCK_EX)
            if is_locked:
                # On a full disk the turn is held without an announced end.
                with suppress(OSError):
                    os.pwrite(descriptor, f"{time.time() + seconds:020.3f}".encode(), 0)
            self._held.add(location)
            yield is_locked
        finally:
            self._held.discard(location)
            os.close(descriptor)

    def _path(self, location: str) -> str:
        return self._root.local(f"{location}/{FILE}")


def _lock(descriptor: int, kind: int) -> bool:
    """Take a lock, but wait no longer than its holder announced: a suspended process must not block the others.

    Returns False without the lock, also if the file system has no locks or the disk fails. The writer then proceeds
    without a turn, and the swap reports a failing disk.
    """
    with suppress(OSError):
        return _is_locked(descriptor, kind) or _is_granted(descriptor, kind)
    return False


def _is_granted(descriptor: int, kind: int) -> bool:
    """Wait in the queue of the operating system: polling would cost more than a turn takes, and leave pauses between
    turns.

    A thread waits, because the call cannot be given up. It has a descriptor of its own for the same open file: if the
    caller leaves and closes its own one, a late lock ends with the thread.
    """
    own, granted = os.dup(descriptor), threading.Event()

    def wait() -> None:
        try:
            fcntl.flock(own, kind)
            granted.set()
        finally:
            os.close(own)

    threading.Thread(target=wait, name="omnigraph-turn", daemon=True).start()
    limit = time.time() + TURN_SECONDS_MAX
    until = time.time() + ANNOUNCED_WITHIN_SECONDS
    while not granted.wait(max(0.0, until - time.time())):
        try:
            # The turn has passed to others meanwhile, each with its own end.
            until = min(float(os.pread(descriptor, 20, 0)), limit)
        except ValueError:
            until = 0.0
        if time.time() > until:
            _logger.info("a writer holds its turn longer than announced; proceeding without waiting")
            return False
    return True


def _is_locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class RemoteTurns:
    """Turns as objects ``<manifest>/_turn`` with a token of the holder and the announced seconds.

    Every waiting process counts the seconds from when it first saw the object, so clocks need not agree.
    """

    needs_knock = True

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._held: set[str] = set()
        self._lost: set[str] = set()
        self._expired: set[str] = set()

    def wait(self, location: str) -> None:
        if location in self._held:
            return
        if location in self._lost:
            self._lost.discard(location)
            self._wait_until_free(location)

    def note_lost(self, location: str) -> None:
        self._lost.add(location)

    @contextmanager
    def hold(self, location: str, seconds: float) -> Iterator[bool]:
        path = f"{location}/{FILE}"
        content = json.dumps({"token": uuid.uuid4().hex, "seconds": seconds}).encode()
        self._wait_until_free(location)
        # Without a turn the writer only loses fairness.
        with suppress(OmnigraphError):
            self._objects.create(path, content)
        self._held.add(location)
        try:
            yield False
        finally:
            self._held.discard(location)
            with suppress(OmnigraphError):
                self._objects.delete_if(path, content)

    def _wait_until_free(self, location: str) -> None:
        began = time.monotonic()
        path = f"{location}/{FILE}"
        while True:
            try:
                content = self._objects.read(path)
                turn = {} if content is None else json.loads(content)
                token, seconds = str(turn.get("token")), float(turn.get("seconds", 0))
            except (OmnigraphError, ValueError, TypeError, AttributeError):
                return
            if content is None or token in self._expired:
                return
            if time.monotonic() - began > min(seconds, TURN_SECONDS_MAX):
                # The holder was killed, or needs longer than announced: do not wait for it again.
                self._expired.add(token)
                with suppress(OmnigraphError):
                    self._objects.delete_if(path, content)
                return
            time.sleep(random.uniform(0, 2 * _REMOTE_PAUSE_SECONDS))
