"""Reads of polymorphic variables: what ``return`` and ``order`` say about them in every concrete pattern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from omnigraph.lang import gq_ast as ast
from omnigraph.query.polymorphic.domains import typed_id
from omnigraph.query.polymorphic.optional import introduced
from omnigraph.query.polymorphic.several import bound_names, has_polymorphic, interface_properties
from omnigraph.query.scope import Context

Interfaces = Mapping[str, tuple[str, frozenset[str]]]
"""The name and the properties of the interface of a variable; the name is empty if the former stage returns it."""
_ANY = "*"
"""Instead of the name of an interface: the variable has several types without one."""


def interfaces_of(context: Context, clauses: tuple[ast.Clause, ...]) -> dict[str, tuple[str, frozenset[str]]]:
    """The variables of a block and of its ``maybe`` blocks that are bound to an interface and to no node type."""
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for clause in clauses:
        if isinstance(clause, ast.MaybeBlock):
            found |= interfaces_of(context, clause.clauses)
        if isinstance(clause, ast.Binding) and clause.type_name.text not in context.catalog.nodes:
            properties = interface_properties(context.catalog, clause.type_name.text)
            if properties is not None:
                found[clause.variable.name] = (clause.type_name.text, properties)
    for clause in clauses:
        if isinstance(clause, ast.Binding) and clause.type_name.text in context.catalog.nodes:
            found.pop(clause.variable.name, None)
    return found


def former_interfaces(context: Context, clauses: tuple[ast.Clause, ...]) -> dict[str, tuple[str, frozenset[str]]]:
    """The variables of the former stage that are bound to no node type, with the properties that they have there."""
    if context.former is None:
        return {}
    narrowed = _narrowed(context, clauses)
    return {
        item.name: ("", item.entity.properties)
        for item in context.former.entities
        if item.entity.properties is not None and item.name not in narrowed
    }


def _narrowed(context: Context, clauses: tuple[ast.Clause, ...]) -> frozenset[str]:
    """The variables that a block binds to a node type."""
    return frozenset(
        clause.variable.name
        for clause in clauses
        if isinstance(clause, ast.Binding) and clause.type_name.text in context.catalog.nodes
    )


def check_reads(context: Context, body: ast.ReadBody) -> None:
    """Report properties that an interface does not have: a type that implements it later need not have them."""
    around = former_interfaces(context, body.clauses)
    check_clauses(context, body.clauses)
    interfaces = {**around, **interfaces_of(context, body.clauses)}
    parts = [projection.expression for projection in body.projections]
    parts += [key.expression for key in body.order]
    for part in parts if body.having is None else [*parts, body.having]:
        _check_expression(context, part, interfaces)


def check_any(
    context: Context, clauses: tuple[ast.Clause, ...], parts: Iterable[ast.Expr], every: Mapping[str, frozenset[str]]
) -> None:
    """Report properties that one of the types of a variable lacks; ``every`` has those that all of its types have."""
    known = {name: (_ANY, properties) for name, properties in every.items()}
    _check_block(context, clauses, known, _around(context))
    for part in parts:
        _check_expression(context, part, known)


def check_clauses(context: Context, clauses: tuple[ast.Clause, ...]) -> None:
    """The same for the clauses alone."""
    _check_block(context, clauses, former_interfaces(context, clauses), _around(context))


def _around(context: Context) -> frozenset[str]:
    """The variables that the former stage returns."""
    return frozenset() if context.former is None else context.former.names


def _check_block(context: Context, clauses: tuple[ast.Clause, ...], outer: Interfaces, around: frozenset[str]) -> None:
    """Check a block; ``around`` are the variables that are bound outside of it.

    A binding to a node type narrows an interface: in its block all properties of the type can be read.
    """
    narrowed = _narrowed(context, clauses)
    kept = {name: found for name, found in outer.items() if name not in narrowed}
    interfaces = {**kept, **interfaces_of(context, clauses)}
    _check_optional(context, clauses, around)
    bound = around | frozenset(bound_names(clauses))
    for clause in clauses:
        match clause:
            case ast.Filter(predicate):
                _check_expression(context, predicate, interfaces)
            case ast.Binding(matches=matches):
                for match in matches:
                    _check_expression(context, match.value, interfaces)
            case ast.NotBlock(inner) | ast.MaybeBlock(inner):
                _check_block(context, inner, interfaces, bound)
            case _:
                continue


def _check_optional(context: Context, clauses: tuple[ast.Clause, ...], around: frozenset[str]) -> None:
    """T26: report a clause that requires a variable which an earlier ``maybe`` block over several types binds."""
    bound = set(around)
    optional: set[str] = set()
    for clause in clauses:
        if isinstance(clause, ast.MaybeBlock) and has_polymorphic(context, clause.clauses):
            optional |= introduced(clause.clauses, dict.fromkeys(bound, ""))
        names = set(bound_names((clause,)))
        for name in sorted(names & optional):
            message = f"`${name}` may be null: a `maybe` block binds it"
            hint = "put this clause into a `maybe` block as well, or in front of that block"
            context.error("T26", message, clause.span, hint)
        bound |= names


def _check_expression(context: Context, node: ast.Expr, interfaces: Interfaces) -> None:
    for part in ast.walk(node):
        if isinstance(part, ast.Exists):
            # No variables around it: they matter to `maybe` blocks, which cannot stand in `exists`.
            _check_block(context, part.clauses, interfaces, frozenset())
        if isinstance(part, ast.PropertyAccess) and not ast.is_entity(part) and part.variable.name in interfaces:
            name, properties = interfaces[part.variable.name]
            if part.property.text not in properties:
                hint = context.suggest(part.property.text, properties)
                owner, advice = _described(name, part.variable.name)
                message = f"{owner} has no property `{part.property.text}`"
                context.error("T6", message, part.property.span, hint or advice)


def _described(interface: str, variable: str) -> tuple[str, str]:
    """The owner of properties for a message, and the advice if it lacks one."""
    match interface:
        case "":
            return f"`${variable}` of the former stage", "bind it to a type"
        case _ if interface == _ANY:
            advice = f"bind a type that has it: `${variable}: Type`"
            return f"one of the types that `${variable}` may have", advice
        case _:
            return f"interface `{interface}`", f"bind a type that implements `{interface}`"


def spelled_out(projection: ast.Projection, polymorphic: frozenset[str]) -> ast.Projection:
    """A projection in which an id cannot be taken for that of another type: ``$m`` is the entity with its type."""
    node = projection.expression
    match node:
        case ast.Variable(name) if name in polymorphic:
            star = ast.Name(ast.EVERY_PROPERTY, node.span)
            return replace(projection, expression=ast.PropertyAccess(node, star, node.span))
        case ast.Aggregate(argument=ast.Variable(name), distinct=True) if name in polymorphic:
            alias = projection.alias or ast.Name(name, node.span)
            return replace(projection, expression=distinct_entities(node, polymorphic), alias=alias)
        case _:
            return projection


def distinct_entities(node: ast.Expr, polymorphic: frozenset[str]) -> ast.Expr:
    """An expression in which ``count(distinct $m)`` counts pairs of a type and an id."""
    match node:
        case ast.Aggregate(argument=ast.Variable(name) as variable, distinct=True) if name in polymorphic:
            return replace(node, argument=typed_id(variable))
        case _:
            return ast.with_children(node, lambda part: distinct_entities(part, polymorphic))
