"""``omnigraph explain``: the plan of a query or mutation, without running it."""

from __future__ import annotations

import time

import click

from omnigraph.cli.args.addresses import Address, reads_schema
from omnigraph.cli.args.catalogs import read_catalog
from omnigraph.cli.args.options import at_option, json_option, read_branch_option
from omnigraph.cli.args.queries import given_params, query_source, takes_query
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import say, say_json
from omnigraph.query.compile import compile_text
from omnigraph.query.explain import explain
from omnigraph.query.ir import MutationIR, QueryIR
from omnigraph.query.params import bind_mutation, bind_query, bind_values
from omnigraph.wire.plans import plan_json


@click.command("explain")
@takes_query
@read_branch_option
@at_option
@reads_schema
@json_option
def command(
    schema_path: str | None,
    address: Address | None,
    name: str | None,
    text: str | None,
    query_path: str | None,
    params_text: str | None,
    params_path: str | None,
    branch: str | None,
    at: str | None,
    as_json: bool,
) -> int:
    """Show the plan of a query or mutation.

    NAME selects one of several queries. Given parameters are checked and bound. Read the plan from the bottom: rows
    flow upwards. For a graph, the sizes and indexes of its tables are shown as well.
    """
    if schema_path is not None and (branch is not None or at is not None):
        raise click.UsageError("--branch and --at are of a graph: they cannot be combined with --schema")
    source = query_source(text, query_path)
    params = given_params(params_text, params_path)
    plan = compile_text(source.text, read_catalog(schema_path, address, branch, at), name=name, source=source.name)
    if params is not None:
        plan = _bind(plan, params)
    facts = None if address is None else address.open().explain(source.text, name=name, branch=branch, at=at)
    if as_json:
        say_json(plan_json(plan, facts))
    else:
        say("\n".join([explain(plan), *(f"  {table}" for table in (facts.tables if facts else ()))]))
    return OK


def _bind(plan: QueryIR | MutationIR, params: dict[str, object]) -> QueryIR | MutationIR:
    values = bind_values(plan.parameters, params)
    now_ms = time.time_ns() // 1_000_000
    return bind_query(plan, values, now_ms) if isinstance(plan, QueryIR) else bind_mutation(plan, values, now_ms)
