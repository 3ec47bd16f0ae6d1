"""Row operators as closures: each takes a list of rows and returns another one, with one more variable perhaps.

A tree of operators becomes one sequence of steps over rows that start with the call alone. A scan is a step too: it
looks its node up and adds it to every row, so that a cross join is two scans in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import Scalar
from omnigraph.exec.compiled.expressions import compile_expression
from omnigraph.exec.compiled.recipe import Bound, Maker, NotCompiled, Row, Scope, Way
from omnigraph.exec.compiled.walking import Step, closing, hop, path, reaching
from omnigraph.exec.graph_view import stored_pair
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    ONE_HOP,
    AntiJoin,
    CrossJoin,
    Direction,
    Expand,
    Filter,
    Mark,
    Operator,
    OptionalJoin,
    Outer,
    Scan,
    ShortestPath,
    Slice,
    Sort,
    SortKey,
)
from omnigraph.query.liveness import near_variable
from omnigraph.query.rewrite.coerce import coerce_comparison
from omnigraph.rows.keys import key_text
from omnigraph.schema.catalog import Catalog

Compiled = tuple[list[Maker[Step]], Scope]
"""Makers of steps, and the variables of the rows after them."""


@dataclass
class RowCompiler:
    """Compiles the operators below a projection."""

    catalog: Catalog

    def compile(self, operator: Operator, scope: Scope) -> Compiled:
        """The steps of an operator and its inputs; NotCompiled if one of them has none."""
        match operator:
            case Outer():
                return [], scope
            case Scan():
                return self._scan(operator, scope)
            case CrossJoin():
                left, scope = self.compile(operator.left, scope)
                right, scope = self.compile(operator.right, scope)
                return [*left, *right], scope
            case Expand():
                return self._expand(operator, scope)
            case ShortestPath():
                return self._shortest(operator, scope)
            case Filter():
                steps, scope = self.compile(operator.input, scope)
                return [*steps, _filtered(operator.predicate, scope)], scope
            case AntiJoin():
                steps, scope = self.compile(operator.input, scope)
                inner, _ = self.compile(operator.inner, scope)
                return [*steps, _without(inner)], scope
            case Mark():
                steps, scope = self.compile(operator.input, scope)
                inner, _ = self.compile(operator.inner, scope)
                return [*steps, _marked(inner)], scope.bind(operator.variable, "")
            case OptionalJoin():
                return self._optional(operator, scope)
            case Sort():
                steps, scope = self.compile(operator.input, scope)
                return [*steps, _sorted(operator.keys, scope)], scope
            case Slice():
                steps, scope = self.compile(operator.input, scope)
                return [*steps, lambda _: sliced(operator)], scope
            case _:
                raise NotCompiled(type(operator).__name__)

    def _scan(self, operator: Scan, scope: Scope) -> Compiled:
        node = self.catalog.nodes[operator.type_name]
        if len(node.key) != 1 or operator.predicate is None:
            raise NotCompiled("a scan without a key")
        every = _conjuncts(operator.predicate)
        key = ir.Property(operator.variable, node.key[0], node.properties[node.key[0]].type)
        for conjunct in every:
            value = _equal_value(conjunct, key)
            if value is not None:
                look_up = _look_up(scope.needs.finder(node.table_key), value, key, scope)
                scope = scope.bind(operator.variable, node.table_key)
                rest = ir.conjunction(tuple(other for other in every if other is not conjunct))
                return [look_up, *([] if rest is None else [_filtered(rest, scope)])], scope
        raise NotCompiled("a scan without a key")

    def _expand(self, operator: Expand, scope: Scope) -> Compiled:
        steps, scope = self.compile(operator.input, scope)
        near = scope.variable(operator.source if operator.closes else near_variable(operator)).slot
        way = scope.needs.walk(self.way(operator))
        keep_edges = operator.edge_variable is not None
        if operator.closes:
            target = scope.variable(operator.target).slot
            steps.append(closing(way, (near, target), operator.hops, keep_edges=keep_edges))
        else:
            is_one = operator.hops == ONE_HOP
            steps.append(hop(way, near, keep_edges=keep_edges) if is_one else reaching(operator, way, near))
            scope = scope.bind(operator.new_variable, self.catalog.nodes[operator.new_type].table_key)
        if operator.edge_variable is not None:
            scope = scope.bind(operator.edge_variable, self.catalog.edges[operator.edge].table_key)
        predicates = (operator.predicate, operator.edge_predicate)
        return [*steps, *(_filtered(predicate, scope) for predicate in predicates if predicate is not None)], scope

    def way(self, operator: Expand) -> Way:
        """The lists that a traversal follows, from its bound end."""
        if operator.pair is not None and (operator.hops != ONE_HOP or operator.direction is Direction.BOTH):
            raise NotCompiled("a walk over several types")
        reverse = operator.from_target and not operator.closes
        return Way(operator.edge, operator.direction, reverse, stored_pair(operator))

    def _shortest(self, operator: ShortestPath, scope: Scope) -> Compiled:
        steps, scope = self.compile(operator.input, scope)
        edge = self.catalog.edges[operator.edge]
        if not edge.is_homogeneous:
            raise NotCompiled("a path between two types")
        forth, back = (scope.needs.walk(Way(operator.edge, operator.direction, reverse)) for reverse in (False, True))
        ends = scope.variable(operator.source).slot, scope.variable(operator.target).slot
        ids = scope.needs.cell(self.catalog.nodes[edge.pairs[0][0]].table_key, "id")
        return [*steps, path(operator.hops, (forth, back), ends, ids)], scope.bind(operator.path_variable, "")

    def _optional(self, operator: OptionalJoin, scope: Scope) -> Compiled:
        steps, scope = self.compile(operator.input, scope)
        inner, within = self.compile(operator.inner, scope)
        added = [variable for variable in within.variables.values() if variable.slot >= scope.width]
        nothing = tuple(-1 if variable.table_key else None for variable in sorted(added, key=lambda one: one.slot))
        return [*steps, _with(inner, nothing)], within.optional(operator.introduces)


def _conjuncts(predicate: ir.Expr) -> tuple[ir.Expr, ...]:
    match predicate:
        case ir.Logic(operator=BinaryOperator.AND, operands=operands):
            return operands
        case _:
            return (predicate,)


def _equal_value(conjunct: ir.Expr, wanted: ir.Property) -> ir.Constant | ir.Parameter | None:
    """The value that a conjunct demands of a property."""
    match conjunct:
        case ir.Compare(
            BinaryOperator.EQ, ir.Property(name=name), ir.Constant() | ir.Parameter() as value
        ) | ir.Compare(BinaryOperator.EQ, ir.Constant() | ir.Parameter() as value, ir.Property(name=name)):
            return value if name == wanted.name else None
        case _:
            return None


def _look_up(finder: int, value: ir.Constant | ir.Parameter, key: ir.Property, scope: Scope) -> Maker[Step]:
    """Every row with the node that has a key."""
    make_value = compile_expression(value, scope)
    is_text = key.type.scalar is Scalar.STRING

    def id_of(given: Any) -> str | None:
        """The id of a node with this key; None if no node can have it."""
        if given is None:
            return None
        if is_text:
            return str(given)
        match coerce_comparison(BinaryOperator.EQ, key, ir.Constant(given, value.type)):
            case ir.Compare(right=ir.Constant(value=fitting)):
                return key_text(fitting, key.type)
            case _:
                return None

    def make(bound: Bound) -> Step:
        find, read = bound.finders[finder], make_value(bound)

        def step(rows: list[Row]) -> list[Row]:
            # The call, and so the value, is the same in all rows.
            id_ = id_of(read(rows[0])) if rows else None
            row = -1 if id_ is None else find(id_)
            return [(*one, row) for one in rows] if row >= 0 else []

        return step

    return make


def _filtered(predicate: ir.Expr, scope: Scope) -> Maker[Step]:
    """The rows for which a predicate is true; null is not."""
    make_test = compile_expression(predicate, scope)

    def make(bound: Bound) -> Step:
        test = make_test(bound)
        return lambda rows: [row for row in rows if test(row) is True]

    return make


def _without(inner: list[Maker[Step]]) -> Maker[Step]:
    """The rows for which an inner block finds nothing."""

    def make(bound: Bound) -> Step:
        find = in_order(inner, bound)
        return lambda rows: [row for row in rows if not find([row])]

    return make


def _marked(inner: list[Maker[Step]]) -> Maker[Step]:
    """Every row with whether an inner block finds something for it."""

    def make(bound: Bound) -> Step:
        find = in_order(inner, bound)
        return lambda rows: [(*row, bool(find([row]))) for row in rows]

    return make


def _with(inner: list[Maker[Step]], nothing: tuple[Any, ...]) -> Maker[Step]:
    """Every row with everything that an inner block finds for it, or with nulls."""

    def make(bound: Bound) -> Step:
        find = in_order(inner, bound)
        return lambda rows: [found for row in rows for found in find([row]) or [(*row, *nothing)]]

    return make


def in_order(makers: Sequence[Maker[Step]], bound: Bound) -> Step:
    """One step that runs several, each on the rows of the one before."""
    steps = [make(bound) for make in makers]

    def run(rows: list[Row]) -> list[Row]:
        for step in steps:
            rows = step(rows)
        return rows

    return run


def _sorted(keys: Sequence[SortKey], scope: Scope) -> Maker[Step]:
    makers = [(compile_expression(key.expression, scope), key.descending) for key in keys]

    def make(bound: Bound) -> Step:
        reads = [(maker(bound), descending) for maker, descending in makers]

        def step(rows: list[Row]) -> list[Row]:
            return rows if len(rows) < 2 else in_sort_order(rows, reads)

        return step

    return make


def in_sort_order(rows: list[Row], keys: Sequence[tuple[Callable[[Row], Any], bool]]) -> list[Row]:
    """Rows by keys, each with whether it descends. Null is smallest."""
    ordered = list(rows)
    # Sorting is stable, also in reverse: by the last key first, the first key decides.
    for read, descending in reversed(keys):
        ordered.sort(key=lambda row: _nulls_first(read(row)), reverse=descending)
    return ordered


def _nulls_first(value: Any) -> tuple[bool, Any]:
    return (value is not None, value)


def sliced(operator: Slice) -> Step:
    """The rows of a slice."""
    start, stop = operator.offset, None if operator.limit is None else operator.offset + operator.limit
    return lambda rows: rows[start:stop]
