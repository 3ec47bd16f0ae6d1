"""The fields of the IR that compiled queries obey. Anything else makes a plan run on the general operators.

A rewrite may narrow a plan by a field that did not exist when this package was written. Ignoring it would give rows
that the plan excludes, so a field that is not listed must have its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from omnigraph.exec.compiled.recipe import NotCompiled
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    AntiJoin,
    CrossJoin,
    Distinct,
    Expand,
    Filter,
    Group,
    Mark,
    Operator,
    OptionalJoin,
    Outer,
    Project,
    Scan,
    ShortestPath,
    Slice,
    Sort,
)
from omnigraph.query.rewrite.tree import expressions_of, inputs
from omnigraph.query.variables import walk

OPERATORS: Final[Mapping[type[Any], frozenset[str]]] = {
    Scan: frozenset({"variable", "type_name", "predicate", "columns"}),
    Outer: frozenset({"variables"}),
    Expand: frozenset(
        {"input", "source", "target", "edge", "direction", "hops", "new_type", "edge_variable", "from_target"}
        | {"closes", "predicate", "edge_predicate", "columns", "edge_columns", "pair"}
    ),
    ShortestPath: frozenset({"input", "source", "target", "edge", "direction", "hops", "path_variable", "wants_nodes"}),
    CrossJoin: frozenset({"left", "right"}),
    Filter: frozenset({"input", "predicate"}),
    AntiJoin: frozenset({"input", "inner"}),
    Mark: frozenset({"input", "inner", "variable"}),
    OptionalJoin: frozenset({"input", "inner", "introduces"}),
    Group: frozenset({"input", "columns"}),
    Project: frozenset({"input", "columns"}),
    Distinct: frozenset({"input"}),
    Sort: frozenset({"input", "keys"}),
    Slice: frozenset({"input", "limit", "offset"}),
}

EXPRESSIONS: Final[Mapping[type[Any], frozenset[str]]] = {
    ir.Constant: frozenset({"value", "type"}),
    ir.Parameter: frozenset({"name", "type"}),
    ir.Now: frozenset({"type"}),
    ir.Property: frozenset({"variable", "name", "type"}),
    ir.EntityId: frozenset({"variable", "type", "is_text"}),
    ir.Computed: frozenset({"variable", "part", "type"}),
    ir.Compare: frozenset({"operator", "left", "right", "type"}),
    ir.Logic: frozenset({"operator", "operands", "type"}),
    ir.Member: frozenset({"item", "items", "type"}),
    ir.Not: frozenset({"operand", "type"}),
    ir.TextMatch: frozenset({"operator", "text", "part", "type"}),
    ir.IsNull: frozenset({"operand", "negated", "type"}),
    ir.Aggregate: frozenset({"function", "argument", "distinct", "type"}),
    ir.Output: frozenset({"position", "type"}),
}

LEFT: Final[Mapping[type[Any], frozenset[str]]] = {
    Expand: frozenset({"visible"}),
    ShortestPath: frozenset({"visible", "pair", "every"}),
    Slice: frozenset({"limit_parameter", "offset_parameter"}),
    ir.Aggregate: frozenset({"fraction", "by"}),
}
"""Fields that compiled queries do not obey: a plan that uses one is left to the general operators."""


def check_known(operator: Operator) -> None:
    """Raise NotCompiled if an operator or expression of a tree is not listed, or has more than its listed fields."""
    _check(operator, OPERATORS)
    for expression in expressions_of(operator):
        for part in walk(expression):
            _check(part, EXPRESSIONS)
    for below in inputs(operator):
        check_known(below)


def _check(part: Any, known: Mapping[type[Any], frozenset[str]]) -> None:
    obeyed = known.get(type(part))
    if obeyed is None:
        raise NotCompiled(type(part).__name__)
    for item in fields(part):
        if item.name not in obeyed and getattr(part, item.name) != item.default:
            raise NotCompiled(f"{type(part).__name__}.{item.name}")
