"""Translation of residuals to predicates of the query IR, for one type.

Predicates are two-valued: a test of a property that may be null is guarded, so that it is false for null, as a rule
that tests ``has`` first expects. An expression outside the translated language raises ``Untranslatable``: a rule that
cannot be applied must not be ignored.

The same walk checks rules before any actor is known: subexpressions that do not read the entity are then ``OPAQUE``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from omnigraph.core.operators import BinaryOperator as Op
from omnigraph.policy.data.entity_types import attribute_type
from omnigraph.policy.data.partial import Node
from omnigraph.query import expressions as ir
from omnigraph.query.standalone.formula import OWNER
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.types import PropertyType

OPAQUE: Final[Node] = {"Opaque": True}
"""A value that only an actor determines."""

UNKNOWN: Final = ir.Parameter("#", ir.BOOL)
"""The truth value of an opaque expression: neither true nor false, so that nothing is folded."""

_ORDER: Final = {"<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_RESOURCES: Final[tuple[Node, ...]] = ({"unknown": [{"Value": "resource"}]}, {"Var": "resource"})
_KINDS: Final[Mapping[str, type]] = {"String": str, "Long": int, "Bool": bool}


class Untranslatable(Exception):
    """An expression of a rule has no form in the query IR."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A readable attribute of the entity: its expression, its type in the policy language, and whether it is null."""

    expression: ir.Expr
    kind: str
    nullable: bool = False

    @property
    def is_present(self) -> ir.Expr:
        return ir.IsNull(self.expression, negated=True) if self.nullable else ir.TRUE

    def guarded(self, test: ir.Expr) -> ir.Expr:
        return both(self.is_present, test)


@dataclass(frozen=True)
class Translator:
    """Translates expressions about an entity of one type. Predicates read properties of ``OWNER``."""

    entity: Entity
    name: str
    """The name of the type in rules."""

    def predicate(self, node: Node) -> ir.Expr:
        """The predicate of an expression with a truth value."""
        if node == OPAQUE:
            return UNKNOWN
        operator, given = _only(node)
        match operator:
            case "Value" if isinstance(given, bool):
                return ir.TRUE if given else ir.FALSE
            case "&&":
                left = self.predicate(given["left"])
                # The right side may be unevaluated where the left one decides: a rule guards what it reads.
                return ir.FALSE if left == ir.FALSE else both(left, self.predicate(given["right"]))
            case "||":
                left = self.predicate(given["left"])
                return ir.TRUE if left == ir.TRUE else either(left, self.predicate(given["right"]))
            case "!":
                return negation(self.predicate(given["arg"]))
            case "if-then-else":
                return self._choice(given)
            case "is" if _is_resource(given["left"]) and "in" not in given:
                return ir.TRUE if given["entity_type"] == self.name else ir.FALSE
            case "has" if _is_resource(given["left"]) and isinstance(given.get("attr"), str):
                attribute = self._attributes.get(given["attr"])
                return ir.FALSE if attribute is None else attribute.is_present
            case "==":
                return self._equal(given["left"], given["right"])
            case "!=":
                return negation(self._equal(given["left"], given["right"]))
            case "<" | "<=" | ">" | ">=":
                return self._ordered(_ORDER[operator], given["left"], given["right"])
            case "contains" | "containsAll" | "containsAny":
                return self._contains(operator, given["left"], given["right"])
            case "like":
                return self._like(given)
            case ".":
                attribute = self._attribute(node)
                if attribute is not None and attribute.kind == "Bool":
                    return attribute.guarded(attribute.expression)
        raise Untranslatable(f"`{operator}` cannot be applied to entities")

    def has_attribute(self, name: str) -> bool:
        """True if a rule can test an attribute of entities of the type."""
        return name in self._attributes

    @cached_property
    def _attributes(self) -> Mapping[str, Attribute]:
        found = {ID: Attribute(ir.EntityId(OWNER, is_text=True), "String")}
        if isinstance(self.entity, EdgeType):
            found |= {end: Attribute(ir.Property(OWNER, end, ir.TEXT), "String") for end in (SRC, DST)}
        for name, property_ in self.entity.properties.items():
            kind = attribute_type(property_.type)
            if kind is not None and name not in found:
                read = ir.Property(OWNER, name, property_.type)
                found[name] = Attribute(read, kind, property_.type.nullable)
        return found

    def _attribute(self, node: Node) -> Attribute | None:
        """The attribute that an expression reads; None if it is no attribute of the entity."""
        operator, given = _only(node)
        if operator != "." or not _is_resource(given["left"]):
            return None
        found = self._attributes.get(given["attr"])
        if found is None:
            raise Untranslatable(f"{self.name} has no attribute {given['attr']!r} that a rule can test")
        return found

    def _choice(self, given: Mapping[str, Any]) -> ir.Expr:
        test = self.predicate(given["if"])
        if test in (ir.TRUE, ir.FALSE):
            return self.predicate(given["then" if test == ir.TRUE else "else"])
        then, otherwise = self.predicate(given["then"]), self.predicate(given["else"])
        return either(both(test, then), both(negation(test), otherwise))

    def _equal(self, left: Node, right: Node) -> ir.Expr:
        if _is_resource(right):
            left, right = right, left
        if _is_resource(left):
            return self._is_entity(right)
        return self._compared(Op.EQ, left, right, ("String", "Long", "Bool"))

    def _is_entity(self, node: Node) -> ir.Expr:
        """The test that the entity is a given one, which its id decides."""
        if node == OPAQUE:
            return UNKNOWN
        operator, given = _only(node)
        if operator != "Value" or not isinstance(given, dict) or "__entity" not in given:
            raise Untranslatable("an entity can only be compared with one that the rule names")
        named = given["__entity"]
        if named["type"] != self.name:
            return ir.FALSE
        return ir.Compare(Op.EQ, ir.EntityId(OWNER, is_text=True), ir.Constant(named["id"], ir.TEXT))

    def _ordered(self, operator: Op, left: Node, right: Node) -> ir.Expr:
        return self._compared(operator, left, right, ("Long",))

    def _compared(self, operator: Op, left: Node, right: Node, kinds: tuple[str, ...]) -> ir.Expr:
        """The comparison of an attribute with a value, or with another attribute."""
        sides = self._attribute(left), self._attribute(right)
        known = [side for side in sides if side is not None]
        if not known or any(side.kind not in kinds for side in known) or len({side.kind for side in known}) > 1:
            raise Untranslatable(f"`{operator.value}` compares attributes of the types {', '.join(kinds)} with values")
        values = [
            side.expression if side is not None else _constant(node, known[0].kind)
            for side, node in zip(sides, (left, right), strict=True)
        ]
        test: ir.Expr = ir.Compare(operator, values[0], values[1])
        for side in known:
            test = side.guarded(test)
        return test

    def _contains(self, operator: str, left: Node, right: Node) -> ir.Expr:
        items, other = self._attribute(left), self._attribute(right)
        if items is not None and other is None and items.kind.startswith("Set<"):
            kind = items.kind[4:-1]
            wanted = [right] if operator == "contains" else _items(right)
            tests = [ir.Member(_constant(item, kind), items.expression) for item in wanted]
            return items.guarded((either if operator == "containsAny" else both)(*tests))
        if other is not None and items is None and operator == "contains" and other.kind in _KINDS:
            return other.guarded(ir.Member(other.expression, _constants(_items(left), other.kind)))
        if other is not None and items is None and operator == "containsAny":
            return self._contains(operator, right, left)
        raise Untranslatable(
            f"`{operator}` needs a list of the entity and a value, or a set of values and an attribute"
        )

    def _like(self, given: Mapping[str, Any]) -> ir.Expr:
        attribute, pattern = self._attribute(given["left"]), given["pattern"]
        if attribute is None or attribute.kind != "String":
            raise Untranslatable("`like` tests an attribute of the entity")
        is_wild = [part == "Wildcard" for part in pattern]
        text = ir.Constant("".join(part["Literal"] for part in pattern if part != "Wildcard"), ir.TEXT)
        inner = is_wild[1:-1]
        if any(inner):
            raise Untranslatable("`like` takes `*` at the beginning and at the end of a pattern only")
        starts, ends = bool(is_wild) and is_wild[0], bool(is_wild) and is_wild[-1]
        if not starts and not ends:
            return attribute.guarded(ir.Compare(Op.EQ, attribute.expression, text))
        operator = Op.CONTAINS if starts and ends else Op.ENDS_WITH if starts else Op.STARTS_WITH
        return attribute.guarded(ir.TextMatch(operator, attribute.expression, text))


