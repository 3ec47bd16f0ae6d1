"""The names and inner blocks that clauses mention, read from the syntax tree before anything is resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnigraph.lang import gq_ast as ast


def count_patterns(clauses: Iterable[ast.Clause], expressions: Iterable[ast.Expr] = ()) -> int:
    """The number of bindings, traversals and blocks of clauses and expressions, inner ones included."""
    total = sum(1 + count_patterns(block.clauses) for part in expressions for block in exists_in(part))
    for clause in clauses:
        if isinstance(clause, ast.NotBlock | ast.MaybeBlock):
            total += count_patterns(clause.clauses)
        total += not isinstance(clause, ast.Filter)
        total += count_patterns((), expressions_of(clause))
    return total


def shaping_expressions(body: ast.ReadBody) -> tuple[ast.Expr, ...]:
    """The expressions of ``return``, ``order`` and ``having``."""
    keys = (key.expression for key in body.order)
    having = () if body.having is None else (body.having,)
    return (*(projection.expression for projection in body.projections), *keys, *having)


def expressions_of(clause: ast.Clause) -> tuple[ast.Expr, ...]:
    """The expressions of a clause itself, not of inner blocks."""
    match clause:
        case ast.Filter(predicate):
            return (predicate,)
        case ast.Binding(matches=matches):
            return tuple(match.value for match in matches)
        case _:
            return ()


def exists_in(expression: ast.Expr) -> Iterator[ast.Exists]:
    """The ``exists`` blocks of an expression, without those inside of them."""
    return (part for part in ast.walk(expression) if isinstance(part, ast.Exists))


def bindable_names(clauses: tuple[ast.Clause, ...]) -> Iterator[str]:
    """The variables that a ``maybe`` block would bind if nothing outside does."""
    for clause in clauses:
        match clause:
            case ast.Binding():
                named: tuple[ast.Variable | None, ...] = (clause.variable,)
            case ast.Traversal(shortest=False):
                named = (clause.left, clause.edge_variable, clause.right)
            case ast.Traversal():
                named = (clause.edge_variable,)
            case ast.MaybeBlock():
                yield from bindable_names(clause.clauses)
                continue
            case _:
                continue
        yield from (variable.name for variable in named if variable is not None and not variable.is_anonymous)


def direct_names(clause: ast.Clause) -> Iterator[str]:
    """The variables and parameters a clause mentions itself, not in inner blocks."""
    match clause:
        case ast.Binding():
            yield clause.variable.name
        case ast.Traversal():
            yield clause.left.name
            yield clause.right.name
    for expression in expressions_of(clause):
        yield from _names_in(expression)


def _names_in(expression: ast.Expr) -> Iterator[str]:
    for part in ast.walk(expression):
        match part:
            case ast.Variable():
                yield part.name
            case ast.PropertyAccess():
                yield part.variable.name
