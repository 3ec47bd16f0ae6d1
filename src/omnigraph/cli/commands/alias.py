"""``omnigraph alias``: stored reads of servers under short names of the settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from omnigraph.cli.args.options import json_option
from omnigraph.cli.args.queries import given_params
from omnigraph.cli.args.row_output import chosen_format, format_option, show_rows
from omnigraph.cli.args.scopes import GraphWords, chosen_graph
from omnigraph.cli.args.settings import alias_names, settings
from omnigraph.cli.exit_codes import OK
from omnigraph.errors import OmnigraphError, UsageError

if TYPE_CHECKING:
    from omnigraph.client.remote_graph import RemoteGraph
    from omnigraph.config.operator import Alias

_JSON_KINDS: Final = ("int", "float", "bool", "list", "vector")
"""Kinds of parameters whose values are JSON; the others travel as texts."""


@click.command("alias")
@click.argument("name", shell_complete=alias_names)
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT]...")
@click.option("--params", "params_text", metavar="JSON", help="Parameters, as a JSON object.")
@click.option("--params-file", "params_path", metavar="FILE", help="File with the parameters.")
@format_option
@json_option
def command(
    name: str,
    arguments: tuple[str, ...],
    params_text: str | None,
    params_path: str | None,
    format_: str | None,
    as_json: bool,
) -> int:
    """Run a stored read of a server under a name of the settings.

    The alias names the server, the graph and the query. Values of --params come before ARGUMENTs, which are named by
    `args` of the alias, and these before its own `params`.
    """
    alias = settings().alias(name)
    chosen = chosen_format(format_ or (None if as_json else alias.format), as_json=as_json)
    given = given_params(params_text, params_path) or {}
    if len(arguments) > len(alias.args):
        raise click.UsageError(f"alias {name!r} takes {len(alias.args)} arguments, not {len(arguments)}")
    from omnigraph.client.opening import connect

    graph = connect(_address(alias), None)
    click.get_current_context().call_on_close(graph.close)
    params = {**alias.params, **_typed(graph, alias, arguments), **given}
    show_rows(graph.invoke(alias.query, params), chosen)
    return OK


def _address(alias: Alias) -> str:
    config = settings()
    server = alias.server or config.server
    if server is None:
        raise UsageError(f"alias {alias.name!r} names no server", hint=f"add one in {config.path}", alias=alias.name)
    usual = config.default_graph if server == config.server else None
    found = chosen_graph(GraphWords(server=server, graph_id=alias.graph or usual), {})
    assert found is not None, "a server is named"
    return found


def _typed(graph: RemoteGraph, alias: Alias, arguments: Sequence[str]) -> dict[str, Any]:
    """The arguments by the name of their parameter, read as the query declares it."""
    if not arguments:
        return {}
    kinds = _kinds(graph, alias.query)
    return {name: _value(text, kinds.get(name, ""), name) for name, text in zip(alias.args, arguments, strict=False)}


def _kinds(graph: RemoteGraph, query: str) -> Mapping[str, str]:
    try:
        found = next((item for item in graph.queries() if item["name"] == query), None)
    except OmnigraphError:
        # The catalog may be denied where invoking is allowed; the server then reads texts as well as it can.
        return {}
    return {} if found is None else {item["name"]: item["kind"] for item in found["params"]}


def _value(text: str, kind: str, name: str) -> Any:
    if kind not in _JSON_KINDS:
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{text!r} is not a value for ${name}, which is of the kind {kind}") from error
