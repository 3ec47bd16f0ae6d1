"""The columns that a stage returns to the next one: entities to match on, and columns under names that can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.core.operators import AggregateFunction
from omnigraph.lang import gq_ast as ast
from omnigraph.query.scope import Context, Scope, VariableKind
from omnigraph.query.shaping.entities import result_columns
from omnigraph.query.stages.former import (
    COLUMN_MARK,
    Former,
    FormerEntity,
    FormerValue,
    Planned,
    ReturnedEntity,
)

_CHOSEN = (AggregateFunction.FIRST, AggregateFunction.LAST)
_ENTITIES = (VariableKind.NODE, VariableKind.EDGE)


def is_edge(scope: Scope, variable: ast.Variable) -> bool:
    """True for the variable of an edge."""
    bound = scope.lookup(variable.name)
    return bound is not None and bound.kind is VariableKind.EDGE


def former_names(context: Context) -> frozenset[str]:
    """The variables of all stages before a read."""
    former = context.former
    return frozenset() if former is None else former.names | former.gone


def returned_entities(
    context: Context, scope: Scope, body: ast.ReadBody, places: Sequence[int]
) -> dict[int, ReturnedEntity]:
    """The entities that a read returns, by the places of their ids."""
    found: dict[int, ReturnedEntity] = {}
    for projection, place in zip(body.projections, places, strict=True):
        variable = _entity(projection.expression)
        bound = None if variable is None else scope.lookup(variable.name)
        if bound is None or bound.kind not in _ENTITIES:
            continue
        properties = context.interfaces.get(bound.name)
        if properties is not None and isinstance(projection.expression, ast.Aggregate):
            # The id alone does not tell the type: it is a text.
            continue
        found[place] = ReturnedEntity(
            bound.name,
            bound.kind is VariableKind.EDGE,
            (bound.type_name,),
            None if properties is None else place + 1,
            properties,
        )
    return found


def _entity(node: ast.Expr) -> ast.Variable | None:
    """The variable of a projection that is an entity."""
    match node:
        case ast.Variable():
            return node
        case ast.PropertyAccess() if ast.is_entity(node):
            return node.variable
        case ast.Aggregate(function, ast.Variable() as variable) if function in _CHOSEN:
            return variable
        case _:
            return None


def enter(context: Context, body: ast.ReadBody, planned: Planned) -> Former | None:
    """The rows of a planned stage as the next one sees them; None if an error was reported (T30)."""
    entities: list[FormerEntity] = []
    values: list[FormerValue] = []
    seen: set[str] = set()
    for projection, (place, group) in zip(body.projections, result_columns(planned.columns), strict=True):
        name = _name(context, projection)
        if name is None:
            continue
        if name in seen:
            message = f"two columns of a stage are called `{name.replace(COLUMN_MARK, '.')}`"
            context.error("T30", message, projection.span, "give one of them another name: `as other`")
        elif name in context.parameters and projection.alias is not None:
            context.error("T30", f"`${name}` is already a parameter", projection.span, "choose another alias")
        seen.add(name)
        type_ = group[0].expression.type
        if place in planned.entities:
            entities.append(FormerEntity(name, place, planned.entities[place], type_.nullable))
        elif name not in context.parameters:
            values.append(FormerValue(name, place, type_))
    if context.diagnostics.has_errors:
        return None
    former = Former(planned, tuple(entities), tuple(values), planned.names - seen)
    return _apart(former, body)


def _name(context: Context, projection: ast.Projection) -> str | None:
    """The name of a column: its alias, or the variable or property that it is."""
    node = projection.expression
    if projection.alias is not None and projection.alias.text != "_":
        return projection.alias.text
    match node:
        case ast.Variable():
            return node.name
        case ast.PropertyAccess() if ast.is_entity(node):
            return node.variable.name
        case ast.PropertyAccess() if projection.alias is None:
            return f"{node.variable.name}{COLUMN_MARK}{node.property.text}"
        case _:
            message = "a column of a stage needs a name, so that later ones can read it"
            context.error("T30", message, projection.span, "write `... as name`, and read `$name`")
            return None


def _apart(former: Former, body: ast.ReadBody) -> Former:
    """The stage with other names for its own variables, if the next one uses a name for something else."""
    same = {
        node.name
        for projection in body.projections
        if (node := _entity(projection.expression)) is not None
        and (projection.alias is None or projection.alias.text == node.name)
        and not isinstance(projection.expression, ast.Aggregate)
    }
    if not (former.names & former.planned.names) - same:
        return former
    return replace(former, planned=former.planned.renamed("'"))
