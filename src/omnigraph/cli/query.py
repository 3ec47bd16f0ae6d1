"""``omnigraph query``: the rows of a read, in a format for people or programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Literal

import click

from omnigraph.cli.addresses import Address, reads_graph
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.moments import chosen_moment, reads_moment
from omnigraph.cli.options import json_option
from omnigraph.cli.output import say, say_json
from omnigraph.cli.queries import given_params, named_by_file, query_source, takes_query
from omnigraph.cli.settings import settings
from omnigraph.errors import CompileError, UsageError

if TYPE_CHECKING:
    from omnigraph.engine.query_result import QueryResult

ENGINES: Final = ("embedded", "auto", "spark")
FORMATS: Final = ("table", "kv", "csv", "jsonl", "json", "arrow")


@click.command("query")
@takes_query
@reads_moment
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How rows are printed; table if not given.")
@click.option("--stats", is_flag=True, help="Tell on standard error what every operator did.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Give up after this time."
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="embedded",
    show_default=True,
    help="Who runs it: this process, Spark, or auto: Spark for very large queries.",
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
    """Run a read and print its rows.

    NAME selects a query where there are several. Texts that are compared with vectors are embedded as the variables
    OMNIGRAPH_EMBED_* say.
    """
    if as_json and format_ not in (None, "json"):
        raise click.UsageError("pass either --json or --format, not both")
    chosen = "json" if as_json else format_ or settings().output or "table"
    if engine == "spark" and stats:
        raise click.UsageError("--stats is about this process; leave out --engine spark")
    if chosen == "arrow" and sys.stdout.isatty():
        raise UsageError("Arrow data is not for terminals", hint="send it to a file or a program: > rows.arrow")
    source = query_source(text, query_path)
    params = given_params(params_text, params_path)
    moment = chosen_moment(at, snapshot)
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
                profile=stats,
            )
    except CompileError as error:
        raise named_by_file(error, source) from error
    _show(result, chosen, stats)
    return OK


def _show(result: QueryResult, format_: str, stats: bool) -> None:
    from omnigraph.cli import read_formats

    match format_:
        case "json":
            say_json({**result.to_json(), **({"profile": result.profile_json()} if stats else {})})
            return
        case "arrow":
            result.write_arrow(sys.stdout.buffer)
        case "table":
            config = settings()
            width = config.table_width or read_formats.COLUMN_WIDTH_MAX
            for line in read_formats.table_lines(result, width, wrap=config.table_layout == "wrap"):
                say(line)
        case "kv":
            for line in read_formats.kv_lines(result):
                say(line)
        case _:
            lines = read_formats.csv_lines(result) if format_ == "csv" else read_formats.jsonl_lines(result)
            # What programs read is UTF-8, whatever the terminal speaks.
            for line in lines:
                sys.stdout.buffer.write(f"{line}\n".encode())
    sys.stdout.flush()
    if stats:
        say(result.profile(), to_stderr=True)
