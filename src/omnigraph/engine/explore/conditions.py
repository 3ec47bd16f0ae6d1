"""Conditions on the columns of one type as values: a name, an operator and a value, never a text to parse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from omnigraph.core.operators import BinaryOperator
from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.views.view import EntityView
from omnigraph.errors import NotFoundError, ParameterError, UsageError
from omnigraph.query import expressions as ir
from omnigraph.query.ir import ParameterIR
from omnigraph.query.params import bind_values
from omnigraph.query.rewrite.coerce import coerce_predicate
from omnigraph.query.standalone.formula import OWNER
from omnigraph.schema.types import PropertyType

VALUES_MAX: Final = 10_000
"""Values of one ``in``."""


class Comparison(StrEnum):
    """Operators of a condition."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    IN = "in"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    IS_NULL = "is_null"
    IS_NOT_NULL = "is_not_null"


_COMPARED: Final[Mapping[Comparison, BinaryOperator]] = {
    Comparison.EQ: BinaryOperator.EQ,
    Comparison.NE: BinaryOperator.NE,
    Comparison.LT: BinaryOperator.LT,
    Comparison.LE: BinaryOperator.LE,
    Comparison.GT: BinaryOperator.GT,
    Comparison.GE: BinaryOperator.GE,
}
_TEXTS: Final[Mapping[Comparison, BinaryOperator]] = {
    Comparison.CONTAINS: BinaryOperator.CONTAINS,
    Comparison.STARTS_WITH: BinaryOperator.STARTS_WITH,
}
_NULLS: Final = (Comparison.IS_NULL, Comparison.IS_NOT_NULL)


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one column: ``id``, for edges ``src`` and ``dst``, or a property."""

    column: str
    comparison: Comparison
    value: Any = None


def matching(view: EntityView, conditions: Iterable[Condition]) -> EntityView:
    """The view of the entities for which all conditions hold."""
    types = view.column_types()
    parts = (view.predicate, *(_predicate(view.type_name, types, item) for item in conditions))
    return replace(view, predicate=ir.conjunction(parts) or ir.TRUE, _known_length=[])


def _predicate(type_name: str, types: Mapping[str, PropertyType], condition: Condition) -> ir.Expr:
    type_ = column_type(type_name, types, condition.column)
    column, comparison = ir.Property(OWNER, condition.column, type_), condition.comparison
    if comparison in _NULLS:
        return ir.IsNull(column, negated=comparison is Comparison.IS_NOT_NULL)
    if type_.is_vector or type_.is_blob:
        raise _misfit(condition, type_, "is_null and is_not_null")
    if type_.is_list:
        if comparison is not Comparison.CONTAINS:
            raise _misfit(condition, type_, "contains, is_null and is_not_null")
        return coerce_predicate(ir.Member(_constant(condition, replace(type_, is_list=False)), column))
    if comparison is Comparison.IN:
        return coerce_predicate(ir.Member(column, _constant(condition, replace(type_, is_list=True))))
    constant = _constant(condition, type_)
    if comparison in _TEXTS:
        if not type_.is_text:
            raise _misfit(condition, type_, "eq, ne, lt, le, gt, ge, in, is_null and is_not_null")
        return ir.TextMatch(_TEXTS[comparison], column, constant)
    return coerce_predicate(ir.Compare(_COMPARED[comparison], column, constant))


def column_type(type_name: str, types: Mapping[str, PropertyType], name: str) -> PropertyType:
    """The type of a column; raises NotFoundError for a name that the type does not have."""
    found = types.get(name)
    if found is None:
        hint = did_you_mean(name, types) or f"its columns are {', '.join(types)}"
        raise NotFoundError(f"{type_name} has no column {name!r}", hint=hint, type=type_name, column=name)
    return found


def _constant(condition: Condition, type_: PropertyType) -> ir.Constant:
    name = condition.column
    wanted = replace(type_, nullable=False, enum_values=None)
    if isinstance(condition.value, list) and len(condition.value) > VALUES_MAX:
        raise UsageError(f"a condition has at most {VALUES_MAX:,} values, not {len(condition.value):,}", property=name)
    try:
        return bind_values([ParameterIR(name, wanted)], {name: condition.value})[name]
    except ParameterError as error:
        # The hints of parameters name a query, which a condition does not have.
        hint = f"{name} {condition.comparison} takes a value of type {wanted}"
        raise ParameterError(error.message, hint=hint, **error.facts) from None


def _misfit(condition: Condition, type_: PropertyType, possible: str) -> UsageError:
    return UsageError(
        f"{condition.column} is {type_}, which {condition.comparison} does not compare",
        hint=f"its conditions are {possible}",
        property=condition.column,
    )
