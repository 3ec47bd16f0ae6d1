"""The warm process of a user: its socket, the commands that it may run, and the request that it is sent.

Imported by every command that asks for it, so it needs next to nothing of the standard library.
"""

from __future__ import annotations

import os
import sys
import zlib
from typing import Final, NamedTuple

from omnigraph import __file__ as package_file
from omnigraph import __version__

COLD: Final = frozenset({"cluster", "demo", "login", "logout", "mcp", "namespace", "serve", "shell", "ui"})
"""Commands that run for long, open the terminal itself or read a hidden text: never in the warm process."""

SINGLE_THREADED: Final = {
    # numpy's linear algebra starts a thread for each core when it is imported, Arrow's allocator one to tidy up. A
    # process with threads must not be copied: a lock that another thread holds would stay locked for ever.
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}

READ_BY_LIBRARIES: Final = (
    "ARROW_",
    "JE_",
    "LANCE_",
    "LANG",
    "LC_",
    "LD_",
    "MALLOC_",
    "OMP_",
    "OPENBLAS_",
    "PYTHON",
    "RUST_",
    "TZ",
)
"""Prefixes of variables that Python and the libraries read when they start: another value needs another process."""

FILES: Final = 4
"""Standard input, output, error, and the working directory."""

ACCEPTED: Final = b"A"
ENDED: Final = b"E"
"""Followed by the wait status of the command, in four bytes."""

LENGTH_BYTES: Final = 8
STATUS_BYTES: Final = 4
REQUEST_BYTES_MAX: Final = 16 << 20
"""More than a system allows for arguments and environment together (2 MiB on Linux, unless its limits were raised)."""


class Request(NamedTuple):
    """A command as it was started."""

    identity: bytes
    umask: int
    ignored: tuple[int, ...]
    """Signals that the process ignores, as those of `nohup` and of background jobs do."""
    argv: tuple[bytes, ...]
    environment: dict[bytes, bytes]

    def to_bytes(self) -> bytes:
        # A zero byte occurs in no argument and no variable.
        pairs = [name + b"=" + value for name, value in self.environment.items()]
        numbers = [str(number).encode() for number in (self.umask, len(self.ignored), *self.ignored, len(self.argv))]
        return b"\0".join([self.identity, *numbers, *self.argv, *pairs])


def read_request(sent: bytes) -> Request:
    """Raises ValueError for bytes that are no request."""
    identity, umask, count, *rest = sent.split(b"\0")
    ignored, (arguments, *rest) = rest[: int(count)], rest[int(count) :]
    argv, pairs = rest[: int(arguments)], rest[int(arguments) :]
    found = {name: value for name, _, value in (pair.partition(b"=") for pair in pairs)}
    return Request(identity, int(umask), tuple(int(number) for number in ignored), tuple(argv), found)


def identity(environment: dict[bytes, bytes]) -> bytes:
    """The version, the interpreter and the variables that must be the same in a command and in the warm process."""
    package = os.stat(package_file)
    prefixes = tuple(prefix.encode() for prefix in READ_BY_LIBRARIES)
    own = [name.encode() for name in SINGLE_THREADED]
    read = sorted(pair for pair in environment.items() if pair[0].startswith(prefixes) and pair[0] not in own)
    facts = (__version__, sys.version, sys.executable, package_file, package.st_mtime_ns, package.st_ino, read)
    return repr(facts).encode()


def directory() -> str | None:
    """The user's directory of sockets, made if missing; None if it is not the user's own and closed to others."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    path = os.path.join(runtime, "omnigraph") if runtime else f"/tmp/omnigraph-{os.geteuid()}"
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError:
        return None
    # Not through a link: any user who can write to the directory above could have made one.
    found = os.lstat(path)
    is_directory = found.st_mode & 0o170000 == 0o040000
    return path if is_directory and found.st_uid == os.geteuid() and not found.st_mode & 0o077 else None


def socket_path(home: str, own: bytes) -> str:
    return os.path.join(home, f"warm-{zlib.crc32(own):08x}")


def user_of(credentials: bytes) -> int:
    """The user in the answer to ``SO_PEERCRED``: process, user and group, as three C integers."""
    return int.from_bytes(credentials[4:8], sys.byteorder)
