"""``omnigraph resolve``: entity resolution, with a preview of clusters, pairs and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from omnigraph.cli.args.addresses import Address, uri_argument, writes_graph
from omnigraph.cli.args.completion import type_names
from omnigraph.cli.args.options import (
    base_option,
    branch_option,
    dry_run_option,
    engine_option,
    idempotency_key_option,
    json_option,
    message_option,
    quiet_option,
)
from omnigraph.cli.args.row_output import chosen_format, format_option, show_rows
from omnigraph.cli.exit_codes import OK
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.cli.show.tables import aligned
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.jobs.resolve import resolve_json, resolve_preview_json

if TYPE_CHECKING:
    from omnigraph.engine.resolve.result import ResolvePreview, ResolveResult

SHOWN: Final = 20
_TABLES: Final = ("clusters", "pairs", "changes")


@click.command("resolve")
@uri_argument
@click.option("--rules", "rules_path", metavar="FILE.yaml", help="Rules: blocks, comparisons and thresholds.")
@click.option(
    "--pairs",
    metavar="FILE",
    help="Pairs instead of rules: a CSV, Parquet or JSON file with the columns left and right, such as the reviewed "
    "output of --show pairs.",
)
@click.option(
    "--type",
    "type_name",
    metavar="TYPE",
    shell_complete=type_names,
    help="Node type. [default: the type that the rules name]",
)
@click.option("--threshold", type=click.FloatRange(0, 1), metavar="SCORE", help="Smallest score of a match.")
@branch_option
@base_option
@engine_option("compares entities")
@dry_run_option
@click.option(
    "--show",
    type=click.Choice(_TABLES),
    default=_TABLES[0],
    show_default=True,
    help="Rows to print. The changes need --dry-run; later `omnigraph diff` shows them.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Rows to print. [default: {SHOWN} in a table or as JSON, all in other formats]",
)
@message_option
@idempotency_key_option
@format_option
@writes_graph
@quiet_option
@json_option
def command(
    address: Address,
    rules_path: str | None,
    pairs: str | None,
    type_name: str | None,
    threshold: float | None,
    branch: str,
    base: str | None,
    engine: str,
    dry_run: bool,
    show: str,
    limit: int | None,
    format_: str | None,
    quiet: bool,
    as_json: bool,
    **commit_options: Any,
) -> int:
    """Find nodes of a type that are the same, and fold them into one.

    \b
    omnigraph resolve G --rules resolve.yaml --dry-run
    omnigraph resolve G --rules resolve.yaml --branch resolved --from main

    Connected matches become one node with the values that the merge policies choose, and their edges move to it: one
    commit, which `omnigraph revert` undoes.
    """
    if show == "changes" and not dry_run:
        raise click.UsageError("--show changes needs --dry-run; `omnigraph diff` shows the changes of a commit")
    chosen = chosen_format(format_, as_json=as_json)
    named, rules = _rules(rules_path, pairs, type_name, threshold)
    graph = address.open()
    address.announce("resolve", quiet or dry_run)
    place: dict[str, Any] = {"pairs": pairs, "branch": branch, "base": base, "engine": engine}
    rows = SHOWN if limit is None and chosen in ("table", "kv", "json") else limit
    if dry_run:
        preview = graph.resolve_preview(named, rules, **place)
        if chosen == "json":
            say_json(with_uri(graph.uri, resolve_preview_json(preview, rows)))
        else:
            _show_rows(preview, show, rows, chosen)
            _say_preview(preview, chosen)
        return OK
    result = graph.resolve(named, rules, **place, **commit_options)
    if chosen == "json":
        say_json(with_uri(graph.uri, resolve_json(result, rows)))
    else:
        _show_rows(result, show, rows, chosen)
        _say_result(result, chosen)
    return OK


def _rules(
    path: str | None, pairs: str | None, type_name: str | None, threshold: float | None
) -> tuple[str, dict[str, Any] | None]:
    """The type, and the rules; None for given pairs."""
    from omnigraph.config.resolve_file import read_rules_file

    if (path is None) == (pairs is None):
        raise click.UsageError("pass either --rules or --pairs")
    if path is None:
        if type_name is None:
            raise click.UsageError("--pairs needs --type")
        if threshold is not None:
            raise click.UsageError("--threshold needs --rules")
        return type_name, None
    named, rules = read_rules_file(path)
    chosen = type_name or named
    if chosen is None:
        raise click.UsageError(f"{path} names no type: add `type: Person`, or pass --type")
    return chosen, rules if threshold is None else {**rules, "threshold": threshold}


def _show_rows(found: ResolveResult | ResolvePreview, show: str, limit: int | None, format_: str) -> None:
    from omnigraph.engine.listing import listing
    from omnigraph.engine.resolve.result import ResolvePreview

    if show == "changes":
        assert isinstance(found, ResolvePreview)
        rows = found.changes.to_arrow(limit)
    else:
        rows = (found.pairs if show == "pairs" else found.clusters).slice(0, limit)
    show_rows(listing(f"resolve {show}", rows, branch=found.branch), format_)


def _say_common(found: ResolveResult | ResolvePreview, format_: str) -> bool:
    """Print remarks and counts; True if the output is for people."""
    is_for_people = format_ in ("table", "kv")
    for remark in found.remarks:
        say(f"{paint('remark', 'yellow')}: {remark}", to_stderr=True)
    if is_for_people and found.tables:
        rows = [(item.key, item.inserted, item.updated, item.deleted) for item in found.tables]
        say(aligned(("table", "inserted", "updated", "deleted"), rows))
    return is_for_people


def _say_preview(preview: ResolvePreview, format_: str) -> None:
    is_for_people = _say_common(preview, format_)
    counts = f"{count(preview.found.merged, 'cluster')}, {count(preview.found.removed, 'entity', 'entities')}"
    say(f"would fold {counts} on {preview.branch}; nothing was changed", to_stderr=not is_for_people)


def _say_result(result: ResolveResult, format_: str) -> None:
    is_for_people = _say_common(result, format_)
    ok = paint("ok", "green", bold=True)
    if result.repeated and result.commit is not None:
        say(f"{ok}: already resolved, as commit {result.commit.id}", to_stderr=not is_for_people)
        return
    if result.commit is None:
        say(f"{ok}: nothing to fold; {result.found.compared:,} pairs compared", to_stderr=not is_for_people)
        return
    counts = f"{count(result.found.merged, 'cluster')}, {count(result.found.removed, 'entity', 'entities')}"
    say(f"{ok}: folded {counts} on {result.branch}, commit {result.commit.id}", to_stderr=not is_for_people)
