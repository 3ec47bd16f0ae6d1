"""``omnigraph explain``: the plan of a query or mutation, without running it."""

from __future__ import annotations

import json
import time

import click

from omnigraph.cli.catalogs import read_catalog
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.files import read_source
from omnigraph.cli.options import json_option, schema_option
from omnigraph.cli.output import say, say_json
from omnigraph.errors import InputError, ParameterError
from omnigraph.lang.source import Source
from omnigraph.query.compile import compile_text
from omnigraph.query.explain import describe, explain
from omnigraph.query.ir import MutationIR, Operator, QueryIR
from omnigraph.query.params import bind_mutation, bind_query, bind_values, kind_of
from omnigraph.query.rewrite.tree import inputs


@click.command("explain")
@schema_option
@click.option("-e", "--query-string", "text", metavar="TEXT", help="The query itself.")
@click.option("--query", "query_path", metavar="FILE.gq", help="A file with the query.")
@click.argument("name", required=False)
@click.option(
    "--params", "params_text", metavar="JSON", help="Parameters, as an object; they are checked and filled in."
)
@json_option
def command(
    schema_path: str, text: str | None, query_path: str | None, name: str | None, params_text: str | None, as_json: bool
) -> int:
    """Show how a query or mutation would run.

    NAME selects a query where there are several. Read the plan from the bottom: rows flow upwards.
    """
    source = _query_source(text, query_path)
    plan = compile_text(source.text, read_catalog(schema_path), name=name, source=source.name)
    if params_text is not None:
        plan = _bind(plan, params_text)
    if as_json:
        say_json(_as_json(plan))
    else:
        say(explain(plan))
    return OK


def _query_source(text: str | None, query_path: str | None) -> Source:
    if text is not None and query_path is not None:
        raise click.UsageError("pass either -e or --query, not both")
    if query_path is not None:
        source = read_source(query_path)
    elif text is not None:
        source = Source(text, "<query>")
    else:
        raise click.UsageError("pass a query with -e, or a file with --query")
    if not source.text.strip():
        raise InputError(
            f"{source.name} is empty", hint="a query looks like: query all() { match { $p: Person } return { $p } }"
        )
    return source


def _bind(plan: QueryIR | MutationIR, params_text: str) -> QueryIR | MutationIR:
    values = bind_values(plan.parameters, _parse_params(params_text))
    now_ms = time.time_ns() // 1_000_000
    return bind_query(plan, values, now_ms) if isinstance(plan, QueryIR) else bind_mutation(plan, values, now_ms)


def _parse_params(text: str) -> dict[str, object]:
    example = 'write an object, for example --params \'{"name": "Ada"}\''
    try:
        params = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{error.msg.lower()} at column {error.colno}"
        raise ParameterError(f"--params is not JSON: {place}", hint=example) from error
    except (ValueError, RecursionError) as error:
        raise ParameterError("--params is not JSON we can read: too deep or too long a number", hint=example) from error
    if not isinstance(params, dict):
        raise ParameterError(f"--params must be an object, got {kind_of(params)}", hint=example)
    return params


def _as_json(plan: QueryIR | MutationIR) -> dict[str, object]:
    head: dict[str, object] = {
        "name": plan.name,
        "kind": "read" if isinstance(plan, QueryIR) else "mutation",
        "parameters": [{"name": item.name, "type": str(item.type)} for item in plan.parameters],
    }
    if isinstance(plan, QueryIR):
        body: dict[str, object] = {"columns": [column.name for column in plan.columns], "plan": _tree(plan.root)}
    else:
        statements = [{"operator": type(item).__name__, "type_name": item.type_name} for item in plan.statements]
        body = {"statements": statements}
    return {**head, **body, "text": explain(plan)}


def _tree(operator: Operator) -> dict[str, object]:
    return {
        "operator": type(operator).__name__,
        "description": describe(operator),
        "inputs": [_tree(below) for below in inputs(operator)],
    }
