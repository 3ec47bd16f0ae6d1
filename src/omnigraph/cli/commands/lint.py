"""``omnigraph lint``: diagnostics of the compilers and linters for a schema and query files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import click

from omnigraph.cli.args.addresses import Address, in_cluster, reads_schema, uri_argument
from omnigraph.cli.args.catalogs import catalog_of
from omnigraph.cli.args.files import read_source
from omnigraph.cli.args.options import json_option
from omnigraph.cli.exit_codes import FAILED, OK
from omnigraph.cli.show.excerpts import draw, label
from omnigraph.cli.show.output import count, paint, say, say_json
from omnigraph.lang.diagnostics import Diagnostic, Severity
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.pg_parser import ParsedSchema, parse_schema
from omnigraph.lang.source import Source
from omnigraph.query.lint import LintReport, lint_queries
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.lint import lint_schema
from omnigraph.wire.lint import lint_json


@dataclass(frozen=True, slots=True)
class SchemaReport:
    """The schema of a run with its diagnostics; ``catalog`` is None if it has errors."""

    parsed: ParsedSchema
    found: tuple[Diagnostic, ...]
    catalog: Catalog | None
    where: dict[str, str]


@click.command("lint")
@uri_argument
@in_cluster
@reads_schema
@click.option("--query", "query_paths", multiple=True, metavar="FILE.gq", help="Query file to check; may be repeated.")
@json_option
def command(schema_path: str | None, address: Address | None, query_paths: tuple[str, ...], as_json: bool) -> int:
    """Check a schema, and query files against it.

    The schema is a file (--schema) or that of a graph (URI or --store).

    Reports errors and warnings with their positions. Exits with 1 if there are errors.
    """
    schema_source = read_source(schema_path) if schema_path is not None else None
    sources = [read_source(path) for path in query_paths]
    schema = _check_schema(schema_source) if schema_source is not None else _check_graph(address)
    files = [_check_queries(source, schema.catalog) for source in sources]
    if as_json:
        say_json(lint_json(schema.where, len(schema.parsed.file.declarations), schema.found, files))
    else:
        _show(schema, files)
    failed = schema.catalog is None or any(file.errors for file in files)
    return FAILED if failed else OK


def _check_schema(source: Source) -> SchemaReport:
    parsed = parse_schema(source)
    found = lint_schema(parsed)
    has_errors = any(item.severity is Severity.ERROR for item in found)
    where = {"kind": "file", "path": source.name}
    return SchemaReport(parsed, found, None if has_errors else catalog_of(parsed), where)


def _check_graph(address: Address | None) -> SchemaReport:
    """The schema of a graph; it was accepted when it was applied, so it has no errors."""
    assert address is not None, "there is a schema or a graph"
    graph = address.open()
    parsed = parse_schema(Source(graph.schema_text(), f"<schema of {address.uri}>"))
    catalog = graph.catalog()
    found = lint_schema(parsed, stored=catalog.schema)
    return SchemaReport(parsed, found, catalog, {"kind": "graph", "uri": graph.uri})


def _check_queries(source: Source, catalog: Catalog | None) -> LintReport:
    """The report of a file. Without a catalog only the syntax is checked, so a file that parses has an empty report."""
    parsed = parse_queries(source)
    if catalog is not None:
        return lint_queries(parsed, catalog)
    if parsed.diagnostics:
        return lint_queries(parsed, catalog_of(parse_schema(Source(""))))
    return LintReport(source.name)


def _show(schema: SchemaReport, files: list[LintReport]) -> None:
    located = [*schema.found, *(item for file in files for item in file.diagnostics())]
    for diagnostic in located:
        say(draw(diagnostic))
        say()
    remarks = [remark for file in files for remark in _remarks(file)]
    for _, line in remarks:
        say(line)
    for note in _notes(schema, files):
        say(f"{paint('note', 'cyan')}: {note}")
    say(_summary(schema, files, [item.severity for item in located] + [severity for severity, _ in remarks]))


def _remarks(file: LintReport) -> Iterable[tuple[Severity, str]]:
    """Findings without a position: those of single queries, then those of the file."""
    for report in file.reports:
        for warning in report.warnings:
            yield Severity.WARNING, f"{file.path}: {label(Severity.WARNING)}: query `{report.name}`: {warning}"
    for finding in file.findings:
        # The diagnostics of a file that does not parse are more precise than its finding.
        if not file.syntax:
            yield finding.severity, f"{file.path}: {label(finding.severity, finding.code)}: {finding.message}"


def _notes(schema: SchemaReport, files: list[LintReport]) -> Iterable[str]:
    if not schema.parsed.file.declarations and not schema.parsed.diagnostics:
        yield f"{schema.parsed.source.name} declares no types"
    if schema.catalog is None:
        if any(not file.syntax for file in files):
            yield "the queries were checked for syntax only, because the schema has errors"
        return
    for file in files:
        if not file.reports and not file.syntax:
            yield f"{file.path} holds no queries"


def _summary(schema: SchemaReport, files: list[LintReport], severities: list[Severity]) -> str:
    checked = count(len(schema.parsed.file.declarations), "type")
    if files:
        checked += f", {count(sum(len(file.reports) for file in files), 'query', 'queries')}"
    totals = [(severities.count(severity), severity) for severity in Severity]
    found = ", ".join(count(number, severity.value) for number, severity in totals if number) or "nothing to remark"
    failed = Severity.ERROR in severities
    verdict = paint("failed", "red", bold=True) if failed else paint("ok", "green", bold=True)
    return f"{verdict}: {found} ({checked})"
