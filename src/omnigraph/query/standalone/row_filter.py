"""Filters over the properties of one type, written as in a query, but with bare names: ``age > 30 and name != "Ann"``.

``$p.age`` is understood too, so that a filter can be copied from a query. The result is a predicate over the properties
of ``OWNER``, with constants in the types of the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.core.operators import BinaryOperator
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import CompileError, NotFoundError, UsageError
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.lang.gq_parser import parse_lone_expression
from omnigraph.lang.source import Source
from omnigraph.query import expressions as ir
from omnigraph.query.ir import ParameterIR
from omnigraph.query.params import bind_values
from omnigraph.query.rewrite.coerce import coerce_predicate
from omnigraph.query.scope import UNCODED
from omnigraph.query.standalone.formula import OWNER, compile_parsed
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import PropertyType

Columns = Mapping[str, PropertyType]

_ITEM = ir.TEXT
"""The type under which the item of a quantifier is known here, where only its name matters."""


def compile_filter(text: str, catalog: Catalog, columns: Columns, type_name: str) -> ir.Expr:
    """The predicate of a text; raises CompileError with all diagnostics."""
    source = Source(text, f"<filter of {type_name}>")
    parsed = parse_lone_expression(source)
    if parsed.expression is None:
        raise CompileError(parsed.diagnostics)
    diagnostics = Diagnostics(source)
    expression = _Names(columns, type_name, diagnostics).resolved(parsed.expression)
    diagnostics.raise_errors()
    return coerce_predicate(compile_parsed(source, expression, catalog, columns, ir.BOOL))


def equals(columns: Columns, type_name: str, values: Mapping[str, object]) -> ir.Expr:
    """Properties that equal values, are among several, or are null (None); lists contain the value."""
    parts: list[ir.Expr] = []
    for name, value in values.items():
        if name not in columns:
            raise NotFoundError(
                f"{type_name} has no property {name!r}",
                hint=did_you_mean(name, columns) or f"its properties are {', '.join(columns)}",
                type=type_name,
                property=name,
            )
        parts.append(_equal(name, columns[name], value))
    return ir.conjunction(tuple(parts)) or ir.TRUE


def conjuncts(predicate: ir.Expr) -> tuple[ir.Expr, ...]:
    """The predicates that must all hold; none for TRUE."""
    if isinstance(predicate, ir.Logic) and predicate.operator is BinaryOperator.AND:
        return predicate.operands
    return () if predicate == ir.TRUE else (predicate,)


def _equal(name: str, type_: PropertyType, value: object) -> ir.Expr:
    column = ir.Property(OWNER, name, type_)
    if value is None:
        return ir.IsNull(column, negated=False)
    is_several = isinstance(value, list | tuple | set | frozenset)
    if type_.is_vector or type_.is_blob or (type_.is_list and is_several):
        raise UsageError(f"{name} is {type_} and cannot be compared with a value", hint="filter by another property")
    given = list(value) if isinstance(value, set | frozenset) else value
    wanted = replace(type_, nullable=False, is_list=is_several, enum_values=None)
    constant = bind_values([ParameterIR(name, wanted)], {name: given})[name]
    if type_.is_list:
        return coerce_predicate(ir.Member(constant, column))
    compared = ir.Member(column, constant) if is_several else ir.Compare(BinaryOperator.EQ, column, constant)
    return coerce_predicate(compared)


class _Names:
    """Turns bare names and ``$variable.name`` into the values that an expression is compiled over."""

    def __init__(self, columns: Columns, type_name: str, diagnostics: Diagnostics) -> None:
        self._columns = columns
        self._type_name = type_name
        self._diagnostics = diagnostics

    def resolved(self, node: ast.Expr) -> ast.Expr:
        match node:
            case ast.AliasRef(name):
                return self._variable(name.text, node)
            case ast.PropertyAccess(_, name):
                return self._variable(name.text, node)
            case ast.Variable(name):
                return self._variable(name, node)
            case ast.Quantified():
                items = self.resolved(node.items)
                inner = _Names({**self._columns, node.variable.name: _ITEM}, self._type_name, self._diagnostics)
                return replace(node, items=items, predicate=inner.resolved(node.predicate))
            case _:
                return ast.with_children(node, self.resolved)

    def _variable(self, name: str, node: ast.Expr) -> ast.Expr:
        if name not in self._columns:
            hint = did_you_mean(name, self._columns) or f"its properties are {', '.join(self._columns)}"
            message = f"{self._type_name} has no property `{name}`"
            self._diagnostics.error(UNCODED, message, node.span, hint)
        return ast.Variable(name, node.span)
