"""Mutation statements: syntax to IR, with all checks that need no data (T3, T7, T10 to T16, T25)."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.core.operators import BinaryOperator
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.syntax import Name
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    TARGET,
    AssignmentIR,
    Column,
    DeleteEdges,
    DeleteNodes,
    EntityStatement,
    InsertEdge,
    InsertNode,
    UpdateEdges,
    UpdateNodes,
)
from omnigraph.query.mutation.json_paths import JsonPaths
from omnigraph.query.mutation.own_values import ENDPOINTS, OwnValues, end_fields
from omnigraph.query.reads import column_name
from omnigraph.query.rewrite.coerce import coerce_predicate
from omnigraph.query.scope import UNCODED, BoundVariable, Context, Scope, VariableKind, entity_type
from omnigraph.query.types.calls import described, is_node
from omnigraph.query.types.literals import beside
from omnigraph.query.values import check_literal, check_value
from omnigraph.schema.catalog import EdgeEnd, EdgeType, NodeType
from omnigraph.schema.types import PropertyType

_COMPARISONS = (
    BinaryOperator.EQ,
    BinaryOperator.NE,
    BinaryOperator.LT,
    BinaryOperator.LE,
    BinaryOperator.GT,
    BinaryOperator.GE,
)


def check_statement(context: Context, statement: ast.Statement, around: Scope) -> EntityStatement | None:
    """A statement that writes entities; None if an error was reported. ``around`` are the variables it may read."""
    match statement:
        case ast.Insert():
            entity = _entity(context, statement.type_name)
            return None if entity is None else _check_insert(context, statement, entity, around)
        case ast.Update() | ast.Delete():
            found = _target(context, statement.target, around)
            if found is None:
                return None
            entity, bound = found
            if isinstance(statement, ast.Update):
                return _check_update(OwnValues(context, entity, around), statement, bound)
            return _check_delete(OwnValues(context, entity, around), statement, bound)


def _target(
    context: Context, target: Name | ast.Variable, around: Scope
) -> tuple[NodeType | EdgeType, ir.Expr | None] | None:
    """The type that a statement changes; for a variable also the id of its entity."""
    if isinstance(target, Name):
        entity = _entity(context, target)
        return None if entity is None else (entity, None)
    bound = around.lookup(target.name)
    if bound is None or bound.kind not in (VariableKind.NODE, VariableKind.EDGE):
        if not around.is_broken(target.name):
            hint = context.suggest_variable(target.name, around.names()) or "write `match { ... }` before it"
            context.error("T14", f"`${target.name}` is no node or edge of a match", target.span, hint)
        return None
    type_ = ir.OPTIONAL_TEXT if bound.optional else ir.TEXT
    return entity_type(context.catalog, bound), ir.EntityId(bound.name, type_, is_text=True)


def _entity(context: Context, name: Name) -> NodeType | EdgeType | None:
    """The type a statement names; if a node and an edge type share a name, the node type wins."""
    found = context.catalog.node(name.text) or context.catalog.edge(name.text)
    if found is None:
        hint = context.suggest_or_list(name.text, [*context.catalog.nodes, *context.catalog.edges])
        if name.text in context.catalog.interfaces:
            hint = "an interface has no entities of its own; name a type that implements it"
        context.error("T10", f"unknown type `{name.text}`", name.span, hint)
    return found


def _check_insert(
    context: Context, statement: ast.Insert, entity: NodeType | EdgeType, around: Scope
) -> EntityStatement | None:
    own = OwnValues(context, entity, around, reads_own=statement.is_upsert)
    keeps = statement.is_upsert
    if keeps and not entity.key:
        hint = "declare a `@key`, or use `update` and `insert`"
        context.error("T12", f"`upsert` finds an entity by its key, and `{entity.name}` has none", statement.span, hint)
    assigned = {assignment.property.text: assignment for assignment in statement.assignments}
    if isinstance(entity, NodeType):
        assignments = _check_assignments(own, statement, statement.assignments)
        _check_required(context, statement, entity)
        return InsertNode(entity.name, assignments, keeps, check_returning(own, statement))
    missing = [name for name in ENDPOINTS if name not in assigned]
    for name in missing:
        source, target = (" or a ".join(end.types) for end in entity.ends)
        hint = f"an edge is inserted with `from` and `to`: ids of a {source} and a {target}"
        context.error("T12", f"inserting `{entity.name}` needs `{name}`", statement.span, hint)
    assignments = _check_assignments(own, statement, statement.assignments)
    _check_required(context, statement, entity)
    if missing:
        return None
    own = replace(own, reads_own=False)
    ends = [_check_end(own, assigned[end.word], end) for end in entity.ends]
    if ends[0] is None or ends[1] is None:
        return None
    (from_id, from_type), (to_id, to_type) = ends[0], ends[1]
    returning = check_returning(own, statement)
    return InsertEdge(entity.name, from_id, to_id, assignments, keeps, returning, from_type, to_type)


def _check_end(own: OwnValues, given: ast.Assignment, end: EdgeEnd) -> tuple[ir.Expr, ir.Expr | None] | None:
    """The end of an edge: the id of a node, with its type if the end has several, or a node that a pattern binds."""
    node = given.value
    bound: BoundVariable | None = own.around.lookup(node.name) if isinstance(node, ast.Variable) else None
    if bound is None or bound.kind is not VariableKind.NODE:
        value = _check_assigned(own, node, end.word, ir.TEXT)
        type_ = None if given.node_type is None else _check_node_type(own, given.node_type, end)
        return None if value is None or (type_ is None and given.node_type is not None) else (value, type_)
    if bound.type_name not in end.types or given.node_type is not None:
        types = " or ".join(end.types)
        message = f"`{end.word}` of `{own.entity.name}` is a {types}, but `${bound.name}` is a {bound.type_name}"
        own.context.error("T5", message, node.span)
        return None
    text = ir.OPTIONAL_TEXT if bound.optional else ir.TEXT
    type_name = ir.TypeName(bound.name, bound.type_name, text) if end.is_typed else None
    return ir.EntityId(bound.name, text, is_text=True), type_name


def _check_node_type(own: OwnValues, node: ast.Expr, end: EdgeEnd) -> ir.Expr | None:
    """The type of a node at an end: a text; a literal must be one of the types of the end."""
    value = _check_assigned(own, node, end.type_word, ir.TEXT)
    if isinstance(value, ir.Constant) and value.value not in end.types:
        message = f"`{value.value}` is no type at `{end.word}` of `{own.entity.name}`"
        hint = own.context.suggest(str(value.value), end.types) or f"one of {', '.join(end.types)}"
        own.context.error("T3", message, node.span, hint)
        return None
    return value


def check_returning(own: OwnValues, statement: ast.Statement) -> tuple[Column, ...]:
    """The columns of ``returning``: expressions over the entity as it was written."""
    written = OwnValues(own.context, own.entity, Scope())
    columns: list[Column] = []
    for projection in statement.returning:
        node = projection.expression
        value = written.value(node)
        if projection.alias is not None:
            name = projection.alias.text
        else:
            name = node.name.text if isinstance(node, ast.AliasRef) else column_name(node)
        if any(column.name == name for column in columns):
            hint = "name one of them with `as`"
            own.context.error(UNCODED, f"two columns are called `{name}`", projection.span, hint)
        declared = own.entity.properties.get(value.name) if isinstance(value, ir.Property) else None
        if declared is not None and declared.embed is not None:
            message = f"`{declared.name}` is made from a text after the statements, and cannot be returned"
            own.context.error("T24", message, projection.span, "read it with a query")
        if value is not None:
            columns.append(Column(name, value))
    return tuple(columns)


def _check_required(context: Context, statement: ast.Insert, entity: NodeType | EdgeType) -> None:
    verb = "upserting" if statement.is_upsert else "inserting"
    assigned = {assignment.property.text for assignment in statement.assignments}
    for prop in entity.properties.values():
        if statement.is_upsert and prop.name not in entity.key:
            continue  # an existing entity keeps its value; a missing one of a new entity is a violation
        is_embedded = prop.embed is not None and prop.embed.source in assigned
        if not prop.type.nullable and prop.name not in assigned and not is_embedded:
            message = f"{verb} `{entity.name}` needs `{prop.name}`, which is {prop.type}"
            context.error("T12", message, statement.type_name.span, f"add `{prop.name}: ...`, or declare it nullable")


def _check_assignments(
    own: OwnValues, statement: ast.Insert | ast.Update, assignments: tuple[ast.Assignment, ...]
) -> tuple[AssignmentIR, ...]:
    context, entity = own.context, own.entity
    if not assignments:
        context.error("T10", f"nothing is assigned to `{entity.name}`", statement.span)
    checked: list[AssignmentIR] = []
    seen: set[str] = set()
    placed = JsonPaths(own, is_new=isinstance(statement, ast.Insert))
    for assignment in assignments:
        name = assignment.property.text
        if name in seen or (name in placed.paths and not assignment.path):
            context.error("T13", f"`{name}` is assigned twice", assignment.property.span)
            continue
        if assignment.path:
            placed.add(assignment)
            continue
        seen.add(name)
        if isinstance(entity, EdgeType) and name in ENDPOINTS:
            continue
        declared = entity.properties.get(name)
        if declared is None:
            own.unknown_property(assignment.property)
            continue
        # The key of an upsert decides which entity it is, so it cannot be computed from that entity.
        reads_own = own.reads_own and not (isinstance(statement, ast.Insert) and name in entity.key)
        value = _check_assigned(replace(own, reads_own=reads_own), assignment.value, name, declared.type)
        if value is not None:
            checked.append(AssignmentIR(name, value, declared.type))
    return (*checked, *placed.assignments())


def _check_assigned(own: OwnValues, node: ast.Expr, name: str, wanted: PropertyType) -> ir.Expr | None:
    """The value of an assignment: literals and parameters in the property's exact type, or an expression."""
    context = own.context
    is_bound = isinstance(node, ast.Variable) and own.around.lookup(node.name) is not None
    if _is_plain(node) and not is_bound:
        return check_value(context, node, name, wanted, unbound_code="T14")
    value = own.value(node)
    if value is None:
        return None
    fits = value.type.is_compatible_with(wanted) and not is_node(value) and not wanted.is_blob
    if fits and not (wanted.scalar.is_integer and value.type.scalar.is_float):
        return value
    hint = None
    if wanted.scalar.is_integer and value.type.scalar.is_float:
        hint = f"`/` gives a float; convert it: `cast(round(...) as {wanted.scalar.value})`"
    elif wanted.is_plain_scalar and value.type.is_plain_scalar:
        hint = f"convert it: `cast(... as {wanted.scalar.value})`"
    context.error("T7", f"this is {described(value)}, but `{name}` is {wanted}", node.span, hint)
    return None


