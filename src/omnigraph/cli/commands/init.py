"""``omnigraph init``: create a graph from a schema."""

from __future__ import annotations

import click

from omnigraph.cli.args.addresses import Address, actor_option, makes_graph, uri_argument
from omnigraph.cli.args.catalogs import catalog_of
from omnigraph.cli.args.files import read_source
from omnigraph.cli.args.options import json_option, quiet_option
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.errors import UsageError
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.wire.graphs import created_json


@click.command("init")
@uri_argument
@click.option("--schema", "schema_path", required=True, metavar="FILE.pg", help="Schema of the new graph.")
@click.option("--force", is_flag=True, hidden=True)
@makes_graph
@actor_option
@quiet_option
@json_option
def command(address: Address, schema_path: str, force: bool, actor: str | None, quiet: bool, as_json: bool) -> int:
    """Create a graph from a schema.

    URI is the location of the graph: a directory, or a prefix in a bucket. Existing graphs are never overwritten.
    """
    if force:
        # Writers that still have the old graph open would write into the new one.
        raise UsageError(
            "--force is not supported: init never overwrites a graph",
            hint=f"stop all readers and writers, delete {address.uri}, and run init again",
        )
    source = read_source(schema_path)
    address.refuse_managed()
    # Compiled here as well as in the engine, so that diagnostics name the user's file.
    catalog = catalog_of(parse_schema(source))
    address.announce("init", quiet)
    graph = address.create(source.text, actor)
    if as_json:
        say_json(created_json(graph, catalog))
    else:
        types = f"{count(len(catalog.nodes), 'node type')}, {count(len(catalog.edges), 'edge type')}"
        for item in graph.external_types() if any(type_.ir.external for type_ in _types(catalog)) else ():
            say(f"  {item.name}: {count(item.rows, 'row')} in {count(item.files, 'file')} of {item.address}")
        say(f"{paint('ok', 'green', bold=True)}: a graph with {types}")
    return OK


def _types(catalog: Catalog) -> list[NodeType | EdgeType]:
    return [*catalog.nodes.values(), *catalog.edges.values()]
