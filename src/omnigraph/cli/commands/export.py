"""``omnigraph export``: a graph as JSON lines, CSV or Parquet files, or as Iceberg or Delta tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Address, reads_graph, uri_argument
from omnigraph.cli.args.files import writing
from omnigraph.cli.args.options import at_option, json_option, quiet_option, read_branch_option, types_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.cli.show.progress import progress_bar
from omnigraph.errors import UsageError
from omnigraph.storage.objects.uri import is_remote
from omnigraph.wire.copies import export_json
from omnigraph.wire.graphs import exported_json

if TYPE_CHECKING:
    from omnigraph.engine.export.formats import ExportSettings
    from omnigraph.engine.snapshot import Snapshot

FORMATS = ("jsonl", "csv", "parquet", "iceberg", "delta")
_LINES = FORMATS[0]


@click.command("export")
@uri_argument
@read_branch_option
@at_option
@types_option
@click.option("--jsonl", is_flag=True, hidden=True, expose_value=False)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(FORMATS),
    help="Format of the output. [default: by the suffix of --out, otherwise jsonl]",
)
@click.option(
    "--out",
    "out_path",
    metavar="PATH",
    help="Output file or directory, or s3://... address. [default: standard output]",
)
@click.option(
    "--dates",
    type=click.Choice(("iso", "number")),
    help="Dates as ISO 8601 text, or in JSON lines as days and milliseconds since 1970. [default: number for jsonl]",
)
@click.option("--null", metavar="TEXT", help="Text of a null in CSV. [default: an empty field]")
@click.option(
    "--replace",
    is_flag=True,
    help="Replace what exists: the rows of tables, CSV and Parquet files, files in a directory.",
)
@reads_graph
@quiet_option
@json_option
def command(
    address: Address,
    branch: str | None,
    at: str | None,
    types: tuple[str, ...],
    format_name: str | None,
    out_path: str | None,
    dates: str | None,
    null: str | None,
    replace: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Export a graph as JSON lines, CSV, Parquet, Iceberg or Delta.

    JSON lines hold all types: edges first, then nodes, sorted by type and id. CSV and Parquet have one file for each
    type, Iceberg and Delta one table: --out names a directory, which also gets the schema, or with one --type a file
    such as people.csv or a table such as people.delta. A directory for JSON lines ends in /. A file appears when it is
    complete and a table is replaced atomically, so a failed export leaves the old one.
    """
    from omnigraph.engine.export.files import check_suffix, export_files, export_type
    from omnigraph.engine.export.formats import ExportSettings

    name = format_name or _by_suffix(out_path)
    settings = ExportSettings.of(name, dates, null, replace=replace, options=address.storage_options)
    check_suffix(out_path or "", settings.format)
    graph = address.open()
    snapshot = graph.snapshot(branch, at=at)
    if name == _LINES and not _is_directory(out_path):
        return _export_lines(graph.uri, snapshot, types, settings, out_path, as_json=as_json)
    if out_path is None:
        if settings.format.is_table:
            raise UsageError(f"a table in the format {name} is a directory", hint="name it with --out")
        if not settings.format.is_text and sys.stdout.isatty():
            raise UsageError(f"{name} is binary and not written to a terminal", hint="name a file with --out")
        export_type(snapshot, types, settings, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return OK
    total = sum(snapshot.counts().values()) if not types else None
    with progress_bar("exporting", "entities", total=total, quiet=quiet) as progress:
        report: Callable[[int], None] = lambda rows: progress(rows, rows)  # noqa: E731 # bound to this bar
        result = export_files(snapshot, out_path, types or None, settings, report)
    if as_json:
        say_json(export_json(graph.uri, result))
    else:
        files = count(len(result.files), settings.format.unit)
        _say_done(f"{count(result.entities, 'entity', 'entities')} in {files}, {click.format_filename(out_path)}")
    return OK


def _by_suffix(out_path: str | None) -> str:
    suffix = os.path.splitext(out_path or "")[1].removeprefix(".").lower()
    return suffix if suffix in FORMATS else _LINES


def _is_directory(out_path: str | None) -> bool:
    return out_path is not None and (out_path.endswith("/") or (not is_remote(out_path) and os.path.isdir(out_path)))


def _export_lines(
    uri: str,
    snapshot: Snapshot,
    types: tuple[str, ...],
    settings: ExportSettings,
    out_path: str | None,
    *,
    as_json: bool,
) -> int:
    """All types in one stream."""
    lines = snapshot.export(list(types) or None, dates=settings.form.dates.value)
    if out_path is None:
        stream = sys.stdout.buffer
        stream.writelines(lines)
        stream.flush()
        return OK
    entities = written = 0
    with writing(out_path, settings.options) as file:
        for chunk in lines:
            entities += chunk.count(b"\n")
            written += file.write(chunk)
    if as_json:
        say_json(exported_json(uri, out_path, snapshot.commit_id, entities, written))
    else:
        _say_done(f"{count(entities, 'entity', 'entities')} in {click.format_filename(out_path)}")
    return OK


def _say_done(what: str) -> None:
    say(f"{paint('ok', 'green', bold=True)}: {what}")
