"""Liveness analysis of the IR: the variables, properties and multiplicity that operators above still read.

Computed top-down. An executor may drop variables that are not live, and may then collapse equal rows into one: with
their multiplicity if rows are counted, without it if only existence matters.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.operators import AggregateFunction
from omnigraph.query import expressions as ir
from omnigraph.query.aggregates import AGGREGATES
from omnigraph.query.ir import (
    ONE_HOP,
    AntiJoin,
    Distinct,
    Expand,
    Filter,
    Group,
    Mark,
    Operator,
    OptionalJoin,
    Outer,
    Project,
    ShortestPath,
    Slice,
    Sort,
    Union,
)
from omnigraph.query.rewrite.tree import expressions_of, inputs
from omnigraph.query.variables import walk


class Multiplicity(Enum):
    """The relevance of duplicates to the operators above."""

    ROWS = "rows"
    """Every row is a row of the result: duplicates must not be collapsed."""
    COUNTED = "counted"
    """Only their number matters."""
    EXISTS = "exists"
    """Only existence matters."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The variables, properties and multiplicity that the operators above read."""

    variables: frozenset[str]
    reads: frozenset[tuple[str, str]]
    """Pairs of a variable and the property, id or path attribute that is read."""
    multiplicity: Multiplicity

    @property
    def may_collapse(self) -> bool:
        return self.multiplicity is not Multiplicity.ROWS

    def reading(self, expressions: Iterable[ir.Expr], variables: Iterable[str] = ()) -> Demand:
        """The demand extended by these expressions and variables."""
        reads = frozenset(reads_of(expressions))
        names = self.variables.union(variables, (variable for variable, _ in reads))
        return Demand(names, self.reads | reads, self.multiplicity)


def shaped_demand(operator: Group | Project, *, under_distinct: bool = False) -> Demand:
    """The demand of the operator that computes the result's columns."""
    if isinstance(operator, Project):
        multiplicity = Multiplicity.EXISTS if under_distinct else Multiplicity.ROWS
        return _nothing(multiplicity).reading(expressions_of(operator))
    expressions = [column.expression for column in operator.columns]
    ignored = all(_ignores_multiplicity(expression) for expression in expressions)
    demand = _nothing(Multiplicity.EXISTS if ignored else Multiplicity.COUNTED)
    return demand.reading(expression for expression in expressions if not counts_matches(expression))


def is_shaped(operator: Operator) -> bool:
    """True if the rows of an operator are columns of a result, and no bindings of variables."""
    while isinstance(operator, Sort | Slice | Filter):
        operator = operator.input
    return isinstance(operator, Union | Group | Project | Distinct)


def input_demand(operator: Operator, demand: Demand) -> Demand:
    """The demand of a row operator on its (first) input, given the demand on the operator."""
    match operator:
        case Expand():
            return demand.reading(expressions_of(operator), (operator.source, operator.target))
        case ShortestPath():
            reads = frozenset({(operator.source, "id"), (operator.target, "id")}) if operator.wants_nodes else ()
            named = demand.reading((), (operator.source, operator.target))
            return Demand(named.variables, named.reads.union(reads), named.multiplicity)
        case AntiJoin() | Mark() | OptionalJoin():
            return demand.reading((), outer_variables(operator.inner))
        case _:
            return demand.reading(expressions_of(operator))


def inner_demand(operator: AntiJoin | Mark | OptionalJoin, demand: Demand) -> Demand:
    """The demand of an operator on its inner block."""
    if not isinstance(operator, OptionalJoin):
        return _nothing(Multiplicity.EXISTS)
    introduced = set(operator.introduces)
    reads = frozenset(read for read in demand.reads if read[0] in introduced)
    return Demand(demand.variables & introduced, reads, demand.multiplicity)


def counts_matches(expression: ir.Expr) -> bool:
    """True if an aggregate is the number of rows: it counts an argument that cannot be null."""
    match expression:
        case ir.Aggregate(AggregateFunction.COUNT, ir.EntityId() | ir.Property() | ir.Constant() as argument, False):
            is_null = isinstance(argument, ir.Constant) and argument.value is None
            return not argument.type.nullable and not is_null
        case _:
            return False


def _ignores_multiplicity(expression: ir.Expr) -> bool:
    if not isinstance(expression, ir.Aggregate):
        return True
    return expression.distinct or AGGREGATES[expression.function].ignores_duplicates


def forgotten_walk(operator: Expand, demand: Demand) -> tuple[Expand, ...]:
    """The chain of single hops, in order, that ends in this operator and whose nodes and edges are not live.

    Each hop starts where the previous one ended. Such a walk affects only the multiplicity of a row.
    """
    steps: list[Expand] = []
    current: Operator = operator
    while isinstance(current, Expand) and _is_forgotten(current, demand):
        if steps and near_variable(steps[-1]) != current.new_variable:
            break
        steps.append(current)
        current = current.input
    return tuple(reversed(steps))


def _is_forgotten(step: Expand, demand: Demand) -> bool:
    wanted = step.new_variable in demand.variables or step.edge_variable in demand.variables
    return not wanted and not step.closes and step.hops == ONE_HOP


def near_variable(step: Expand) -> str:
    """The bound end that a step starts from."""
    return step.target if step.from_target else step.source


def outer_variables(inner: Operator) -> tuple[str, ...]:
    """The outer variables that an inner block mentions, as named by its first leaf."""
    while not isinstance(inner, Outer):
        inner = inputs(inner)[0]
    return inner.variables


def _nothing(multiplicity: Multiplicity) -> Demand:
    return Demand(frozenset(), frozenset(), multiplicity)


def reads_of(expressions: Iterable[ir.Expr]) -> Iterable[tuple[str, str]]:
    """Pairs of a variable and what is read of it: a property, the id, or a path attribute."""
    for expression in expressions:
        for part in walk(expression):
            match part:
                case ir.Property():
                    yield part.variable, part.name
                case ir.EntityId() | ir.TypeName():
                    yield part.variable, "id"
                case ir.Computed():
                    yield part.variable, part.part.value
