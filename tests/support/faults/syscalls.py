"""The system calls that change files: their numbers, their arguments, and the filter that stops a process at them.

Owns everything that depends on the processor. Knows nothing about waiting, counting or faults: that is `tracer`.

Not seen: stores through a shared mapping, which Lance's writers do not use. io_uring would not be seen either, so the
filter reports it as unsupported to the traced program.
"""

import errno
import os
import platform
import struct
from dataclasses import dataclass
from enum import Enum

from tests.support.faults.window import ARM, DISARM


class Space(Enum):
    """True if the call fails on a full disk."""

    NEEDED = "needed"
    NOT_NEEDED = "not needed"
    IF_CREATING = "if it creates a file"


@dataclass(frozen=True, slots=True)
class Signature:
    """The roles of the arguments. Paths are pairs (directory descriptor or None for the working directory, pointer)."""

    name: str
    x86_64: int | None
    aarch64: int | None
    space: Space
    descriptor: int | None = None
    paths: tuple[tuple[int | None, int], ...] = ()
    flags: int | None = None
    size: int | None = None
    # The call that writes one buffer to the same place, for calls that take a vector of buffers.
    single: str | None = None


_NEEDED, _NOT_NEEDED = Space.NEEDED, Space.NOT_NEEDED

SIGNATURES = (
    Signature("write", 1, 64, _NEEDED, descriptor=0, size=2),
    Signature("pwrite64", 18, 68, _NEEDED, descriptor=0, size=2),
    Signature("writev", 20, 66, _NEEDED, descriptor=0, single="write"),
    Signature("pwritev", 296, 70, _NEEDED, descriptor=0, single="pwrite64"),
    Signature("pwritev2", 328, 287, _NEEDED, descriptor=0, single="pwrite64"),
    Signature("sendfile", 40, 71, _NEEDED, descriptor=0, size=3),
    Signature("splice", 275, 76, _NEEDED, descriptor=2, size=4),
    Signature("copy_file_range", 326, 285, _NEEDED, descriptor=2, size=4),
    Signature("fallocate", 285, 47, _NEEDED, descriptor=0, size=3),
    Signature("ftruncate", 77, 46, _NEEDED, descriptor=0, size=1),
    Signature("truncate", 76, 45, _NEEDED, paths=((None, 0),), size=1),
    Signature("fsync", 74, 82, _NOT_NEEDED, descriptor=0),
    Signature("fdatasync", 75, 83, _NOT_NEEDED, descriptor=0),
    Signature("open", 2, None, Space.IF_CREATING, paths=((None, 0),), flags=1),
    Signature("creat", 85, None, _NEEDED, paths=((None, 0),)),
    Signature("openat", 257, 56, Space.IF_CREATING, paths=((0, 1),), flags=2),
    # Its flags are behind a pointer, where the filter cannot look: every openat2 counts.
    Signature("openat2", 437, 437, _NEEDED, paths=((0, 1),)),
    Signature("mkdir", 83, None, _NEEDED, paths=((None, 0),)),
    Signature("mkdirat", 258, 34, _NEEDED, paths=((0, 1),)),
    Signature("rename", 82, None, _NEEDED, paths=((None, 0), (None, 1))),
    Signature("renameat", 264, 38, _NEEDED, paths=((0, 1), (2, 3))),
    Signature("renameat2", 316, 276, _NEEDED, paths=((0, 1), (2, 3))),
    Signature("link", 86, None, _NEEDED, paths=((None, 0), (None, 1))),
    Signature("linkat", 265, 37, _NEEDED, paths=((0, 1), (2, 3))),
    Signature("symlink", 88, None, _NEEDED, paths=((None, 1),)),
    Signature("symlinkat", 266, 36, _NEEDED, paths=((1, 2),)),
    Signature("unlink", 87, None, _NOT_NEEDED, paths=((None, 0),)),
    Signature("unlinkat", 263, 35, _NOT_NEEDED, paths=((0, 1),)),
    Signature("rmdir", 84, None, _NOT_NEEDED, paths=((None, 0),)),
)

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

# BPF instructions: load a word at an offset, compare it, return.
_LOAD, _JUMP_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_RET_ALLOW = 0x7FFF0000
_RET_TRACE = 0x7FF00000
_RET_ERRNO = 0x00050000
# The same on every architecture.
_IO_URING_SETUP = 425
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16


@dataclass(frozen=True, slots=True)
class Machine:
    """One processor architecture."""

    name: str
    audit_architecture: int
    prctl: int
    by_number: dict[int, Signature]

    def number(self, name: str) -> int:
        return next(number for number, signature in self.by_number.items() if signature.name == name)

    def filter(self) -> bytes:
        """A seccomp program that stops at the calls above, at `arm` and at `disarm`; the rest runs at full speed."""
        code = [
            _instruction(_LOAD, _ARCHITECTURE_OFFSET),
            _instruction(_JUMP_EQUAL, self.audit_architecture, 1, 0),
            _instruction(_RETURN, _RET_ALLOW),
            _instruction(_LOAD, _NUMBER_OFFSET),
            _instruction(_JUMP_EQUAL, _IO_URING_SETUP, 0, 1),
            _instruction(_RETURN, _RET_ERRNO | errno.ENOSYS),
        ]
        for number, signature in self.by_number.items():
            if signature.flags is None:
                code += [_instruction(_JUMP_EQUAL, number, 0, 1), _instruction(_RETURN, _RET_TRACE)]
            else:
                code += [
                    _instruction(_JUMP_EQUAL, number, 0, 4),
                    _instruction(_LOAD, _ARGUMENTS_OFFSET + 8 * signature.flags),
                    _instruction(_JUMP_SET, _WRITING, 0, 1),
                    _instruction(_RETURN, _RET_TRACE),
                    _instruction(_RETURN, _RET_ALLOW),
                ]
        code += [
            _instruction(_JUMP_EQUAL, self.prctl, 0, 4),
            _instruction(_LOAD, _ARGUMENTS_OFFSET),
            _instruction(_JUMP_EQUAL, ARM, 1, 0),
            _instruction(_JUMP_EQUAL, DISARM, 0, 1),
            _instruction(_RETURN, _RET_TRACE),
            _instruction(_RETURN, _RET_ALLOW),
        ]
        return b"".join(code)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


X86_64 = Machine("x86_64", 0xC000003E, 157, {s.x86_64: s for s in SIGNATURES if s.x86_64 is not None})
AARCH64 = Machine("aarch64", 0xC00000B7, 167, {s.aarch64: s for s in SIGNATURES if s.aarch64 is not None})


def this_machine() -> Machine | None:
    """The architecture we run on, or None if it is not one of the two we know on Linux."""
    if platform.system() != "Linux":
        return None
    return {"x86_64": X86_64, "aarch64": AARCH64}.get(platform.machine())
