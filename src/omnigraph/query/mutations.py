"""Mutation statements: syntax to IR, with all checks that need no data (T3, T7, T10 to T16, T25)."""

from __future__ import annotations

from omnigraph.lang import gq_ast as ast
from omnigraph.lang.syntax import Name
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    TARGET,
    AssignmentIR,
    DeleteEdges,
    DeleteNodes,
    InsertEdge,
    InsertNode,
    StatementIR,
    UpdateNodes,
)
from omnigraph.query.rewrite.coerce import coerce_predicate
from omnigraph.query.scope import Context
from omnigraph.query.values import check_literal, check_value
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.schema.types import PropertyType

_ENDPOINTS = {"from": "src", "to": "dst"}


def check_mutation(context: Context, body: ast.MutationBody) -> tuple[StatementIR, ...]:
    """Check every statement; the result is complete only if no error was reported."""
    statements: list[StatementIR] = []
    for statement in body.statements:
        entity = _entity(context, statement.type_name)
        checked = None if entity is None else _check_statement(context, statement, entity)
        if checked is not None:
            statements.append(checked)
    return tuple(statements)


def _check_statement(context: Context, statement: ast.Statement, entity: NodeType | EdgeType) -> StatementIR | None:
    match statement:
        case ast.Insert():
            return _check_insert(context, statement, entity)
        case ast.Update():
            return _check_update(context, statement, entity)
        case ast.Delete():
            return _check_delete(context, statement, entity)


def _entity(context: Context, name: Name) -> NodeType | EdgeType | None:
    """The type a statement names; if a node and an edge type share a name, the node type wins."""
    found = context.catalog.node(name.text) or context.catalog.edge(name.text)
    if found is None:
        hint = context.suggest(name.text, [*context.catalog.nodes, *context.catalog.edges])
        if any(interface.name == name.text for interface in context.catalog.schema.interfaces):
            hint = "an interface has no entities of its own; name a type that implements it"
        context.error("T10", f"unknown type `{name.text}`", name.span, hint)
    return found


def _check_insert(context: Context, statement: ast.Insert, entity: NodeType | EdgeType) -> StatementIR | None:
    if isinstance(entity, NodeType):
        assignments = _check_assignments(context, statement, statement.assignments, entity)
        _check_required(context, statement, entity)
        return InsertNode(entity.name, assignments)
    values = {assignment.property.text: assignment for assignment in statement.assignments}
    missing = [name for name in _ENDPOINTS if name not in values]
    for name in missing:
        hint = f"an edge is inserted with `from` and `to`: ids of a {entity.source} and a {entity.target}"
        context.error("T12", f"inserting `{entity.name}` needs `{name}`", statement.span, hint)
    assignments = _check_assignments(context, statement, statement.assignments, entity)
    _check_required(context, statement, entity)
    if missing:
        return None
    source = check_value(context, values["from"].value, "from", ir.TEXT, unbound_code="T14")
    target = check_value(context, values["to"].value, "to", ir.TEXT, unbound_code="T14")
    return InsertEdge(entity.name, source, target, assignments) if source and target else None


def _check_required(context: Context, statement: ast.Insert, entity: NodeType | EdgeType) -> None:
    assigned = {assignment.property.text for assignment in statement.assignments}
    for prop in entity.properties.values():
        is_embedded = prop.embed is not None and prop.embed.source in assigned
        if not prop.type.nullable and prop.name not in assigned and not is_embedded:
            message = f"inserting `{entity.name}` needs `{prop.name}`, which is {prop.type}"
            context.error("T12", message, statement.type_name.span, f"add `{prop.name}: ...`, or declare it nullable")


