"""The meaning of an expression in one row, in plain Python: three-valued logic, exact numbers, functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.operators import BinaryOperator, Quantifier
from omnigraph.core.scalars import Scalar
from omnigraph.core.temporal import parse_date, parse_datetime, parse_duration
from omnigraph.lang import gq_ast as ast
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import PropertyType, type_from_syntax
from tests.features.exec import naive_functions

Op = BinaryOperator
DAY_MS = 86_400_000
COMPARISONS: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}
LITERALS = {
    ast.LiteralKind.STRING: Scalar.STRING,
    ast.LiteralKind.INTEGER: Scalar.I64,
    ast.LiteralKind.FLOAT: Scalar.F64,
    ast.LiteralKind.BOOL: Scalar.BOOL,
    ast.LiteralKind.DATE: Scalar.DATE,
    ast.LiteralKind.DATETIME: Scalar.DATETIME,
}
SAME = ("coalesce", "nullif", "least", "greatest", "abs", "sign", "floor", "ceil")
"""Functions that give a value of the type of their arguments."""


@dataclass(frozen=True)
class Node:
    type: str
    id: str


@dataclass
class Data:
    """A graph: properties by id, for edges with their two ends."""

    nodes: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    edges: dict[str, dict[str, tuple[Node, Node, dict[str, Any]]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Edge:
    type: str
    id: str


@dataclass(frozen=True)
class Path:
    """Any shortest path from one node to another: which of several is taken is left open."""

    edge: str
    direction: str
    start: Node
    stop: Node
    length: int

    @property
    def source(self) -> str:
        return self.start.id

    @property
    def target(self) -> str:
        return self.stop.id


Row = dict[str, Any]


@dataclass(frozen=True)
class Item:
    """What a quantifier looks at."""

    value: Any
    scalar: Scalar


@dataclass
class Values:
    """Evaluates expressions in rows: what each variable is bound to."""

    catalog: Catalog
    data: Data
    params: Mapping[str, Any]
    now_ms: int
    declared: Mapping[str, PropertyType]
    keeps_entities: bool = field(default=False, init=False)
    """A variable is its entity and not the id: a later stage matches on it."""

    def value(self, node: ast.Expr, row: Row) -> Any:
        match node:
            case ast.Literal():
                return _literal(node)
            case ast.ListLiteral():
                return [self.value(item, row) for item in node.items]
            case ast.Variable():
                bound = row.get(node.name, self)
                if bound is self:
                    return self.params[node.name]
                if isinstance(bound, Item):
                    return bound.value
                return bound if bound is None or self.keeps_entities else bound.id
            case ast.PropertyAccess():
                return self._property(node, row)
            case ast.Call(function="now"):
                return self.now_ms
            case ast.Negate():
                operand = self.value(node.operand, row)
                return None if operand is None else 0 - operand
            case ast.IsNull():
                return (self.value(node.operand, row) is None) != node.negated
            case ast.Not():
                operand = self.value(node.operand, row)
                return None if operand is None else not operand
            case ast.Binary():
                return self._binary(node, row)
            case ast.Call():
                return self._call(node, row)
            case ast.Case():
                return self._case(node, row)
            case ast.Cast():
                wanted = type_from_syntax(node.type).scalar
                return naive_functions.cast(self.value(node.operand, row), self.scalar(node.operand, row), wanted)
            case ast.Index():
                items, index = self.value(node.operand, row), self.value(node.index, row)
                return naive_functions.FUNCTIONS[ScalarFunction.ITEM](Scalar.I64, items, index)
            case ast.Slice():
                return self._slice(node, row)
            case ast.Quantified():
                return self._quantified(node, row)
            case ast.Exists():
                return self.exists(node, row)
            case _:
                raise AssertionError(f"the grammar has no {type(node).__name__} here")

    def exists(self, node: ast.Exists, row: Row) -> bool:
        """Whether a block has a match for the row."""
        raise AssertionError("a value alone has no pattern around it")

    def _property(self, node: ast.PropertyAccess, row: Row) -> Any:
        column = row.get(f"{node.variable.name}.{node.property.text}")
        if isinstance(column, Item):
            return column.value
        entity, name = row[node.variable.name], node.property.text
        match entity:
            case None:
                return None
            case Path():
                return entity.length if name == "length" else entity
            case _ if ast.is_entity(node):
                return entity if self.keeps_entities else self._entity(entity)
            case Edge():
                return self.data.edges[entity.type][entity.id][2][name]
            case _:
                return self.data.nodes[entity.type][entity.id][name]

    def _entity(self, entity: Node | Edge) -> dict[str, Any]:
        """An entity with everything it has."""
        if isinstance(entity, Edge):
            source, target, data = self.data.edges[entity.type][entity.id]
            ends = {"from": source.id, "to": target.id}
            for end, node in zip(self.catalog.edges[entity.type].ends, (source, target), strict=True):
                if end.is_typed:
                    ends[end.type_word] = node.type
            return {"id": entity.id, **ends, "type": entity.type, **data}
        return {"id": entity.id, "type": entity.type, **self.data.nodes[entity.type][entity.id]}

    def _call(self, node: ast.Call, row: Row) -> Any:
        name, arguments = node.function, node.arguments
        if name == "if":
            return self.value(arguments[1 if self.value(arguments[0], row) is True else 2], row)
        if name in ("type", "id"):
            assert isinstance(arguments[0], ast.Variable)
            entity = row[arguments[0].name]
            return None if entity is None else getattr(entity, name)
        values = [self.value(argument, row) for argument in arguments]
        if name in ("date", "datetime"):
            wanted = Scalar.DATE if name == "date" else Scalar.DATETIME
            given = self.scalar(arguments[0], row)
            return values[0] if given is wanted else naive_functions.cast(values[0], given, wanted)
        if name in ("mod", "contains", "starts_with", "ends_with"):
            operator_ = Op.MODULO if name == "mod" else Op(name)
            return self._binary(ast.Binary(operator_, arguments[0], arguments[1], node.span), row)
        function = ScalarFunction(name)
        if name in ("sqrt", "pow", "log"):
            values = [None if value is None else float(value) for value in values]
        scalar = self.scalar(arguments[-1], row)
        return naive_functions.FUNCTIONS[function](Scalar.I64 if scalar is Scalar.I32 else scalar, *values)

    def _case(self, node: ast.Case, row: Row) -> Any:
        for branch in node.branches:
            condition = branch.condition
            if node.subject is not None:
                condition = ast.Binary(Op.EQ, node.subject, condition, node.span)
            if self.value(condition, row) is True:
                return self.value(branch.value, row)
        return None if node.otherwise is None else self.value(node.otherwise, row)

    def _slice(self, node: ast.Slice, row: Row) -> Any:
        items = self.value(node.operand, row)
        bounds = [None if bound is None else self.value(bound, row) for bound in (node.start, node.stop)]
        is_null = any(
            bound is not None and found is None for bound, found in zip((node.start, node.stop), bounds, strict=True)
        )
        return None if items is None or is_null else items[slice(*bounds)]

    def _quantified(self, node: ast.Quantified, row: Row) -> Any:
        items = self.value(node.items, row)
        if items is None:
            return None
        scalar = self.scalar(node.items, row)
        found = [self.value(node.predicate, {**row, node.variable.name: Item(item, scalar)}) for item in items]
        decisive = node.quantifier is Quantifier.ANY
        if decisive in found:
            return decisive
        return None if None in found else not decisive

    def scalar(self, node: ast.Expr, row: Row) -> Scalar:
        """The scalar of a value, of a list that of its items. For a null the answer does not matter."""
        match node:
            case ast.Literal():
                return LITERALS.get(node.kind, Scalar.STRING)
            case ast.Variable():
                bound = row.get(node.name, self)
                if isinstance(bound, Item):
                    return bound.scalar
                return self.declared[node.name].scalar if bound is self else Scalar.STRING
            case ast.PropertyAccess():
                return self._property_scalar(node, row)
            case ast.Cast():
                return type_from_syntax(node.type).scalar
            case ast.Call():
                return self._call_scalar(node, row)
            case ast.Case():
                return self._first_scalar(
                    [branch.value for branch in node.branches] + [node.otherwise or node.branches[0].value], row
                )
            case ast.ListLiteral() | ast.Index() | ast.Slice():
                return self._first_scalar(list(ast.children(node)), row)
            case ast.Negate():
                return self._number_scalar(node.operand, row)
            case ast.Binary(operator=Op.ADD | Op.SUBTRACT | Op.MULTIPLY | Op.DIVIDE | Op.MODULO):
                return self._sum_scalar(node, row)
            case _:
                return Scalar.BOOL

    def _property_scalar(self, node: ast.PropertyAccess, row: Row) -> Scalar:
        column = row.get(f"{node.variable.name}.{node.property.text}")
        if isinstance(column, Item):
            return column.scalar
        match row[node.variable.name]:
            case Node(type=name):
                return self.catalog.nodes[name].properties[node.property.text].type.scalar
            case Edge(type=name):
                return self.catalog.edges[name].properties[node.property.text].type.scalar
            case _:
                return Scalar.I64

    def _call_scalar(self, node: ast.Call, row: Row) -> Scalar:
        fixed = {
            "now": Scalar.DATETIME,
            "date": Scalar.DATE,
            "datetime": Scalar.DATETIME,
            "type": Scalar.STRING,
            "id": Scalar.STRING,
        }
        if node.function in fixed:
            return fixed[node.function]
        if node.function in SAME:
            return self._first_scalar(list(node.arguments), row)
        if node.function in ("if", "date_trunc"):
            return self._first_scalar(list(node.arguments[1:]), row)
        if node.function in ("sqrt", "pow", "log", "round"):
            return Scalar.F64
        is_text = node.function in (
            "lower",
            "upper",
            "trim",
            "substring",
            "replace",
            "split",
            "concat",
            "regex_extract",
        )
        return Scalar.STRING if is_text else Scalar.I64

    def _first_scalar(self, nodes: list[ast.Expr], row: Row) -> Scalar:
        """That of the first typed value; of numbers the widest."""
        known = [self.scalar(node, row) for node in nodes if not _is_null(node)]
        floats = [scalar for scalar in known if scalar.is_float]
        return (floats or known or [Scalar.STRING])[0]

    def _number_scalar(self, node: ast.Expr, row: Row) -> Scalar:
        return Scalar.F64 if self.scalar(node, row).is_float else Scalar.I64

    def _sum_scalar(self, node: ast.Binary, row: Row) -> Scalar:
        sides = [self.scalar(side, row) for side in (node.left, node.right) if not _is_duration(side)]
        if len(sides) == 1:
            return sides[0]
        if sides[0].is_temporal:
            return Scalar.I64
        if sides[0] is Scalar.STRING:
            return Scalar.STRING
        is_float = node.operator is Op.DIVIDE or any(scalar.is_float for scalar in sides)
        return Scalar.F64 if is_float else Scalar.I64

    def _shifted(self, node: ast.Binary, row: Row) -> Any:
        """A date and a duration."""
        duration, other = (node.right, node.left) if _is_duration(node.right) else (node.left, node.right)
        assert isinstance(duration, ast.Call)
        moment, scalar = self.value(other, row), self.scalar(other, row)
        sign = 1 if node.operator is Op.ADD else -1
        if len(duration.arguments) == 1:
            months, rest = parse_duration(str(self.value(duration.arguments[0], row))) or (0, 0)
        else:
            number, unit = (self.value(argument, row) for argument in duration.arguments)
            if number is None:
                return None
            months = number * {"year": 12, "quarter": 3, "month": 1}.get(unit, 0)
            width = {"week": 7 * DAY_MS, "day": DAY_MS, "hour": 3_600_000, "minute": 60_000, "second": 1_000}
            rest = number * width.get(unit, 0)
        if moment is None:
            return None
        if months:
            moment = naive_functions.months_later(scalar, moment, sign * months)
        amount = rest // DAY_MS if scalar is Scalar.DATE else rest
        return naive_functions.later(scalar, moment, sign * amount)

    def _binary(self, node: ast.Binary, row: Row) -> Any:
        if _is_duration(node.left) or _is_duration(node.right):
            return self._shifted(node, row)
        left, right = self.value(node.left, row), self.value(node.right, row)
        if node.operator in (Op.AND, Op.OR):
            decisive = node.operator is Op.OR
            if left is decisive or right is decisive:
                return decisive
            return None if left is None or right is None else not decisive
        if left is None or right is None:
            return None
        match node.operator:
            case Op.IN:
                return _member(left, right)
            case Op.CONTAINS:
                return _member(right, left) if isinstance(left, list) else right in left
            case Op.STARTS_WITH:
                return left.startswith(right)
            case Op.ENDS_WITH:
                return left.endswith(right)
            case Op.ADD | Op.SUBTRACT | Op.MULTIPLY | Op.DIVIDE | Op.MODULO:
                return _arithmetic(node.operator, left, right)
            case _:
                return COMPARISONS[node.operator](left, right)


def _arithmetic(by: Op, left: Any, right: Any) -> Any:
    if by is Op.DIVIDE:
        return None if right == 0 else float(left) / float(right)
    if by is Op.MODULO:
        if right == 0:
            return None
        if isinstance(left, int) and isinstance(right, int):
            return int(math.copysign(1, left)) * (abs(left) % abs(right))
        return math.fmod(left, right)
    return {Op.ADD: operator.add, Op.SUBTRACT: operator.sub, Op.MULTIPLY: operator.mul}[by](left, right)


def _member(item: Any, items: list[Any]) -> bool | None:
    if any(one is not None and one == item for one in items):
        return True
    return None if None in items else False


def _literal(node: ast.Literal) -> Any:
    if node.kind is ast.LiteralKind.DATE:
        return parse_date(str(node.value))
    if node.kind is ast.LiteralKind.DATETIME:
        return parse_datetime(str(node.value))
    return float(node.value) if node.kind is ast.LiteralKind.FLOAT and node.value is not None else node.value


def _is_duration(node: ast.Expr) -> bool:
    return isinstance(node, ast.Call) and node.function == "duration"


def _is_null(node: ast.Expr) -> bool:
    return isinstance(node, ast.Literal) and node.kind is ast.LiteralKind.NULL
