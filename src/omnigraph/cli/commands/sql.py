"""``omnigraph sql``: one select over the tables of a graph."""

from __future__ import annotations

import click

from omnigraph.cli.args.addresses import Address, reads_graph
from omnigraph.cli.args.moments import chosen_moment, reads_moment
from omnigraph.cli.args.options import json_option
from omnigraph.cli.args.queries import given_params
from omnigraph.cli.args.row_output import chosen_format, format_option, show_rows
from omnigraph.cli.exit_codes import OK


@click.command("sql")
@click.argument("statement")
@click.option("--params", "params_text", metavar="JSON", help="Values for $name, as a JSON object.")
@click.option("--params-file", "params_path", metavar="FILE", help="File with the values.")
@reads_moment
@format_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Cancel the query after this time. [default: no limit]",
)
@reads_graph
@json_option
def command(
    address: Address,
    statement: str,
    params_text: str | None,
    params_path: str | None,
    branch: str | None,
    at: str | None,
    snapshot: str | None,
    format_: str | None,
    timeout: float | None,
    as_json: bool,
) -> int:
    """Run one SQL select over the tables of a graph.

    Tables have the names of the types. The statement can read no other data and cannot write.
    """
    chosen = chosen_format(format_, as_json=as_json)
    params = given_params(params_text, params_path)
    moment = chosen_moment(at, snapshot)
    result = address.open().sql(statement, params, branch=branch, at=moment, timeout=timeout)
    show_rows(result, chosen)
    return OK
