"""``omnigraph blob``: the bytes of one Blob property of one entity."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.args.addresses import Address, Command, reads_graph
from omnigraph.cli.args.completion import type_names
from omnigraph.cli.args.files import replacing
from omnigraph.cli.args.moments import chosen_moment, reads_moment
from omnigraph.cli.args.options import json_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.wire.graphs import blob_json, written_blob_json

_SELECTOR = (
    click.argument("entity", type=click.Choice(["node", "edge"])),
    click.argument("type_name", metavar="TYPE", shell_complete=type_names),
    click.argument("id_", metavar="ID"),
    click.argument("property_name", metavar="PROPERTY"),
)


def _selects(command: Command) -> Command:
    for argument in reversed(_SELECTOR):
        command = argument(command)
    return command


@click.group("blob", cls=CommandGroup)
def command() -> None:
    """Read and describe the values of Blob properties."""


@command.command("get")
@_selects
@reads_moment
@click.option("--offset", type=click.IntRange(min=0), default=0, help="First byte. [default: 0]")
@click.option("--length", type=click.IntRange(min=1), help="Number of bytes. [default: up to the end]")
@click.option("--out", "out_path", metavar="PATH", help="Output file. [default: standard output]")
@reads_graph
@json_option
def get_command(
    address: Address,
    entity: str,
    type_name: str,
    id_: str,
    property_name: str,
    branch: str | None,
    at: str | None,
    snapshot: str | None,
    offset: int,
    length: int | None,
    out_path: str | None,
    as_json: bool,
) -> int:
    """Write the bytes of a blob, or a range of them.

    With --out the file is replaced atomically once it is complete; --json then prints its size.
    """
    moment = chosen_moment(at, snapshot)
    blob = address.open().read_blob(entity, type_name, id_, property_name, branch=branch, at=moment)
    chunks = blob.chunks(offset, length)
    if out_path is None:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return OK
    with replacing(out_path) as file:
        written = sum(file.write(chunk) for chunk in chunks)
    if as_json:
        say_json(written_blob_json(blob, out_path, written))
    else:
        say(f"{paint('ok', 'green', bold=True)}: {count(written, 'byte')} in {click.format_filename(out_path)}")
    return OK


@command.command("stat")
@_selects
@reads_moment
@reads_graph
@json_option
def stat_command(
    address: Address,
    entity: str,
    type_name: str,
    id_: str,
    property_name: str,
    branch: str | None,
    at: str | None,
    snapshot: str | None,
    as_json: bool,
) -> int:
    """Show the size and the tag of a blob."""
    moment = chosen_moment(at, snapshot)
    blob = address.open().read_blob(entity, type_name, id_, property_name, branch=branch, at=moment)
    if as_json:
        selector = {"entity": entity, "type": type_name, "id": id_, "property": property_name}
        say_json(blob_json(selector, blob, branch=branch or "main" if moment is None else None))
        return OK
    say(f"size: {blob.size}")
    say(f"etag: {blob.etag}")
    say(f"commit: {blob.commit_id}")
    return OK
