"""The first program in a traced process: installs the seccomp filter that arrives on a pipe, then becomes the target.

Run as `python -I -S launch.py <pipe> <argv...>`. The filter is sent only after the tracer has attached, so waiting for
it is the whole handshake. A process of its own instead of `preexec_fn`, because running Python between fork and exec
in a process full of Rust threads can deadlock. Imports nothing of this package: it runs without a search path.
"""

import ctypes
import os
import sys

PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
INSTRUCTION_BYTES = 8


class Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def install_filter(pipe_end: int) -> None:
    """Wait for the filter and install it in this process."""
    with open(pipe_end, "rb") as pipe:
        code = pipe.read()
    if not code:
        sys.exit("the tracer went away before it sent a filter")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)
    program = Program(len(code) // INSTRUCTION_BYTES, code)
    # Without the promise of no new privileges only root may install a filter.
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, None, 0, 0) != 0:
        sys.exit(f"no_new_privs: {os.strerror(ctypes.get_errno())}")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program), 0, 0) != 0:
        sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    install_filter(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
