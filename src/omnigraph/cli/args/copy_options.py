"""Options that ``copy``, ``backup`` and ``restore`` share, and the display of their results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import pairs
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.cli.show.progress import progress_bar
from omnigraph.wire.copies import copy_json

if TYPE_CHECKING:
    from omnigraph.engine.copies.result import CopyResult

quick_option = click.option(
    "--quick", is_flag=True, help="Verify names and sizes of the copy only, not the content of its files."
)

target_options_option = click.option(
    "--target-option",
    "target_options",
    multiple=True,
    callback=pairs,
    metavar="KEY=VALUE",
    help="Storage option of the target; may be repeated. [default: those of --storage-option]",
)


def with_target(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the argument TARGET after the graph. A single argument is the target if the graph is named
    otherwise."""

    @functools.wraps(command)
    def run(*, uri: str | None, target: str | None, **others: Any) -> int:
        if target is None:
            uri, target = None, uri
        if target is None:
            raise click.UsageError("Missing argument 'TARGET'.")
        return command(uri=uri, target=target, **others)

    return click.argument("uri", required=False)(click.argument("target", required=False)(run))


@contextmanager
def copying(quiet: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar that counts files."""
    with progress_bar("copying", "files", total=None, quiet=quiet) as progress:
        yield lambda files: progress(files, files)


def given(options: Mapping[str, str]) -> Mapping[str, str] | None:
    """The options of the target, or None for those of the source."""
    return options or None


def show_copy(result: CopyResult, verb: str, *, as_json: bool) -> None:
    """Print the result of a copy."""
    if as_json:
        say_json(copy_json(result))
        return
    for remark in result.report.remarks:
        say(f"{paint('note', 'yellow')}: {remark.path} {remark.what}")
    branches = count(len(result.branches), "branch", "branches")
    commits = count(result.report.commits, "commit")
    copied = f"{count(result.files_copied, 'file')} copied ({result.bytes_copied:,} bytes), {result.files_kept:,} kept"
    say(f"{paint('ok', 'green', bold=True)}: {verb} {branches}, {commits}; {copied}; verified")
