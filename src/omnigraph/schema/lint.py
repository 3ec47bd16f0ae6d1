"""The schema linter: warnings about valid schemas that will surprise their authors.

Every finding has an ``S2xx`` code of ``codes``. A schema with errors gets its errors only: findings about an incomplete
schema would be noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnigraph.core.limits import DIAGNOSTICS_MAX
from omnigraph.lang.diagnostics import Diagnostic, Severity
from omnigraph.lang.pg_ast import (
    Constraint,
    ConstraintKind,
    EdgeDecl,
    InterfaceDecl,
    NodeDecl,
    PropertyDecl,
    RangeBounds,
)
from omnigraph.lang.pg_parser import ParsedSchema
from omnigraph.lang.source import Source, Span
from omnigraph.schema.annotations import written_name
from omnigraph.schema.codes import Rule
from omnigraph.schema.compile import check_schema
from omnigraph.schema.declared import DeclaredNode, DeclaredSchema, DeclaredType
from omnigraph.schema.identify import identify
from omnigraph.schema.ir import (
    IndexConstraint,
    KeyConstraint,
    SchemaIR,
    TypeKind,
)


def lint_schema(
    parsed: ParsedSchema, previous: SchemaIR | None = None, *, stored: SchemaIR | None = None
) -> tuple[Diagnostic, ...]:
    """The errors of a schema, or its warnings if it has none, in the order of the text.

    ``previous`` is the schema that this one is to replace, ``stored`` the same schema as a graph holds it.
    """
    declared, diagnostics = check_schema(parsed, stored or previous)
    if declared is None:
        return diagnostics
    report = _Report(parsed.source)
    types = {(type_.kind, type_.name.text): type_ for type_ in declared.types}
    for declaration in parsed.file.declarations:
        _lint_declaration(report, declaration)
        if not isinstance(declaration, InterfaceDecl):
            kind = TypeKind.NODE if isinstance(declaration, NodeDecl) else TypeKind.EDGE
            constraints = [member for member in declaration.body if isinstance(member, Constraint)]
            _lint_constraints(report, types[kind, declaration.name.text], constraints)
    for node in declared.nodes:
        _lint_node(report, node)
    for type_ in (*declared.nodes, *declared.edges):
        _lint_external(report, type_)
    _lint_interfaces(report, declared)
    refused = _lint_renames(report, declared, previous)
    return (*refused, *report.found())


class _Report:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._found: list[Diagnostic] = []

    def add(self, rule: Rule, severity: Severity, message: str, span: Span, hint: str | None = None) -> None:
        self._found.append(Diagnostic(rule.code, message, span, self._source, severity, hint))

    def warning(self, rule: Rule, message: str, span: Span, hint: str | None = None) -> None:
        self.add(rule, Severity.WARNING, message, span, hint)

    def info(self, rule: Rule, message: str, span: Span, hint: str | None = None) -> None:
        self.add(rule, Severity.INFO, message, span, hint)

    def found(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self._found, key=lambda item: (item.span, item.code)))[:DIAGNOSTICS_MAX]


def _lint_declaration(report: _Report, declaration: InterfaceDecl | NodeDecl | EdgeDecl) -> None:
    body = declaration.properties if isinstance(declaration, InterfaceDecl) else declaration.body
    if isinstance(declaration, NodeDecl):
        _lint_repetition(report, "interface", ((name.text, name.span) for name in declaration.implements))
    for ends in declaration.ends if isinstance(declaration, EdgeDecl) else ():
        for side in (ends.sources, ends.targets):
            _lint_repetition(report, "end", ((name.text, name.span) for name in side))
    for member in body:
        if isinstance(member, PropertyDecl):
            bare = ((item.name.text, item.span) for item in member.annotations if item.name.text in ("unique", "index"))
            _lint_repetition(report, "annotation", bare)


def _lint_constraints(report: _Report, type_: DeclaredType, constraints: list[Constraint]) -> None:
    owner = type_.name.text
    types = {prop.name.text: prop.type for prop in type_.properties}
    written = [(f"@{constraint.kind.value}", constraint) for constraint in constraints]
    _lint_repetition(report, "constraint", ((pair, pair[1].span) for pair in written))
    for shown, constraint in written:
        members = [(written_name(item) or "", item.span) for item in constraint.arguments]
        names = dict.fromkeys(name for name, _ in members)
        match constraint:
            case Constraint(ConstraintKind.RANGE, (_, RangeBounds(low, high, span))):
                if low is not None and high is not None and low > high:
                    message = f"{shown} on {owner} allows no value: {low} is greater than {high}"
                    report.warning(Rule.EMPTY_RANGE, message, span)
            case Constraint(ConstraintKind.INDEX):
                _lint_repetition(report, "property", members)
                if len(names) > 1:
                    message = f"{shown} on {owner} has no physical effect: only single properties are indexed"
                    report.info(Rule.COMPOSITE_INDEX, message, constraint.span)
            case Constraint(ConstraintKind.UNIQUE):
                _lint_repetition(report, "property", members)
                for name in names:
                    if name in types and (types[name].is_list or types[name].is_vector):
                        message = f"{shown} on {owner} refuses every value of {name}: a {types[name]} is no key"
                        report.warning(Rule.UNIQUE_NEVER_HOLDS, message, constraint.span)
            case Constraint(ConstraintKind.KEY):
                _lint_repetition(report, "property", members)
            case _:
                continue


def _lint_repetition(report: _Report, what: str, written: Iterable[tuple[object, Span]]) -> None:
    seen: set[object] = set()
    for item, span in written:
        if item in seen:
            report.warning(Rule.WRITTEN_TWICE, f"this {what} is written twice and counts once", span)
        seen.add(item)


def _lint_node(report: _Report, node: DeclaredNode) -> None:
    if node.external is None and not any(isinstance(item, KeyConstraint) for item in node.constraints):
        message = f"node {node.name.text} has no @key: ids are minted, and loading the same data twice stores it twice"
        report.info(Rule.NO_KEY, message, node.name.span)
    indexed = {item.properties[0] for item in node.constraints if isinstance(item, IndexConstraint)}
    for prop in node.properties:
        if prop.embed is not None and prop.name.text not in indexed:
            span = prop.name.span if prop.injected_from is None else node.name.span
            message = f"{node.name.text}.{prop.name.text} is embedded but has no @index: search compares every vector"
            report.info(Rule.UNINDEXED_VECTOR, message, span)


def _lint_external(report: _Report, type_: DeclaredType) -> None:
    indexes = [item for item in type_.constraints if isinstance(item, IndexConstraint)]
    if type_.external is not None and indexes:
        names = ", ".join(name for item in indexes for name in item.properties)
        message = f"@index({names}) on {type_.name.text} has no effect: the rows of an external type are not indexed"
        report.info(Rule.EXTERNAL_INDEX, message, type_.name.span)


def _lint_interfaces(report: _Report, declared: DeclaredSchema) -> None:
    used = {name for node in declared.nodes for name in node.implements}
    for interface in declared.interfaces:
        if interface.name.text not in used:
            message = f"interface {interface.name.text} is implemented by no node type"
            report.warning(Rule.UNUSED_INTERFACE, message, interface.name.span)


def _lint_renames(report: _Report, declared: DeclaredSchema, previous: SchemaIR | None) -> tuple[Diagnostic, ...]:
    """Report rename hints without effect; return an error for each hint that ``previous`` cannot resolve."""
    if previous is not None:
        identified = identify(declared, previous.domain, previous)
        for hint in identified.inert_hints:
            message = f"this rename from {hint.text} has been made: the accepted schema has the new name"
            report.info(Rule.INERT_RENAME, message, hint.span, "the hint may stay or go")
        return identified.diagnostics
    for name, span in _hints_to_declared(declared):
        message = f"nothing can be renamed from {name}, because this schema declares {name} itself"
        report.warning(Rule.INERT_RENAME, message, span)
    return ()


def _hints_to_declared(declared: DeclaredSchema) -> Iterator[tuple[str, Span]]:
    names = {(type_.kind, type_.name.text) for type_ in declared.types}
    for type_ in declared.types:
        if type_.rename_from is not None and (type_.kind, type_.rename_from.text) in names:
            yield type_.rename_from.text, type_.rename_from.span
        properties = {prop.name.text for prop in type_.properties}
        for prop in type_.properties:
            if prop.rename_from is not None and prop.injected_from is None and prop.rename_from.text in properties:
                yield prop.rename_from.text, prop.rename_from.span