def _is_plain(node: ast.Expr) -> bool:
    """True for a literal, a parameter or ``now()``: their values are converted and checked before anything runs."""
    match node:
        case ast.ListLiteral(items):
            return all(isinstance(item, ast.Literal) for item in items)
        case ast.Literal() | ast.Variable() | ast.Call(function="now"):
            return True
        case _:
            return False


def _check_update(own: OwnValues, statement: ast.Update, bound: ir.Expr | None) -> EntityStatement | None:
    context, entity = own.context, own.entity
    for assignment in statement.assignments:
        name = assignment.property.text
        if isinstance(entity, EdgeType) and name in ENDPOINTS:
            message = f"cannot update `{name}` of `{entity.name}`: an edge keeps its ends"
            context.error("T16", message, assignment.property.span, "delete the edge and insert it again")
        elif name in entity.key:
            message = f"cannot update @key property `{name}` of `{entity.name}`"
            kind = "node" if isinstance(entity, NodeType) else "edge"
            context.error("T25", message, assignment.property.span, f"delete the {kind} and insert it with another key")
    assignments = _check_assignments(own, statement, statement.assignments)
    predicate = _check_where(own, statement.where)
    returning = check_returning(own, statement)
    if predicate is None:
        return None
    made = UpdateNodes if isinstance(entity, NodeType) else UpdateEdges
    return made(entity.name, assignments, predicate, bound, returning)


