"""The warm interpreter: imports what programs under test need, then copies itself for each of them.

Run as `warm_process.py <socket> <module>...`. A request names a script, its arguments and its environment, and brings
standard output, standard error and perhaps the pipe on which the seccomp filter arrives. It is answered with the
process id, and again with the exit code. The end of the socket is the end of this process.
"""

import importlib
import json
import os
import pkgutil
import runpy
import socket
import sys
import traceback
import warnings
from collections.abc import Sequence

import omnigraph
from tests.support.faults.launch import install_filter
from tests.support.faults.warm import MESSAGE_BYTES_MAX

_LATE = ("duckdb", "lance.optimize", "obstore", "pyarrow.json", "tests.promises.crash.writers")
"""Modules that the package imports on first use, and the writers of the crash tests."""

_NOT_NEEDED = tuple(
    f"omnigraph.{name}"
    for name in (
        "__main__",
        "cli",
        "client",
        "integrations",
        "lake",
        "mcp",
        "namespace",
        "policy",
        "server",
        "spark",
        "wire",
    )
)


def import_everything(modules: Sequence[str]) -> None:
    """Every module that a writer may come to, and the given ones."""
    for module in pkgutil.walk_packages(omnigraph.__path__, "omnigraph."):
        if not module.name.startswith(_NOT_NEEDED):
            importlib.import_module(module.name)
    for name in (*_LATE, *modules):
        importlib.import_module(name)


def check_single_thread() -> None:
    """Only the forking thread lives on in a copy; a lock held by another one would stay locked for ever."""
    threads = os.listdir("/proc/self/task")
    if len(threads) != 1:
        raise RuntimeError(f"an interpreter with {len(threads)} threads cannot be copied")


def become(request: dict[str, object], files: list[int]) -> int:
    """Run the script in this process and return its exit code."""
    os.setsid()
    for target, file in enumerate((os.open(os.devnull, os.O_RDONLY), *files[:2])):
        os.dup2(file, target)
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[call-overload] # it came as JSON
    if request["is_traced"]:
        install_filter(files[2])
    argv = request["argv"]
    assert isinstance(argv, list)
    sys.argv = argv
    try:
        runpy.run_path(argv[0], run_name="__main__")
        return 0
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1


def copy(channel: socket.socket, request: dict[str, object], files: list[int]) -> None:
    check_single_thread()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            channel.close()
            code = become(request, files)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            # Not the ordinary end: that would close what belongs to the original.
            os._exit(code)
    for file in files:
        os.close(file)
    channel.send(json.dumps({"pid": pid}).encode())
    _, status = os.waitpid(pid, 0)
    channel.send(json.dumps({"returncode": os.waitstatus_to_exitcode(status)}).encode())


def main(channel: socket.socket, modules: Sequence[str]) -> None:
    import_everything(modules)
    # Lance warns of every fork; here it has no runtime yet.
    warnings.filterwarnings("ignore", "lance is not fork-safe")
    channel.send(b"ready")
    while True:
        content, files, _, _ = socket.recv_fds(channel, MESSAGE_BYTES_MAX, 3)
        if not content:
            return
        try:
            copy(channel, json.loads(content), files)
        except Exception as error:
            channel.send(json.dumps({"error": repr(error)}).encode())


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
