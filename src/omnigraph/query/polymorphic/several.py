"""Recognition of patterns over several types. Most queries have none, and need nothing else of this folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from omnigraph.lang import gq_ast as ast
from omnigraph.query.blocks.mentions import exists_in, expressions_of
from omnigraph.query.scope import Context
from omnigraph.schema.catalog import Catalog, EdgeType


def is_polymorphic(context: Context, clauses: tuple[ast.Clause, ...], expressions: Iterable[ast.Expr] = ()) -> bool:
    """True if a clause or an ``exists`` block stands for several types, or an entity of the former stage has several.

    Such a clause names an interface, any edge or an edge over several types, or binds a variable without a type.
    """
    if context.former is not None and context.former.varies:
        return True
    return has_polymorphic(context, clauses, expressions)


def has_polymorphic(context: Context, clauses: tuple[ast.Clause, ...], expressions: Iterable[ast.Expr] = ()) -> bool:
    """The same without the types of the former stage's entities."""
    if any(_is_polymorphic(context, clause, clauses) for clause in clauses):
        return True
    every = (*expressions, *(part for clause in clauses for part in expressions_of(clause)))
    return any(has_polymorphic(context, block.clauses) for part in every for block in exists_in(part))


def _is_polymorphic(context: Context, clause: ast.Clause, clauses: tuple[ast.Clause, ...]) -> bool:
    match clause:
        case ast.Binding():
            name = clause.type_name.text
            return name not in context.catalog.nodes and interface_properties(context.catalog, name) is not None
        case ast.Traversal():
            edge = followed_edge(context, clause)
            return clause.is_any or (edge is not None and not edge.is_single)
        case ast.Filter():
            alone = clause.predicate
            if not isinstance(alone, ast.Variable) or is_known(context, alone.name):
                return False
            return alone.name not in set(bound_names(clauses))
        case ast.NotBlock() | ast.MaybeBlock():
            return has_polymorphic(context, clause.clauses)
        case _:
            assert_never(clause)


def interface_properties(catalog: Catalog, name: str) -> frozenset[str] | None:
    """The properties of an interface; None if there is none of that name."""
    interface = catalog.interfaces.get(name)
    return None if interface is None else frozenset(item.name for item in interface.properties)


def followed_edge(context: Context, step: ast.Traversal) -> EdgeType | None:
    """The edge type that a step names; None for any edge and for an unknown one."""
    return None if step.is_any else context.catalog.edge(step.edge.text)


def is_known(context: Context, name: str) -> bool:
    """True for a parameter and for a variable of the former stage: alone they bind nothing."""
    former = context.former
    return name in context.parameters or (former is not None and name in former.names | former.gone)


def bound_names(clauses: tuple[ast.Clause, ...]) -> Iterator[str]:
    """The variables that bindings and named edges of a block bind."""
    for clause in clauses:
        if isinstance(clause, ast.Binding):
            yield clause.variable.name
        elif isinstance(clause, ast.Traversal) and not clause.is_any:
            yield from (clause.left.name, clause.right.name)
