"""Other names for the variables of clauses, in the syntax tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.lang import gq_ast as ast


@dataclass(frozen=True, slots=True)
class VariableNames:
    """New names by old ones; other variables keep theirs."""

    names: Mapping[str, str]

    def clauses(self, clauses: tuple[ast.Clause, ...]) -> tuple[ast.Clause, ...]:
        return tuple(map(self._clause, clauses))

    def _clause(self, clause: ast.Clause) -> ast.Clause:
        match clause:
            case ast.Binding():
                matches = tuple(replace(match, value=self._expression(match.value)) for match in clause.matches)
                return replace(clause, variable=self._variable(clause.variable), matches=matches)
            case ast.Traversal():
                edge = None if clause.edge_variable is None else self._variable(clause.edge_variable)
                left, right = self._variable(clause.left), self._variable(clause.right)
                return replace(clause, left=left, right=right, edge_variable=edge)
            case ast.Filter():
                return replace(clause, predicate=self._expression(clause.predicate))
            case ast.NotBlock() | ast.MaybeBlock():
                return replace(clause, clauses=self.clauses(clause.clauses))
            case _:
                assert_never(clause)

    def _variable(self, variable: ast.Variable) -> ast.Variable:
        return replace(variable, name=self.names.get(variable.name, variable.name))

    def _expression(self, node: ast.Expr) -> ast.Expr:
        match node:
            case ast.Variable():
                return self._variable(node)
            case ast.PropertyAccess():
                return replace(node, variable=self._variable(node.variable))
            case ast.Exists():
                return replace(node, clauses=self.clauses(node.clauses))
            case ast.Quantified():
                # The item of a quantifier hides a variable of its name.
                inner = VariableNames({old: new for old, new in self.names.items() if old != node.variable.name})
                return replace(node, items=self._expression(node.items), predicate=inner._expression(node.predicate))
            case _:
                return ast.with_children(node, self._expression)


def mentions(clauses: tuple[ast.Clause, ...], names: Iterable[str]) -> bool:
    """True if clauses name one of these variables, also in expressions and inner blocks."""
    return VariableNames({name: f"{name} " for name in names}).clauses(clauses) != clauses
