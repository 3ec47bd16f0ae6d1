"""The identity of a row: the ids of its named entities and the values of its former stage, by the names of variables.

Rows that agree in these are equal in all that an expression can read, so they make every order total.
"""

from __future__ import annotations

from omnigraph.query import expressions as ir
from omnigraph.query.scope import ANONYMOUS, BoundVariable, Scope, VariableKind

_ENTITIES = (VariableKind.NODE, VariableKind.EDGE)


def match_identity(scope: Scope) -> tuple[ir.Expr, ...]:
    """The scalars that identify a row of a match block, entities first."""
    around = {} if scope.outer is None else scope.outer.variables
    every = {**around, **scope.variables}
    entities, values = list[ir.Expr](), list[ir.Expr]()
    for name in sorted(name for name in every if not name.startswith(ANONYMOUS)):
        bound = every[name]
        if bound.kind in _ENTITIES:
            entities.append(ir.EntityId(name, ir.OPTIONAL_TEXT if bound.optional else ir.TEXT))
        elif _is_ordered(bound):
            assert bound.type is not None
            values.append(ir.Computed(name, ir.ComputedPart.VALUE, bound.type))
    return (*entities, *values)


def _is_ordered(bound: BoundVariable) -> bool:
    return bound.kind is VariableKind.COLUMN and bound.type is not None and bound.type.is_plain_scalar
