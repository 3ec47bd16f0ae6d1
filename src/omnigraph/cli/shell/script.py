"""A shell that is fed by a pipe or a file: no prompt, no escape codes, and the exit code of the first failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnigraph.cli.shell.shell import Shell
from omnigraph.errors import InputError

STDIN = "<stdin>"


def run_pipe(shell: Shell, stream: Iterable[bytes]) -> int:
    """Run the lines of a stream."""
    shell.run_script(_decoded(stream), STDIN)
    return shell.status


def _decoded(stream: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            message = f"line {number} of {STDIN} is not UTF-8 text: byte 0x{line[error.start]:02x}"
            raise InputError(message, hint="save it as UTF-8") from error