def _check_delete(own: OwnValues, statement: ast.Delete, bound: ir.Expr | None) -> EntityStatement | None:
    predicate = _check_where(own, statement.where)
    returning = check_returning(own, statement)
    if predicate is None:
        return None
    made = DeleteNodes if isinstance(own.entity, NodeType) else DeleteEdges
    return made(own.entity.name, predicate, bound, returning)


def _check_where(own: OwnValues, where: ast.Expr | None) -> ir.Expr | None:
    match where:
        case None:
            return ir.TRUE
        case ast.Binary(operator, ast.AliasRef(name), value) if operator in _COMPARISONS and _is_plain(value):
            is_bound = isinstance(value, ast.Variable) and own.around.lookup(value.name) is not None
            declared = own.entity.properties.get(name.text)
            is_json = declared is not None and declared.type.is_json
            if not is_bound and not is_json and (name.text != "id" or declared is not None):
                return _check_comparison(own, operator, name, value)
    predicate = own.predicate(where)
    return None if predicate is None else coerce_predicate(predicate)


def _check_comparison(own: OwnValues, operator: BinaryOperator, name: Name, value: ast.Expr) -> ir.Expr | None:
    """``property op value``, whose literal is checked against the type of the property (T3)."""
    context, entity = own.context, own.entity
    column, type_ = name.text, ir.TEXT
    if name.text in end_fields(entity):
        column = end_fields(entity)[name.text]
    else:
        declared = entity.properties.get(name.text)
        if declared is None:
            own.unknown_property(name)
            return None
        if declared.type.is_blob:
            context.error("T11", f"`{name.text}` is a Blob and cannot be compared", name.span)
            return None
        type_ = declared.type
    if not type_.is_plain_scalar:
        hint = "test membership with `contains` or `in`" if type_.is_list else None
        context.error("T7", f"`{name.text}` is {type_}; a comparison takes scalars", name.span, hint)
        return None
    given = _check_compared(context, name, value, type_)
    if given is None:
        return None
    return coerce_predicate(ir.Compare(operator, ir.Property(TARGET, column, type_), given))


def _check_compared(context: Context, name: Name, value: ast.Expr, wanted: PropertyType) -> ir.Expr | None:
    given: ir.Expr | None
    code = "T7"
    match value:
        case ast.Variable(name=variable):
            type_ = context.parameters.get(variable)
            if type_ is None:
                hint = context.suggest_parameter(variable)
                context.error("T14", f"`${variable}` is not a declared parameter", value.span, hint)
                return None
            given = ir.Parameter(variable, type_)
        case ast.Call(function="now"):
            given = ir.Now()
        case ast.Literal():
            given, code = check_literal(context, value), "T3"
        case _:
            context.error("T3", f"`{name.text}` is {wanted}; a list cannot be compared", value.span)
            return None
    given = None if given is None else beside(given, ir.Property(TARGET, name.text, wanted))
    if given is not None and not given.type.is_compatible_with(wanted):
        context.error(code, f"`{name.text}` is {wanted} and cannot be compared with {given.type}", value.span)
        return None
    return given
