"""Semantic analysis of one schema text: syntax tree to declared types.

All errors of a text are reported together. The accepted schema of a graph plays no part yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from omnigraph.core.limits import EDGE_PAIRS_MAX
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.pg_ast import Constraint, EdgeDecl, InterfaceDecl, NodeDecl, PropertyDecl
from omnigraph.lang.pg_parser import ParsedSchema
from omnigraph.lang.source import Span
from omnigraph.lang.syntax import Name
from omnigraph.schema.annotations import read_property_annotations, read_type_annotations
from omnigraph.schema.codes import Rule
from omnigraph.schema.constraints import ConstraintReader
from omnigraph.schema.declared import (
    DeclaredEdge,
    DeclaredInterface,
    DeclaredNode,
    DeclaredProperty,
    DeclaredSchema,
)
from omnigraph.schema.ends.pairs import end_types, expand_ends
from omnigraph.schema.findings import Findings
from omnigraph.schema.interfaces import inject, known_interfaces
from omnigraph.schema.ir import External, Pair, TypeKind
from omnigraph.schema.types import type_from_syntax

SYSTEM_COLUMNS: Final = frozenset(
    {"_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version"}
)
NODE_FIELDS: Final = ("id",)
EDGE_FIELDS: Final = ("id", "src", "dst", "from", "to")
TYPE_FIELDS: Final = (("src_type", "from_type"), ("dst_type", "to_type"))
"""Fields for the types of sources and of targets, if there are several: the column, and its name in the language."""
_RENAMED: Final = {"id": "choose another name, such as `personId`; loads fill a single @key from a column `id`"}

Declared = TypeVar("Declared", InterfaceDecl, NodeDecl, EdgeDecl)


def declare(
    parsed: ParsedSchema, kept_annotations: Collection[str] = frozenset()
) -> tuple[DeclaredSchema, tuple[Diagnostic, ...]]:
    """The declared types and their diagnostics. With errors the result is incomplete."""
    findings = Findings(parsed.source, is_partial=bool(parsed.diagnostics), kept_annotations=kept_annotations)
    written = parsed.file.declarations
    interface_decls = _once(findings, "interface name", (d for d in written if isinstance(d, InterfaceDecl)))
    node_decls = _once(findings, "node type", (d for d in written if isinstance(d, NodeDecl)))
    edge_decls = _once(findings, "edge type", (d for d in written if isinstance(d, EdgeDecl)))
    interfaces = {name: _interface(findings, decl) for name, decl in interface_decls.items()}
    nodes = [_node(findings, decl, interfaces) for decl in node_decls.values()]
    _check_edge_names(findings, edge_decls.values())
    implementing = _implementing(nodes)
    edges = [_edge(findings, decl, node_decls, interfaces, implementing) for decl in edge_decls.values()]
    schema = DeclaredSchema(
        parsed.source,
        tuple(sorted(interfaces.values(), key=lambda item: item.name.text)),
        tuple(sorted(nodes, key=lambda item: item.name.text)),
        tuple(sorted(edges, key=lambda item: item.name.text)),
    )
    return schema, findings.report()


def _once(findings: Findings, what: str, declarations: Iterable[Declared]) -> dict[str, Declared]:
    """Declarations by name; the first of two with the same name counts."""
    found: dict[str, Declared] = {}
    for declaration in declarations:
        name = declaration.name
        if name.text in found:
            findings.error(Rule.DUPLICATE_TYPE, f"duplicate {what} '{name.text}'", name.span)
        else:
            found[name.text] = declaration
    return found


def _interface(findings: Findings, decl: InterfaceDecl) -> DeclaredInterface:
    properties = _properties(findings, TypeKind.INTERFACE, decl.name, decl.properties)
    _check_columns(findings, decl.name, properties, None)
    constraints = ConstraintReader(findings, TypeKind.INTERFACE, decl.name, properties).read(())
    return DeclaredInterface(decl.name, _sorted(properties), constraints)


def _node(findings: Findings, decl: NodeDecl, interfaces: Mapping[str, DeclaredInterface]) -> DeclaredNode:
    notes = read_type_annotations(findings, TypeKind.NODE, f"node {decl.name.text}", decl.annotations)
    own = _properties(findings, TypeKind.NODE, decl.name, decl.body)
    implements = known_interfaces(findings, decl.name, decl.implements, interfaces)
    properties = inject(findings, decl.name, own, implements, interfaces)
    _check_embeds(findings, decl.name, properties)
    _check_columns(findings, decl.name, own, notes.external)
    reader = ConstraintReader(findings, TypeKind.NODE, decl.name, properties)
    return DeclaredNode(
        decl.name,
        _sorted(properties),
        reader.read(_constraints(decl.body)),
        notes.description,
        notes.instruction,
        notes.custom,
        notes.rename_from,
        notes.external,
        implements=tuple(implements),
    )


def _edge(
    findings: Findings,
    decl: EdgeDecl,
    nodes: Mapping[str, NodeDecl],
    interfaces: Mapping[str, DeclaredInterface],
    implementing: Mapping[str, tuple[str, ...]],
) -> DeclaredEdge:
    notes = read_type_annotations(findings, TypeKind.EDGE, f"edge {decl.name.text}", decl.annotations)
    for role, endpoint in _endpoints(decl):
        if endpoint.text in interfaces and endpoint.text not in nodes:
            if endpoint.text not in implementing:
                message = f"edge {decl.name.text} has no {role}: no node type implements {endpoint.text}"
                hint = f"declare one: `node ... implements {endpoint.text} {{ ... }}`"
                findings.unresolved(Rule.UNKNOWN_ENDPOINT, message, endpoint.span, hint)
        elif endpoint.text not in nodes:
            message = f"edge {decl.name.text} references unknown {role} type: {endpoint.text}"
            similar = findings.suggest(endpoint.text, [*nodes, *interfaces])
            hint = similar or f"declare it: `node {endpoint.text} {{ ... }}`"
            findings.unresolved(Rule.UNKNOWN_ENDPOINT, message, endpoint.span, hint)
    ends = {(source.text, target.text) for item in decl.ends for source in item.sources for target in item.targets}
    pairs = expand_ends(ends, nodes, implementing)
    if len(pairs) > EDGE_PAIRS_MAX:
        message = f"edge {decl.name.text} connects {len(pairs)} pairs of node types; the limit is {EDGE_PAIRS_MAX}"
        findings.error(Rule.TOO_MANY_ENDS, message, decl.name.span, "declare several edge types")
    if notes.external is not None:
        _check_external_ends(findings, decl, nodes)
    properties = _properties(findings, TypeKind.EDGE, decl.name, decl.body)
    _check_typed_ends(findings, decl.name, pairs, properties)
    _check_columns(findings, decl.name, properties, notes.external)
    reader = ConstraintReader(findings, TypeKind.EDGE, decl.name, properties)
    return DeclaredEdge(
        decl.name,
        _sorted(properties),
        reader.read((*decl.constraints, *_constraints(decl.body))),
        notes.description,
        notes.instruction,
        notes.custom,
        notes.rename_from,
        notes.external,
        ends=tuple(sorted(ends)),
        pairs=pairs,
        card_min=decl.cardinality.low if decl.cardinality else 0,
        card_max=decl.cardinality.high if decl.cardinality else None,
    )


def _implementing(nodes: Iterable[DeclaredNode]) -> dict[str, tuple[str, ...]]:
    """The names of the node types that implement each interface."""
    found: dict[str, tuple[str, ...]] = {}
    for node in nodes:
        for interface in node.implements:
            found[interface] = (*found.get(interface, ()), node.name.text)
    return found


def _endpoints(decl: EdgeDecl) -> Iterator[tuple[str, Name]]:
    for ends in decl.ends:
        yield from (("source", name) for name in ends.sources)
        yield from (("target", name) for name in ends.targets)


def _check_typed_ends(
    findings: Findings, edge: Name, pairs: tuple[Pair, ...], properties: Mapping[str, DeclaredProperty]
) -> None:
    """An end with several types has a field for the type, so a property cannot have its name."""
    for types, fields in zip(end_types(pairs), TYPE_FIELDS, strict=True):
        for name in fields if len(types) > 1 else ():
            if name in properties:
                message = f"property name '{name}' is reserved: edge {edge.text} has ends of several types"
                findings.error(Rule.ENTITY_FIELD, message, properties[name].name.span, "choose another name")


def _check_external_ends(findings: Findings, edge: EdgeDecl, nodes: Mapping[str, NodeDecl]) -> None:
    """A table of another format has ids at its ends and no types, so an end is of one type, whatever is added later."""
    names = list(_endpoints(edge))
    several = len(names) > 2 or any(name.text not in nodes for _, name in names)
    if several:
        message = f"@external is not supported on edge {edge.name.text}: an end has several types, or is an interface"
        hint = "name one node type at each end, or declare an edge type for each pair"
        findings.unresolved(Rule.MISPLACED_ANNOTATION, message, edge.name.span, hint)


def _check_edge_names(findings: Findings, edges: Iterable[EdgeDecl]) -> None:
    """Edge names are case-insensitive, so two of them may not differ in case alone."""
    folded: dict[str, str] = {}
    for edge in edges:
        other = folded.setdefault(edge.name.text.lower(), edge.name.text)
        if other != edge.name.text:
            message = f"edge name collision after case folding: '{edge.name.text}' conflicts with '{other}'"
            findings.error(Rule.EDGE_CASE_COLLISION, message, edge.name.span)


def _properties(
    findings: Findings, kind: TypeKind, owner: Name, body: Iterable[PropertyDecl | Constraint]
) -> dict[str, DeclaredProperty]:
    found: dict[str, DeclaredProperty] = {}
    for member in body:
        if isinstance(member, Constraint):
            continue
        if member.name.text in found:
            message = f"duplicate property '{member.name.text}' in {kind.value} {owner.text}"
            findings.error(Rule.DUPLICATE_PROPERTY, message, member.name.span)
        else:
            found[member.name.text] = _property(findings, kind, owner, member)
    return found


def _property(findings: Findings, kind: TypeKind, owner: Name, decl: PropertyDecl) -> DeclaredProperty:
    name = decl.name
    _check_property_name(findings, kind, name)
    type_ = type_from_syntax(decl.type)
    shown = f"{owner.text}.{name.text}"
    if type_.is_list and type_.is_blob:
        findings.error(Rule.LIST_OF_BLOB, f"list of Blob is not supported ({shown})", decl.type.span)
    notes = read_property_annotations(findings, kind, shown, type_, decl.annotations)
    return DeclaredProperty(
        name,
        type_,
        notes.description,
        notes.embed,
        notes.merge,
        notes.sugar,
        notes.custom,
        notes.rename_from,
        column=notes.column,
    )


def _check_property_name(findings: Findings, kind: TypeKind, name: Name) -> None:
    if name.text in SYSTEM_COLUMNS:
        message = f"property name '{name.text}' is reserved for a virtual storage system column"
        findings.error(Rule.SYSTEM_COLUMN, message, name.span)
    fields = EDGE_FIELDS if kind is TypeKind.EDGE else NODE_FIELDS
    if name.text in fields:
        what = "edge" if kind is TypeKind.EDGE else "node"
        message = f"property name '{name.text}' is reserved: every {what} has {', '.join(fields)} already"
        findings.error(Rule.ENTITY_FIELD, message, name.span, _RENAMED.get(name.text, "choose another name"))


def _check_embeds(findings: Findings, node: Name, properties: Mapping[str, DeclaredProperty]) -> None:
    for prop in properties.values():
        if prop.embed is None:
            continue
        span: Span = prop.name.span if prop.injected_from is None else node.span
        source = properties.get(prop.embed.source)
        shown = f"{node.text}.{prop.name.text}"
        if source is None:
            message = f"@embed on {shown} references unknown property '{prop.embed.source}'"
            hint = findings.suggest(prop.embed.source, properties)
            findings.unresolved(Rule.EMBED_SOURCE_UNKNOWN, message, span, hint)
        elif not source.type.is_text:
            message = f"@embed on {shown} requires a String source, but {prop.embed.source} is {source.type}"
            findings.error(Rule.EMBED_SOURCE_TYPE, message, span)


def _check_columns(
    findings: Findings, owner: Name, properties: Mapping[str, DeclaredProperty], external: External | None
) -> None:
    """Refuse ``@column`` where there is no table of another format that could have the column."""
    for prop in properties.values():
        if prop.column is not None and external is None:
            message = f"@column is not supported on {owner.text}.{prop.name.text}: {owner.text} is not external"
            hint = "the graph stores this property under its own name"
            findings.error(Rule.MISPLACED_ANNOTATION, message, prop.column.span, hint)


def _constraints(body: Iterable[PropertyDecl | Constraint]) -> tuple[Constraint, ...]:
    return tuple(member for member in body if isinstance(member, Constraint))


def _sorted(properties: Mapping[str, DeclaredProperty]) -> tuple[DeclaredProperty, ...]:
    return tuple(properties[name] for name in sorted(properties))
