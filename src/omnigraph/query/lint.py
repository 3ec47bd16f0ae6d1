"""Linter of query files: errors, warnings, and a description of each valid query (see ``operation``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from omnigraph.lang import gq_ast as ast
from omnigraph.lang.diagnostics import Diagnostic, Diagnostics, Severity
from omnigraph.lang.gq_parser import ParsedQueries
from omnigraph.query.compile import check_query
from omnigraph.query.ir import MutationIR, QueryIR, UpdateEdges, UpdateNodes
from omnigraph.query.operation import Operation, describe_operation
from omnigraph.schema.catalog import Catalog

_SEVERITIES = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a whole file, without a location."""

    severity: Severity
    code: str
    message: str
    type_name: str | None = None
    property: str | None = None
    query_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryReport:
    """The report of one query."""

    name: str
    kind: str
    diagnostics: tuple[Diagnostic, ...]
    warnings: tuple[str, ...] = ()
    operation: Operation | None = None

    @property
    def is_valid(self) -> bool:
        return self.operation is not None


@dataclass(frozen=True, slots=True)
class LintReport:
    """The result of linting one file."""

    path: str
    reports: tuple[QueryReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    syntax: tuple[Diagnostic, ...] = field(default=())

    @property
    def errors(self) -> int:
        return sum(not report.is_valid for report in self.reports) + (1 if self.syntax else 0)

    @property
    def warnings(self) -> int:
        of_queries = sum(len(report.warnings) for report in self.reports)
        return of_queries + sum(finding.severity is Severity.WARNING for finding in self.findings)

    def diagnostics(self) -> Iterator[Diagnostic]:
        """All located diagnostics."""
        yield from self.syntax
        for report in self.reports:
            yield from report.diagnostics


def lint_queries(parsed: ParsedQueries, catalog: Catalog) -> LintReport:
    """Check every query of a file."""
    if parsed.diagnostics:
        first = parsed.diagnostics[0]
        finding = Finding(Severity.ERROR, "Q000", f"parse error: {first.message}")
        return LintReport(parsed.source.name, findings=(finding,), syntax=parsed.diagnostics)
    reports: list[QueryReport] = []
    plans: list[QueryIR | MutationIR] = []
    for query in parsed.file.queries:
        diagnostics = Diagnostics(parsed.source)
        plan = check_query(query, catalog, diagnostics)
        if plan is not None:
            plans.append(plan)
        reports.append(_report(query, plan, catalog, diagnostics))
    findings = [*_never_updated(plans, catalog), *_repeated_names(parsed.file.queries)]
    findings.sort(
        key=lambda item: (_SEVERITIES[item.severity], item.type_name or "", item.property or "", item.message)
    )
    return LintReport(parsed.source.name, tuple(reports), tuple(findings))


def _report(
    query: ast.Query, plan: QueryIR | MutationIR | None, catalog: Catalog, diagnostics: Diagnostics
) -> QueryReport:
    kind = "mutation" if query.is_mutation else "read"
    if plan is None:
        return QueryReport(query.name.text, kind, diagnostics.report())
    warnings: tuple[str, ...] = ()
    if query.is_mutation and not query.parameters:
        warnings = ("hardcoded mutation: the query writes but takes no parameters",)
    return QueryReport(query.name.text, kind, diagnostics.report(), warnings, describe_operation(query, plan, catalog))


def _never_updated(plans: list[QueryIR | MutationIR], catalog: Catalog) -> Iterator[Finding]:
    """L201: nullable properties that no update of the file ever sets, for types that the file does update."""
    assigned: dict[str, set[str]] = {}
    queries: dict[str, set[str]] = {}
    for plan in plans:
        for statement in plan.entity_statements if isinstance(plan, MutationIR) else ():
            if isinstance(statement, UpdateNodes | UpdateEdges):
                assigned.setdefault(statement.type_name, set()).update(item.property for item in statement.assignments)
                queries.setdefault(statement.type_name, set()).add(plan.name)
    for type_name, properties in sorted(assigned.items()):
        entity = catalog.nodes.get(type_name) or catalog.edges[type_name]
        for prop in entity.properties.values():
            settable = prop.type.nullable and prop.name not in entity.key and prop.embed is None
            if settable and prop.name not in properties:
                message = f"no update in this file sets `{type_name}.{prop.name}`"
                names = tuple(sorted(queries[type_name]))
                yield Finding(Severity.WARNING, "L201", message, type_name, prop.name, names)


def _repeated_names(queries: tuple[ast.Query, ...]) -> Iterator[Finding]:
    """L202: only the first query of a name can ever be called."""
    seen: set[str] = set()
    for query in queries:
        name = query.name.text
        if name in seen:
            yield Finding(
                Severity.WARNING,
                "L202",
                f"query `{name}` is declared again; the first one is used",
                query_names=(name,),
            )
        seen.add(name)
