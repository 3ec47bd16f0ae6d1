"""The meaning of an expression in one row, in plain Python: three-valued logic, exact numbers, functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
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
ARITHMETIC = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.DIVIDE, Op.MODULO)
DIGITS = Context(prec=60)
"""Enough digits for every sum and product of two decimals."""
EXACT = (Scalar.DECIMAL, Scalar.DURATION)
"""Scalars whose opposite is of the same."""
CONVERSIONS = {
    "date": Scalar.DATE,
    "datetime": Scalar.DATETIME,
    "time": Scalar.TIME,
    "uuid": Scalar.UUID,
    "duration": Scalar.DURATION,
}
UNITS = {"week": 7 * DAY_MS, "day": DAY_MS, "hour": 3_600_000, "minute": 60_000, "second": 1_000}
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
    """Any shortest path from one node to another: which of several is taken is left open, unless it has nodes."""

    edge: str
    direction: str
    start: Node
    stop: Node
    length: int
    nodes: tuple[str, ...] | None = None

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
            case ast.Member():
                return naive_functions.at(Scalar.JSON, self.value(node.operand, row), node.name.text)
            case ast.Index() if self.scalar(node.operand, row) is Scalar.JSON:
                return naive_functions.at(Scalar.JSON, self.value(node.operand, row), self.value(node.index, row))
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
            case Item():
                # A JSON value of the former stage.
                return naive_functions.at(Scalar.JSON, entity.value, name)
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
        if name in CONVERSIONS and len(values) == 1:
            given = self.scalar(arguments[0], row)
            wanted = CONVERSIONS[name]
            return values[0] if given is wanted else naive_functions.cast(values[0], given, wanted)
        if name == "duration":
            # Beside a date that `maybe` did not find, a month has no length and is not looked at.
            return None if values[0] is None else values[0] * UNITS.get(values[1], 0)
        if name == "decimal":
            return Decimal(values[0])
        if name == "json_set":
            part = _as_json(values[2], self.scalar(arguments[2], row))
            return naive_functions.json_set(Scalar.JSON, *values[:2], part)
        if name == "size" and self.scalar(arguments[0], row) is Scalar.JSON:
            return naive_functions.json_size(Scalar.JSON, values[0])
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
            case ast.Member():
                return Scalar.JSON
            case ast.Index() if self.scalar(node.operand, row) is Scalar.JSON:
                return Scalar.JSON
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
            case Item():
                return Scalar.JSON
            case _:
                return Scalar.I64

    def _call_scalar(self, node: ast.Call, row: Row) -> Scalar:
        fixed = {
            **CONVERSIONS,
            "now": Scalar.DATETIME,
            "type": Scalar.STRING,
            "id": Scalar.STRING,
            "decimal": Scalar.DECIMAL,
            "json": Scalar.JSON,
            "json_set": Scalar.JSON,
        }
        if node.function in fixed:
            return fixed[node.function]
        if node.function in SAME:
            return self._first_scalar(list(node.arguments), row)
        if node.function in ("if", "date_trunc"):
            return self._first_scalar(list(node.arguments[1:]), row)
        if node.function == "round" and self.scalar(node.arguments[0], row) is Scalar.DECIMAL:
            return Scalar.DECIMAL
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
        scalar = self.scalar(node, row)
        return scalar if scalar in EXACT else Scalar.F64 if scalar.is_float else Scalar.I64

    def _sum_scalar(self, node: ast.Binary, row: Row) -> Scalar:
        if self._is_shift(node, row):
            return self.scalar(node.left if _is_duration(node.right) else node.right, row)
        sides = [self.scalar(side, row) for side in (node.left, node.right)]
        if set(sides) & {Scalar.TIME, Scalar.DURATION}:
            return _length_scalar(node.operator, sides)
        if sides[0].is_temporal:
            return Scalar.I64
        if Scalar.DECIMAL in sides and node.operator is not Op.DIVIDE and not self._is_float_sum(node, row):
            return Scalar.DECIMAL
        if sides[0] is Scalar.STRING:
            return Scalar.STRING
        is_float = node.operator is Op.DIVIDE or any(scalar.is_float for scalar in sides)
        return Scalar.F64 if is_float else Scalar.I64

    def _is_float_sum(self, node: ast.Binary, row: Row) -> bool:
        """Whether a float takes part that is no literal: those are the decimals that are written."""
        sides = (node.left, node.right)
        return any(self.scalar(side, row).is_float and not isinstance(side, ast.Literal) for side in sides)

    def _is_shift(self, node: ast.Binary, row: Row) -> bool:
        """Whether a date stands beside ``duration(...)``, whose months are those of the calendar."""
        if _is_duration(node.left) == _is_duration(node.right):
            return False
        return self.scalar(node.left if _is_duration(node.right) else node.right, row).is_temporal

    def _lengths(self, node: ast.Binary, left: Any, right: Any, row: Row) -> Any:
        """Arithmetic with a Duration or a Time."""
        sides = [self.scalar(side, row) for side in (node.left, node.right)]
        if Scalar.DURATION not in sides:
            return left - right
        if sides == [Scalar.DURATION, Scalar.DURATION]:
            if node.operator is Op.DIVIDE:
                return None if right == 0 else left / right
            return naive_functions.length(left + right if node.operator is Op.ADD else left - right)
        if sides[0] is Scalar.DURATION and sides[1].is_numeric:
            if node.operator is Op.DIVIDE:
                return None if right == 0 else naive_functions.multiple(Scalar.DURATION, left, 1 / float(right))
            return naive_functions.multiple(Scalar.DURATION, left, float(right))
        if sides[0].is_numeric:
            return naive_functions.multiple(Scalar.DURATION, right, float(left))
        place = 1 if sides[0] is Scalar.DURATION else 0
        moment, length = (right, left) if place else (left, right)
        length = length if node.operator is Op.ADD else -length
        if sides[place] is Scalar.TIME:
            return (moment + length) % DAY_MS
        start = moment * DAY_MS if sides[place] is Scalar.DATE else moment
        return naive_functions.later(Scalar.DATETIME, start, length)

    def _of_json(self, node: ast.Binary, left: Any, right: Any, row: Row) -> Any:
        """An operator of a JSON value and another value, which is compared as one."""
        sides = [self.scalar(side, row) for side in (node.left, node.right)]
        if node.operator is Op.IN:
            items = [naive_functions.cast(item, sides[1], Scalar.JSON) for item in right]
            return left in items
        if node.operator is Op.CONTAINS and isinstance(left, list):
            return right in [naive_functions.cast(item, sides[0], Scalar.JSON) for item in left]
        left, right = (_as_json(value, side) for value, side in zip((left, right), sides, strict=True))
        if node.operator is Op.CONTAINS:
            return naive_functions.json_contains(Scalar.JSON, left, right)
        if node.operator in (Op.STARTS_WITH, Op.ENDS_WITH):
            whole, part = (naive_functions.cast(value, Scalar.JSON, Scalar.STRING) for value in (left, right))
            return whole.startswith(part) if node.operator is Op.STARTS_WITH else whole.endswith(part)
        if node.operator in (Op.EQ, Op.NE):
            return COMPARISONS[node.operator](left, right)
        order = naive_functions.json_order(Scalar.JSON, left, right)
        return None if order is None else COMPARISONS[node.operator](order, 0)

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
        if node.operator in ARITHMETIC and self._is_shift(node, row):
            return self._shifted(node, row)
        nodes = [_node(side, row) for side in (node.left, node.right)]
        if node.operator in (Op.EQ, Op.NE) and all(isinstance(bound, Node) for bound in nodes):
            return (nodes[0] == nodes[1]) is (node.operator is Op.EQ)
        left, right = self.value(node.left, row), self.value(node.right, row)
        if node.operator in (Op.AND, Op.OR):
            decisive = node.operator is Op.OR
            if left is decisive or right is decisive:
                return decisive
            return None if left is None or right is None else not decisive
        if left is None or right is None:
            return None
        sides = {self.scalar(node.left, row), self.scalar(node.right, row)}
        if Scalar.JSON in sides:
            return self._of_json(node, left, right, row)
        if node.operator in ARITHMETIC:
            if sides & {Scalar.TIME, Scalar.DURATION}:
                return self._lengths(node, left, right, row)
            if Scalar.DECIMAL in sides and not (node.operator is Op.DIVIDE or self._is_float_sum(node, row)):
                left, right = Decimal(left), Decimal(right)
            elif Scalar.DECIMAL in sides:
                left, right = float(left), float(right)
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
        return DIGITS.remainder(left, right) if isinstance(left, Decimal) else math.fmod(left, right)
    if isinstance(left, Decimal):
        return {Op.ADD: DIGITS.add, Op.SUBTRACT: DIGITS.subtract, Op.MULTIPLY: DIGITS.multiply}[by](left, right)
    return {Op.ADD: operator.add, Op.SUBTRACT: operator.sub, Op.MULTIPLY: operator.mul}[by](left, right)


def _as_json(value: Any, given: Scalar) -> str | None:
    """A value, or a list of some, as it is compared with a JSON value."""
    if given is Scalar.JSON:
        return None if value is None else str(value)
    if isinstance(value, list):
        return f"[{','.join(str(naive_functions.cast(item, given, Scalar.JSON)) for item in value)}]"
    found: str | None = naive_functions.cast(value, given, Scalar.JSON)
    return found


def _length_scalar(by: Op, sides: list[Scalar]) -> Scalar:
    """What arithmetic with a Duration or a Time gives."""
    if any(side.is_temporal for side in sides):
        return Scalar.DATETIME
    if set(sides) == {Scalar.TIME, Scalar.DURATION}:
        return Scalar.TIME
    return Scalar.F64 if sides == [Scalar.DURATION, Scalar.DURATION] and by is Op.DIVIDE else Scalar.DURATION


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


def _node(node: ast.Expr, row: Row) -> Any:
    """The node of a variable alone, which is more than its id: nodes of two types may share one."""
    return row.get(node.name) if isinstance(node, ast.Variable) else None
