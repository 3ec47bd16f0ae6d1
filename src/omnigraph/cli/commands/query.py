"""``omnigraph query``: run a read query and print its rows."""

from __future__ import annotations

from typing import Literal

import click

from omnigraph.cli.args.addresses import Address, reads_graph
from omnigraph.cli.args.moments import chosen_moment, reads_moment
from omnigraph.cli.args.options import json_option, stats_option
from omnigraph.cli.args.queries import given_params, is_stored, named_by_file, query_source, takes_query
from omnigraph.cli.args.row_output import chosen_format, format_option, show_rows
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import say
from omnigraph.engine.engine_choice import ENGINES
from omnigraph.errors import CompileError


@click.command("query")
@takes_query
@reads_moment
@format_option
@stats_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Cancel the query after this time. [default: no limit]",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="embedded",
    help="Engine: this process (embedded), Spark, or chosen by size (auto). [default: embedded]",
)
@reads_graph
@json_option
def command(
    address: Address,
    name: str | None,
    text: str | None,
    query_path: str | None,
    params_text: str | None,
    params_path: str | None,
    branch: str | None,
    at: str | None,
    snapshot: str | None,
    format_: str | None,
    stats: bool,
    timeout: float | None,
    engine: Literal["embedded", "auto", "spark"],
    as_json: bool,
) -> int:
    """Run a read query and print its rows.

    NAME selects one of several queries; without -e and --query, it is a stored read of the server. Texts that are
    compared with vectors are embedded by the provider that OMNIGRAPH_EMBED_* configures.
    """
    chosen = chosen_format(format_, as_json=as_json)
    if engine == "spark" and stats:
        raise click.UsageError("--stats is not supported with --engine spark")
    params = given_params(params_text, params_path)
    moment = chosen_moment(at, snapshot)
    if is_stored(name, text, query_path, address):
        _refuse_choices(stats=stats, engine=engine != "embedded")
        stored = address.connect().invoke(name or "", params, branch=branch, at=moment, timeout=timeout)
        show_rows(stored, chosen)
        return OK
    source = query_source(text, query_path)
    from omnigraph.embed import from_environment

    graph = address.open(from_environment())
    try:
        if engine == "spark":
            from omnigraph.spark import query as query_on_spark

            result = query_on_spark(graph, source.text, params, name=name, branch=branch, at=moment, timeout=timeout)
        else:
            result = graph.query(
                source.text,
                params,
                engine=engine,
                name=name,
                branch=branch,
                at=moment,
                timeout=timeout,
                stats=stats,
            )
    except CompileError as error:
        raise named_by_file(error, source) from error
    show_rows(result, chosen, with_profile=stats)
    if stats and chosen != "json":
        say(result.stats(), to_stderr=True)
    return OK


def _refuse_choices(**given: bool) -> None:
    for option, is_given in given.items():
        if is_given:
            raise click.UsageError(f"--{option} has no effect on a stored query: the operator of the server decides it")
