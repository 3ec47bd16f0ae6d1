"""``omnigraph export``: a graph as JSON lines."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import click

from omnigraph.cli.addresses import Address, reads_graph, uri_argument
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.options import at_option, json_option
from omnigraph.cli.output import count, paint, say, say_json
from omnigraph.errors import InputError


@click.command("export")
@uri_argument
@click.option("--branch", metavar="BRANCH", help="The branch; main if not given.")
@at_option
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this type; may be repeated.")
@click.option("--out", "out_path", metavar="PATH", help="A file to write instead of standard output.")
@reads_graph
@json_option
def command(
    address: Address,
    branch: str | None,
    at: str | None,
    types: tuple[str, ...],
    out_path: str | None,
    as_json: bool,
) -> int:
    """Write a graph as JSON lines.

    The lines are those that `load` reads: edges first, then nodes, sorted by type and id. With --out the file is
    replaced at the end, so a failed export leaves the old one; --json then prints what was written.
    """
    graph = address.open()
    snapshot = graph.snapshot(branch, at=at)
    lines = snapshot.export(list(types) or None)
    if out_path is None:
        stream = sys.stdout.buffer
        for chunk in lines:
            stream.write(chunk)
        stream.flush()
        return OK
    entities = written = 0
    with _replaced(out_path) as file:
        for chunk in lines:
            entities += chunk.count(b"\n")
            written += file.write(chunk)
    if as_json:
        commit = snapshot.commit_id
        say_json({"uri": graph.uri, "out": out_path, "graph_commit_id": commit, "entities": entities, "bytes": written})
    else:
        ok = paint("ok", "green", bold=True)
        say(f"{ok}: {count(entities, 'entity', 'entities')} in {click.format_filename(out_path)}")
    return OK


@contextmanager
def _replaced(path: str) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` when the block ends well. Pipes and devices are written as they are."""
    shown = click.format_filename(path)
    target = os.path.realpath(path)
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "wb") as file:
                yield file
            return
        handle, temporary = tempfile.mkstemp(prefix=".omnigraph-export-", dir=os.path.dirname(target))
        try:
            with open(handle, "wb") as file:
                yield file
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot write {shown}: {reason}", path=shown) from error


def _umask() -> int:
    # The only way to ask is to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
