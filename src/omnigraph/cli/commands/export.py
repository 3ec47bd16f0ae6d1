"""``omnigraph export``: a graph as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import BinaryIO

import click

from omnigraph.cli.args.addresses import Address, reads_graph, uri_argument
from omnigraph.cli.args.files import replacing
from omnigraph.cli.args.options import at_option, json_option, read_branch_option, types_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.storage.objects.uri import is_remote
from omnigraph.wire.graphs import exported_json


@click.command("export")
@uri_argument
@read_branch_option
@at_option
@types_option
@click.option("--jsonl", is_flag=True, hidden=True, expose_value=False)
@click.option("--out", "out_path", metavar="PATH", help="Output file or s3://... address. [default: standard output]")
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
    """Export a graph as JSON lines.

    The lines are those that `load` reads: edges first, then nodes, sorted by type and id. With --out the file is
    replaced atomically, so a failed export leaves the old one; --json then prints a summary.
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
    with _writing(out_path, address.storage_options) as file:
        for chunk in lines:
            entities += chunk.count(b"\n")
            written += file.write(chunk)
    if as_json:
        say_json(exported_json(graph.uri, out_path, snapshot.commit_id, entities, written))
    else:
        ok = paint("ok", "green", bold=True)
        say(f"{ok}: {count(entities, 'entity', 'entities')} in {click.format_filename(out_path)}")
    return OK


def _writing(path: str, options: Mapping[str, str]) -> AbstractContextManager[BinaryIO]:
    """A file that becomes visible once it is complete."""
    if not is_remote(path):
        return replacing(path)
    from omnigraph.storage.objects.target_files import write_file

    return write_file(path, options)
