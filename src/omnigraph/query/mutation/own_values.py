"""Expressions of a statement: a bare name is a value of the entity that the statement reads or writes.

Names are resolved in the syntax tree, before types are checked, so that everything a read can compute is understood
here too. The entity is the variable ``TARGET``; an edge has ``from`` and ``to``, and every entity has ``id``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.syntax import Name
from omnigraph.query import expressions as ir
from omnigraph.query.ir import TARGET
from omnigraph.query.scope import BoundVariable, Context, Scope, VariableKind
from omnigraph.query.typecheck import Position, check_expression, check_predicate
from omnigraph.query.variables import transform
from omnigraph.schema.catalog import EdgeType, NodeType

ENDPOINTS: Final = {"from": "src", "to": "dst"}
"""The ends of an edge: their names in a statement, and the columns that store them."""

_ID = "#id"
_ENDS: Final = {
    f"#{name}{suffix}": f"{column}{suffix}" for name, column in ENDPOINTS.items() for suffix in ("", "_type")
}
"""Variables that stand for the id and the ends while types are checked; the grammar has no such names."""


def end_fields(entity: NodeType | EdgeType) -> dict[str, str]:
    """The names of the ends of an edge in a statement, and of their types if they have several, with their columns."""
    found: dict[str, str] = {}
    for end in entity.ends if isinstance(entity, EdgeType) else ():
        found[end.word] = end.column
        if end.is_typed:
            found[end.type_word] = f"{end.column}_type"
    return found


@dataclass(frozen=True, slots=True)
class OwnValues:
    """The names that the expressions of one statement may use.

    ``reads_own`` is false for a new entity, which has no values yet. ``around`` has the variables of a pattern, and
    for every field of the record of a ``for`` a value named ``variable.field``.
    """

    context: Context
    entity: NodeType | EdgeType
    around: Scope
    reads_own: bool = True

    def value(self, node: ast.Expr) -> ir.Expr | None:
        """A typed expression, or None if an error was reported."""
        resolved = self._resolved(node)
        checked = None if resolved is None else check_expression(self.context, self._scope(), resolved, Position.FILTER)
        return None if checked is None else transform(checked, _stored)

    def predicate(self, node: ast.Expr) -> ir.Expr | None:
        """The same for a condition."""
        resolved = self._resolved(node)
        checked = None if resolved is None else check_predicate(self.context, self._scope(), resolved)
        return None if checked is None else transform(checked, _stored)

    def _scope(self) -> Scope:
        kind = VariableKind.NODE if isinstance(self.entity, NodeType) else VariableKind.EDGE
        scope = Scope(outer=self.around, has_matches=False)
        scope.bind(BoundVariable(TARGET, kind, self.entity.name))
        for name in (_ID, *_ENDS):
            scope.bind(BoundVariable(name, VariableKind.VALUE, "", type=ir.TEXT))
        return scope

    def _resolved(self, node: ast.Expr) -> ast.Expr | None:
        names = _Names(self)
        resolved = names.resolved(node, frozenset())
        return None if names.has_failed else resolved

    def unknown_property(self, name: Name) -> None:
        """Report a name that is no property."""
        hint = self.context.suggest_or_list(name.text, self.entity.properties)
        if isinstance(self.entity, EdgeType) and name.text in ENDPOINTS.values():
            hint = "the endpoints are called `from` and `to`"
        elif name.text == "id":
            hint = "ids are derived from `@key` or minted; they can be compared, not written"
        self.context.error("T11", f"`{self.entity.name}` has no property `{name.text}`", name.span, hint)


class _Names:
    """Resolver of the names in one expression; reports each wrong one."""

    def __init__(self, owner: OwnValues) -> None:
        self._owner = owner
        self.has_failed = False

    def resolved(self, node: ast.Expr, items: frozenset[str]) -> ast.Expr:
        """``items`` are the variables of the quantifiers around the expression."""
        match node:
            case ast.AliasRef(name):
                return self._own(name, node)
            case ast.Variable(name) if name not in items:
                self._check_bound(node, node)
                return node
            case ast.PropertyAccess(variable, name) if variable.name not in items:
                field = f"{variable.name}.{name.text}"
                if self._owner.around.lookup(field) is not None:
                    return ast.Variable(field, node.span)
                self._check_bound(variable, node)
                return node
            case ast.Quantified():
                inner = items | {node.variable.name}
                predicate = self.resolved(node.predicate, inner)
                return replace(node, items=self.resolved(node.items, items), predicate=predicate)
            case _:
                return ast.with_children(node, lambda part: self.resolved(part, items))

    def _own(self, name: Name, node: ast.AliasRef) -> ast.Expr:
        entity, context = self._owner.entity, self._owner.context
        if not self._owner.reads_own:
            hint = "give a literal, a parameter or an expression of those"
            context.error("T11", f"`{name.text}` has no value yet: the entity is inserted here", node.span, hint)
        elif name.text in end_fields(entity):
            return ast.Variable(f"#{name.text}", node.span)
        elif (declared := entity.properties.get(name.text)) is not None:
            if not declared.type.is_blob:
                return ast.PropertyAccess(ast.Variable(TARGET, node.span), name, node.span)
            context.error("T11", f"`{name.text}` is a Blob and cannot be compared or computed with", node.span)
        elif name.text == "id":
            return ast.Variable(_ID, node.span)
        else:
            self._owner.unknown_property(name)
        self.has_failed = True
        return node

    def _check_bound(self, variable: ast.Variable, node: ast.Expr) -> None:
        context = self._owner.context
        around = self._owner.around
        if variable.name in context.parameters or around.lookup(variable.name) or around.is_broken(variable.name):
            return
        fields = [name for name in around.names() if name.startswith(f"{variable.name}.")]
        if fields:
            known = ", ".join(f"`${name}`" for name in fields)
            context.error("T11", f"`${variable.name}` has no such field", node.span, f"its fields are {known}")
            self.has_failed = True
            return
        hint = context.suggest_parameter(variable.name)
        if isinstance(node, ast.PropertyAccess):
            hint = f"a statement names properties without a variable: `{node.property.text}`"
        context.error("T14", f"`${variable.name}` is not a declared parameter", node.span, hint)
        self.has_failed = True


def _stored(part: ir.Expr) -> ir.Expr:
    """The id and the ends as the values that are stored."""
    match part:
        case ir.Item(variable=name) if name == _ID:
            return ir.EntityId(TARGET, ir.TEXT, is_text=True)
        case ir.Item(variable=name) if name in _ENDS:
            return ir.Property(TARGET, _ENDS[name], ir.TEXT)
        case _:
            return part
