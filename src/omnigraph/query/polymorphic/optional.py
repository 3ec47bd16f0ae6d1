"""``maybe`` blocks over several types.

A row with matches has one row for each, and a row without has one with nulls. With concrete patterns A and B of the
block, the rows are those with A, those with B, and those with neither::

    maybe { ... }    =    A    or    B    or    not { A }  not { B }  maybe { A }

In the last alternative ``maybe { A }`` never matches: it only gives its variables a type. Where no concrete pattern of
the block exists, a pattern of the same variables that matches nothing does that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.operators import BinaryOperator
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.syntax import Name
from omnigraph.query.polymorphic.domains import Types
from omnigraph.query.polymorphic.renaming import VariableNames
from omnigraph.query.scope import Context


@dataclass(frozen=True, slots=True)
class Optional:
    """A ``maybe`` block and the clauses of its concrete patterns."""

    block: ast.MaybeBlock
    patterns: Sequence[tuple[ast.Clause, ...]]


def absent(context: Context, optional: Optional, known: Types) -> Iterator[ast.Clause]:
    """The clauses for rows that match no concrete pattern; there must be one. ``known`` are the variables outside."""
    for clauses in optional.patterns:
        # A block inside does not decide about a match, and cannot stand in `not`.
        required = tuple(clause for clause in clauses if not isinstance(clause, ast.MaybeBlock))
        # Outside of `not` the names belong to the variables that are null.
        names = {name: context.fresh_name() for name in sorted(introduced(required, known))}
        yield ast.NotBlock(VariableNames(names).clauses(required), optional.block.span)
    yield replace(optional.block, clauses=optional.patterns[0])


def introduced(clauses: tuple[ast.Clause, ...], known: Types) -> frozenset[str]:
    """The variables that a block binds."""
    return frozenset(variable.name for variable, _ in _introduced(clauses, known))


def _introduced(clauses: tuple[ast.Clause, ...], known: Types) -> Iterator[tuple[ast.Variable, ast.Traversal | None]]:
    """The variables that a block binds; edges and paths with their traversal."""
    for clause in clauses:
        match clause:
            case ast.Binding():
                found: list[tuple[ast.Variable, ast.Traversal | None]] = [(clause.variable, None)]
            case ast.Traversal():
                found = [(clause.left, None), (clause.right, None)]
                found += [] if clause.edge_variable is None else [(clause.edge_variable, clause)]
            case ast.MaybeBlock():
                yield from _introduced(clause.clauses, known)
                continue
            case ast.Filter(ast.Variable() as alone):
                found = [(alone, None)]
            case _:
                continue
        yield from ((one, step) for one, step in found if not one.is_anonymous and one.name not in known)


def never(context: Context, block: ast.MaybeBlock, around: Types, types: Types) -> tuple[ast.Clause, ...] | None:
    """A ``maybe`` block that binds the same variables and matches nothing; None if an error was reported.

    ``around`` are the variables outside of it, ``types`` those of its own variables.
    """
    span = block.span
    clauses: list[ast.Clause] = []
    for variable, step in dict(_introduced(block.clauses, around)).items():
        if step is None:
            clauses += [_binding(variable.name, types[variable.name], variable), _impossible(variable)]
        elif step.shortest or step.is_any:
            message = "a path or an edge of any type cannot be bound in a `maybe` block over several types"
            context.error("T26", message, block.span, "name the types of its ends")
            return None
        else:
            ends = [ast.Variable(context.fresh_name(), variable.span) for _ in range(2)]
            edge = context.catalog.edge(step.edge.text)
            assert edge is not None, "a pattern with this edge was found"
            for end, type_name in zip(ends, edge.pairs[0], strict=True):
                clauses += [_binding(end.name, type_name, end), _impossible(end)]
            clauses.append(replace(step, left=ends[0], right=ends[1], hops=None, undirected=False))
    if not clauses:
        return ()
    outside = ast.Variable(next(iter(around)), span)
    clauses.append(ast.Filter(ast.IsNull(_id(outside), True, span), span))
    return (ast.MaybeBlock(tuple(clauses), span),)


def _binding(name: str, type_name: str, at: ast.Variable) -> ast.Binding:
    return ast.Binding(ast.Variable(name, at.span), Name(type_name, at.span), (), at.span)


def _impossible(variable: ast.Variable) -> ast.Clause:
    """A filter that no node passes, and that its scan evaluates."""
    span = variable.span
    nothing = ast.ListLiteral((), span)
    return ast.Filter(ast.Binary(BinaryOperator.IN, _id(variable), nothing, span), span)


def _id(variable: ast.Variable) -> ast.Expr:
    return ast.Call("id", (variable,), variable.span)
