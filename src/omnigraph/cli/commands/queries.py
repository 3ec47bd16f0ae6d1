"""``omnigraph queries``: the stored queries of a graph, from its server or from the state of its cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.args.addresses import in_cluster, served_options, storage_options_option
from omnigraph.cli.args.clusters import cluster_graph, cluster_graphs
from omnigraph.cli.args.options import json_option
from omnigraph.cli.args.row_output import chosen_format, format_option, show_list
from omnigraph.cli.args.scopes import GraphWords, chosen_cluster, chosen_graph
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.lazy import CommandGroup
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.errors import CompileError, OmnigraphError, UsageError
from omnigraph.wire.http.stored_queries import checked_queries_json, listed_queries_json, stored_queries_json

if TYPE_CHECKING:
    from omnigraph.cluster.serving import ServableGraph


@click.group("queries", cls=CommandGroup)
def command() -> None:
    """List and check stored queries."""


@command.command("list")
@in_cluster
@served_options
@storage_options_option
@format_option
@json_option
def list_command(storage_options: Mapping[str, str], format_: str | None, as_json: bool, **words: str | None) -> int:
    """List the stored queries of a graph with their parameters.

    The graph is one of a server, or with --cluster one of the state that was applied last.
    """
    chosen = chosen_format(format_, as_json=as_json)
    given = GraphWords.of(words)
    if chosen_cluster(given) is not None:
        queries = _of_cluster(given, storage_options)
    else:
        queries = _of_server(given, storage_options)
    if chosen == "json":
        say_json(listed_queries_json(queries))
    elif not queries and chosen == "table":
        say("no stored queries")
    else:
        rows = [(item["name"], _kind(item), _parameters(item), item.get("description")) for item in queries]
        columns = {"query": str, "kind": str, "parameters": str, "description": str}
        show_list("queries list", columns, rows, chosen)
    return OK


@command.command("validate")
@in_cluster
@storage_options_option
@click.option("--profile", metavar="NAME", help="Profile in the operator's settings that names the cluster.")
@json_option
def validate_command(storage_options: Mapping[str, str], as_json: bool, **words: str | None) -> int:
    """Compile the stored queries of a cluster under the schemas of its graphs.

    --graph chooses one graph; all graphs are checked by default. Exits with 1 if a query does not compile.
    """
    found = [
        (graph.id, name, _problem(graph, name, text, storage_options))
        for graph in cluster_graphs(GraphWords.of(words), storage_options)
        for name, text in sorted(graph.queries.items())
    ]
    broken = [item for item in found if item[2] is not None]
    if as_json:
        say_json(checked_queries_json(found))
        return FAILED if broken else OK
    for graph_id, name, problem in broken:
        say(f"{paint('error', 'red', bold=True)}: {graph_id}.{name}: {problem}")
    verdict = paint("failed", "red", bold=True) if broken else paint("ok", "green", bold=True)
    say(f"{verdict}: {count(len(found), 'stored query', 'stored queries')}, {count(len(broken), 'error')}")
    return FAILED if broken else OK


def _of_server(words: GraphWords, storage_options: Mapping[str, str]) -> list[dict[str, Any]]:
    from omnigraph.client.addresses import is_remote
    from omnigraph.client.opening import connect

    uri = chosen_graph(words, storage_options)
    if uri is None or not is_remote(uri):
        raise UsageError("stored queries belong to a server or a cluster", hint="pass --server or --cluster")
    graph = connect(uri, None)
    click.get_current_context().call_on_close(graph.close)
    return graph.queries()


def _of_cluster(words: GraphWords, storage_options: Mapping[str, str]) -> list[dict[str, Any]]:
    from omnigraph.engine.graph import open_graph
    from omnigraph.server.serving.opening import checked_queries

    graph = cluster_graph(words, storage_options)
    opened = open_graph(graph.uri, storage_options=storage_options)
    found: list[dict[str, Any]] = stored_queries_json(checked_queries(opened, graph.queries).values())["queries"]
    return found


def _problem(graph: ServableGraph, name: str, text: str, storage_options: Mapping[str, str]) -> str | None:
    """The reason why a stored query does not compile; None for one that does."""
    from omnigraph.engine.graph import open_graph
    from omnigraph.server.serving.stored_queries import stored_query

    try:
        stored_query(name, text, open_graph(graph.uri, storage_options=storage_options).catalog())
    except CompileError as error:
        return "; ".join(item.message for item in error.diagnostics)
    except OmnigraphError as error:
        return error.message
    return None


def _kind(item: Mapping[str, Any]) -> str:
    return "mutation" if item["mutation"] else "read"


def _parameters(item: Mapping[str, Any]) -> str:
    return ", ".join(f"${each['name']}: {each['kind']}{'?' if each['nullable'] else ''}" for each in item["params"])
