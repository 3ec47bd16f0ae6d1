"""``omnigraph import``: infer the schema of files, create a graph and load them, in one atomic step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.addresses import Address, writes_graph
from omnigraph.cli.args.files import replacing
from omnigraph.cli.args.options import dry_run_option, json_option, quiet_option
from omnigraph.cli.args.typed_files import files_argument, typed_files
from omnigraph.cli.errors import Interrupted
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import paint, say, say_json
from omnigraph.cli.show.previews import show_preview
from omnigraph.cli.show.progress import progress_bar
from omnigraph.wire.inferred import import_json, import_preview_json

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.schema.importing import ImportPreview, ImportResult
    from omnigraph.ingest.infer.result import InferredSchema


@click.command("import")
@files_argument
@click.option("--into", "uri", metavar="URI", help="The graph; it is created if it does not exist.")
@click.option("--schema-out", metavar="FILE.pg", help="Write the inferred schema to this file too.")
@dry_run_option
@writes_graph
@quiet_option
@json_option
def command(
    address: Address,
    files: tuple[str, ...],
    schema_out: str | None,
    dry_run: bool,
    actor: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Create a graph from data files: infer their schema and load them.

    Reads CSV, TSV, JSON, Parquet, Arrow, edge lists, GraphML and files with a header of neo4j-admin import. The type is
    the name of the file (people.csv: Person) or the one in front of it. If anything fails, no graph is left. A graph
    that exists keeps its schema; data that does not fit it is refused with the differences.
    """
    data = typed_files(files)
    if dry_run:
        preview = address.preview_import(data)
        _write_schema(preview.schema, schema_out)
        _show_dry_run(address.uri, preview, as_json)
        return OK
    address.announce("import", quiet)
    try:
        with progress_bar("loading", "entities", total=None, quiet=quiet) as report:
            result = address.import_data(data, actor, lambda rows: report(0, rows))
    except KeyboardInterrupt:
        raise Interrupted("nothing was imported") from None
    _write_schema(result.schema, schema_out)
    if as_json:
        say_json(import_json(result))
    else:
        _show(result)
    return OK


def _write_schema(schema: InferredSchema, path: str | None) -> None:
    if path is not None:
        with replacing(path) as file:
            file.write(schema.text.encode())


def _show(result: ImportResult[Graph]) -> None:
    from omnigraph.engine.results import loaded_text

    for type_ in result.schema.types:
        say(f"{paint(type_.name, bold=True)} ({type_.kind}, from {type_.source})")
        for line in type_.guesses:
            say(f"  {line}")
    for name, number in [*result.load.nodes.items(), *result.load.edges.items()]:
        say(f"  {name}: {number:,}")
    for remark in result.load.remarks:
        say(f"{paint('remark', 'yellow')}: {remark}", to_stderr=True)
    made = "a new graph" if result.created else "the graph"
    ok = paint("ok", "green", bold=True)
    say(f"{ok}: imported {loaded_text(result.load)} into {made}, commit {result.load.commit.id}")
    if result.created:
        say(f"`omnigraph schema show {result.graph.uri}` shows the schema with all guesses")


def _show_dry_run(uri: str, preview: ImportPreview, as_json: bool) -> None:
    if as_json:
        say_json(import_preview_json(uri, preview))
        return
    if preview.creates:
        say(preview.schema.text)
        say(f"would create a graph at {uri} with this schema")
    show_preview(uri, preview.counts, as_json=False)
