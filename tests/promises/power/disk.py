"""An ext4 file system on a loop device whose power can be cut.

The cut is ext4's own shutdown without a flush of the journal, as the tests of the file system use it: from this moment
on nothing reaches the device, and the next mount replays the journal that was on it. What was written and not synced
is lost, or is there in part, as the journal had it. The device keeps every block that it was given: a disk that
reorders or drops writes of its own cache is not modelled.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SIZE_BYTES = 256 * 1024 * 1024

_PROGRAMS = ("mkfs.ext4", "losetup", "mount", "umount")
_SHUTDOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN: _IOR('X', 125, u32)."""
_WITHOUT_FLUSH = 2
"""EXT4_GOING_FLAGS_NOLOGFLUSH."""


@dataclass
class Disk:
    """One file system: mounted, cut, mounted again."""

    device: str
    mounted_at: Path

    def mount(self, options: str = "defaults") -> None:
        _run("mount", "-t", "ext4", "-o", options, self.device, str(self.mounted_at))

    def unmount(self) -> None:
        if os.path.ismount(self.mounted_at):
            _run("umount", str(self.mounted_at))

    def cut(self) -> None:
        """Cut the power. Every later call on a file of the disk fails."""
        cut(self.mounted_at)


def cut(directory: Path | str) -> None:
    """Cut the power of the disk that a directory is on."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _WITHOUT_FLUSH))
    finally:
        os.close(descriptor)


@contextmanager
def new_disk() -> Iterator[Disk]:
    """An empty file system, not mounted. Nothing of it is left behind.

    Every disk has a mount point of its own: processes remember which directories they have made durable.
    """
    place = Path(tempfile.mkdtemp(prefix="power-"))
    image, mounted_at = place / "disk.img", place / "mounted"
    try:
        mounted_at.mkdir()
        with image.open("wb") as file:
            file.truncate(SIZE_BYTES)
        _run("mkfs.ext4", "-q", "-F", str(image))
        disk = Disk(_run("losetup", "--find", "--show", str(image)).strip(), mounted_at)
        try:
            yield disk
        finally:
            disk.unmount()
            _run("losetup", "--detach", disk.device)
    finally:
        shutil.rmtree(place)


@cache
def why_unavailable() -> str | None:
    """Why no power can be cut here, or None if it can. Tries it once."""
    if os.geteuid() != 0:
        return "mounting a file system needs root"
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    try:
        with new_disk() as disk:
            disk.mount()
            disk.cut()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no ext4 on a loop device: {getattr(error, 'stderr', None) or error}".strip()
    return None


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
