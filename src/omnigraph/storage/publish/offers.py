"""Offers: small files in which waiting writers of a local disk describe what another process may publish for them.

An offer stands while its writer waits: the writer holds a lock on the file, and the file of a killed one is removed.
Removing the file takes the offer. Only one process can, so an offer is either taken once or withdrawn. What is in it is
for the layers above.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from contextlib import suppress

from omnigraph.storage.objects.uri import Root

DIRECTORY = "_offers"
"""Below the manifest of a branch."""

_ENDING = ".json"


class LocalOffer:
    """The offer of a writer that waits."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    def withdraw(self) -> bool:
        """End the offer; False if another process may have taken it."""
        try:
            os.unlink(self._path)
        except OSError:
            return False
        finally:
            os.close(self._descriptor)
        return True


def make_offer(root: Root, location: str, content: bytes) -> LocalOffer | None:
    """An offer that others can take; None if the disk does not admit one."""
    path = root.local(f"{location}/{DIRECTORY}/{uuid.uuid4().hex}")
    try:
        descriptor = _create(path)
    except OSError:
        return None
    try:
        # Locked and complete before it has the name that others look for.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, content)
        os.rename(path, path + _ENDING)
    except OSError:
        with suppress(OSError):
            os.unlink(path)
        os.close(descriptor)
        return None
    return LocalOffer(path + _ENDING, descriptor)


def _create(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o666)


def take_offers(root: Root, location: str, count_max: int) -> list[bytes]:
    """Take standing offers of other writers; the caller is the only one that has them."""
    directory = root.local(f"{location}/{DIRECTORY}")
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(_ENDING))
    except OSError:
        return []
    taken = (_taken(os.path.join(directory, name)) for name in names[:count_max])
    return [content for content in taken if content is not None]


def _taken(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        is_abandoned = _is_free(descriptor)
        content = os.read(descriptor, os.fstat(descriptor).st_size)
        os.unlink(path)
    except OSError:
        # Withdrawn, or taken by another process.
        return None
    finally:
        os.close(descriptor)
    return None if is_abandoned else content


def _is_free(descriptor: int) -> bool:
    """True if the writer of an offer has ended: nothing may be published for it any more."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
