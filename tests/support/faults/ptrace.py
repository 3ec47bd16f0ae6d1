"""The ptrace requests the tracer needs, through ctypes, with the registers of each architecture.

Every function concerns one stopped thread and must be called from the thread that attached to it. A thread that was
killed meanwhile is not an error here: `Gone` says so.
"""

import ctypes
import errno
import os
import struct

from tests.support.faults.syscalls import X86_64, Machine

OPTION_SYSGOOD = 0x01
OPTION_FORK = 0x02
OPTION_VFORK = 0x04
OPTION_CLONE = 0x08
OPTION_EXEC = 0x10
OPTION_SECCOMP = 0x80
OPTION_EXITKILL = 0x100000

EVENT_SECCOMP = 7
EVENT_STOP = 128

_CONT, _SYSCALL, _POKEUSER = 7, 24, 6
_GETREGSET, _SETREGSET = 0x4204, 0x4205
_SEIZE, _LISTEN, _GET_SYSCALL_INFO = 0x4206, 0x4208, 0x420E

# x86_64: offsets in struct user_regs_struct, in the order of system call arguments rdi, rsi, rdx, r10, r8, r9.
_X86_ARGUMENTS = (14 * 8, 13 * 8, 12 * 8, 7 * 8, 9 * 8, 8 * 8)
_X86_RETURN, _X86_NUMBER = 10 * 8, 15 * 8

# aarch64: register sets, and the size of struct user_pt_regs.
_NT_PRSTATUS, _NT_ARM_SYSTEM_CALL = 1, 0x404
_ARM_REGISTERS_BYTES = 34 * 8

_INFO_BYTES = 88
_PAGE_BYTES = 4096
_MASK = (1 << 64) - 1


class Gone(Exception):
    """The thread is dead or dying."""


class _Buffer(ctypes.Structure):
    """struct iovec"""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


_libc = ctypes.CDLL(None, use_errno=True)
if hasattr(_libc, "ptrace"):
    _libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    _libc.ptrace.restype = ctypes.c_long


def _ptrace(request: int, tid: int, address: int = 0, data: int = 0) -> int:
    result = int(_libc.ptrace(request, tid, address & _MASK, data & _MASK))
    if result == -1:
        code = ctypes.get_errno()
        if code == errno.ESRCH:
            raise Gone
        raise OSError(code, f"ptrace request {request:#x}: {os.strerror(code)}")
    return result


def seize(tid: int, options: int) -> None:
    _ptrace(_SEIZE, tid, 0, options)


def resume(tid: int, signal: int = 0) -> None:
    _ptrace(_CONT, tid, 0, signal)


def resume_to_exit(tid: int) -> None:
    """Run until the system call is done."""
    _ptrace(_SYSCALL, tid)


def stay_stopped(tid: int) -> None:
    """Keep a thread in the job-control stop that it reported."""
    _ptrace(_LISTEN, tid)


def entry(tid: int) -> tuple[int, tuple[int, ...]]:
    """Number and six arguments of the system call at which the thread is stopped."""
    number, *arguments = struct.unpack_from("=7Q", _syscall_info(tid), 24)
    return number, tuple(arguments)


def result(tid: int) -> int:
    """Return value of the finished system call; errors are negative."""
    (value,) = struct.unpack_from("=q", _syscall_info(tid), 24)
    return int(value)


def _syscall_info(tid: int) -> bytes:
    buffer = ctypes.create_string_buffer(_INFO_BYTES)
    _ptrace(_GET_SYSCALL_INFO, tid, _INFO_BYTES, ctypes.addressof(buffer))
    return buffer.raw


def set_number(machine: Machine, tid: int, number: int) -> None:
    """Replace the system call about to run; -1 means none."""
    if machine is X86_64:
        _ptrace(_POKEUSER, tid, _X86_NUMBER, number)
    else:
        value = ctypes.c_int(number)
        _regset(_SETREGSET, tid, _NT_ARM_SYSTEM_CALL, ctypes.addressof(value), ctypes.sizeof(value))


def set_argument(machine: Machine, tid: int, index: int, value: int) -> None:
    if machine is X86_64:
        _ptrace(_POKEUSER, tid, _X86_ARGUMENTS[index], value)
    else:
        _set_arm_register(tid, index, value)


def set_result(machine: Machine, tid: int, value: int) -> None:
    """Replace what a finished system call returns."""
    if machine is X86_64:
        _ptrace(_POKEUSER, tid, _X86_RETURN, value)
    else:
        _set_arm_register(tid, 0, value)


def _set_arm_register(tid: int, index: int, value: int) -> None:
    registers = ctypes.create_string_buffer(_ARM_REGISTERS_BYTES)
    _regset(_GETREGSET, tid, _NT_PRSTATUS, ctypes.addressof(registers), _ARM_REGISTERS_BYTES)
    struct.pack_into("=Q", registers, 8 * index, value & _MASK)
    _regset(_SETREGSET, tid, _NT_PRSTATUS, ctypes.addressof(registers), _ARM_REGISTERS_BYTES)


def _regset(request: int, tid: int, kind: int, address: int, length: int) -> None:
    buffer = _Buffer(address, length)
    _ptrace(request, tid, kind, ctypes.addressof(buffer))


def memory(tid: int, address: int, length: int) -> bytes:
    """Bytes of the tracee, possibly fewer than asked for."""
    try:
        file = os.open(f"/proc/{tid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        raise Gone from None
    try:
        return os.pread(file, length, address)
    except OSError:
        # An address the kernel will refuse as well: the call is going to fail with EFAULT.
        return b""
    finally:
        os.close(file)


def text(tid: int, address: int) -> str:
    """The zero-terminated string at an address, as a path."""
    found = b""
    while b"\0" not in found and len(found) <= _PAGE_BYTES:
        # Never across a page border: the next page may not exist.
        here = address + len(found)
        piece = memory(tid, here, _PAGE_BYTES - here % _PAGE_BYTES)
        if not piece:
            break
        found += piece
    return os.fsdecode(found.partition(b"\0")[0])