def _check_assignments(
    context: Context,
    statement: ast.Insert | ast.Update,
    assignments: tuple[ast.Assignment, ...],
    entity: NodeType | EdgeType,
) -> tuple[AssignmentIR, ...]:
    if not assignments:
        context.error("T10", f"nothing is assigned to `{entity.name}`", statement.span)
    checked: list[AssignmentIR] = []
    seen: set[str] = set()
    for assignment in assignments:
        name = assignment.property.text
        if name in seen:
            context.error("T13", f"`{name}` is assigned twice", assignment.property.span)
            continue
        seen.add(name)
        if isinstance(entity, EdgeType) and name in _ENDPOINTS:
            continue
        declared = entity.properties.get(name)
        if declared is None:
            _unknown_property(context, entity, assignment.property)
            continue
        value = check_value(context, assignment.value, name, declared.type, unbound_code="T14")
        if value is not None:
            checked.append(AssignmentIR(name, value, declared.type))
    return tuple(checked)


def _unknown_property(context: Context, entity: NodeType | EdgeType, name: Name) -> None:
    hint = context.suggest(name.text, entity.properties)
    if isinstance(entity, EdgeType) and name.text in ("src", "dst"):
        hint = "the endpoints are called `from` and `to`"
    elif name.text == "id":
        hint = "ids are derived from `@key` or minted; they cannot be written or compared"
    context.error("T11", f"`{entity.name}` has no property `{name.text}`", name.span, hint)


def _check_update(context: Context, statement: ast.Update, entity: NodeType | EdgeType) -> StatementIR | None:
    if isinstance(entity, EdgeType):
        hint = "delete the edge and insert it again"
        context.error(
            "T16", f"`{entity.name}` is an edge type; edges cannot be updated", statement.type_name.span, hint
        )
        return None
    for assignment in statement.assignments:
        if assignment.property.text in entity.key:
            message = f"cannot update @key property `{assignment.property.text}` of `{entity.name}`"
            context.error("T25", message, assignment.property.span, "delete the node and insert it with another key")
    assignments = _check_assignments(context, statement, statement.assignments, entity)
    predicate = _check_where(context, statement.where, entity)
    return None if predicate is None else UpdateNodes(entity.name, assignments, predicate)


def _check_delete(context: Context, statement: ast.Delete, entity: NodeType | EdgeType) -> StatementIR | None:
    predicate = _check_where(context, statement.where, entity)
    if predicate is None:
        return None
    return DeleteNodes(entity.name, predicate) if isinstance(entity, NodeType) else DeleteEdges(entity.name, predicate)


def _check_where(context: Context, where: ast.Predicate, entity: NodeType | EdgeType) -> ir.Expr | None:
    name = where.property.text
    column, type_ = name, ir.TEXT
    if isinstance(entity, EdgeType) and name in _ENDPOINTS:
        column = _ENDPOINTS[name]
    else:
        declared = entity.properties.get(name)
        if declared is None:
            _unknown_property(context, entity, where.property)
            return None
        if declared.type.is_blob:
            context.error("T11", f"`{name}` is a Blob and cannot be compared", where.property.span)
            return None
        type_ = declared.type
    if not type_.is_plain_scalar:
        context.error("T7", f"`{name}` is {type_}; `where` compares scalars", where.property.span)
        return None
    value = _check_compared(context, where, type_)
    if value is None:
        return None
    return coerce_predicate(ir.Compare(where.operator, ir.Property(TARGET, column, type_), value))


def _check_compared(context: Context, where: ast.Predicate, wanted: PropertyType) -> ir.Expr | None:
    given: ir.Expr | None
    code = "T7"
    match where.value:
        case ast.Variable(name=name):
            type_ = context.parameters.get(name)
            if type_ is None:
                hint = context.suggest_variable(name, context.parameters)
                context.error("T14", f"`${name}` is not a declared parameter", where.value.span, hint)
                return None
            given = ir.Parameter(name, type_)
        case ast.Call(function="now"):
            given = ir.Now()
        case ast.Literal():
            given, code = check_literal(context, where.value), "T3"
        case _:
            context.error("T3", f"`{where.property.text}` is {wanted}; a list cannot be compared", where.value.span)
            return None
    if given is not None and not given.type.is_compatible_with(wanted):
        context.error(
            code, f"`{where.property.text}` is {wanted} and cannot be compared with {given.type}", where.value.span
        )
        return None
    return given