def _only(node: Node) -> tuple[str, Any]:
    ((operator, given),) = node.items()
    return operator, given


def _is_resource(node: object) -> bool:
    return node in _RESOURCES


def _items(node: Node) -> list[Node]:
    """The items of a set of values."""
    if node == OPAQUE:
        return [OPAQUE]
    operator, given = _only(node)
    if operator != "Set":
        raise Untranslatable("a set of values is expected")
    return list(given)


def _constant(node: Node, kind: str) -> ir.Expr:
    """A value of a type of the policy language."""
    type_ = {"String": ir.TEXT, "Long": ir.INTEGER, "Bool": ir.CERTAIN_BOOL}[kind]
    if node == OPAQUE:
        return ir.Parameter("#", type_)
    operator, value = _only(node)
    # A truth value is an integer for isinstance, and none for a rule.
    if operator != "Value" or not isinstance(value, str | int) or type(value) is not _KINDS[kind]:
        raise Untranslatable(f"a value of the type {kind} is expected")
    return ir.Constant(value, type_)


def _constants(nodes: Iterable[Node], kind: str) -> ir.Expr:
    items = [_constant(node, kind) for node in nodes]
    type_ = PropertyType({"String": ir.TEXT, "Long": ir.INTEGER, "Bool": ir.CERTAIN_BOOL}[kind].scalar, is_list=True)
    known: tuple[ir.ConstantValue, ...] = tuple(item.value for item in items if isinstance(item, ir.Constant))
    return ir.Constant(known, type_) if len(known) == len(items) else ir.Parameter("#", type_)


def both(*tests: ir.Expr) -> ir.Expr:
    """The conjunction; true if there are none."""
    if ir.FALSE in tests:
        return ir.FALSE
    joined = ir.conjunction(tests) or ir.TRUE
    if not isinstance(joined, ir.Logic) or joined.operator is not Op.AND:
        return joined
    # A rule tests what it reads, and so does the translation.
    return ir.conjunction(tuple(dict.fromkeys(joined.operands))) or ir.TRUE


def either(*tests: ir.Expr) -> ir.Expr:
    """The disjunction; false if there are none."""
    if ir.TRUE in tests:
        return ir.TRUE
    left = tuple(dict.fromkeys(test for test in tests if test != ir.FALSE))
    return ir.FALSE if not left else left[0] if len(left) == 1 else ir.Logic(Op.OR, left)


def negation(test: ir.Expr) -> ir.Expr:
    """The negation of a predicate that is never null."""
    match test:
        case ir.TRUE:
            return ir.FALSE
        case ir.FALSE:
            return ir.TRUE
        case ir.Not(operand):
            return operand
        case _:
            return ir.Not(test)
