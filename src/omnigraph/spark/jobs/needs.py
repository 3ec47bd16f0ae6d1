"""Columns and conditions that a query needs of each table, read from Spark's optimised plan.

Spark moves projections and filters down to the tables but does not hand them to a data source written in Python. They
stand directly above the table in the plan:

    Project [name]              the columns that the rest of the query uses
    +- Filter (age > 30)        a condition on this table alone
       +- RelationV2 Person

Everything here is an upper bound: an unknown node above a table needs all columns, and an unknown condition no rows
less, because Spark evaluates its filters again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

MARK = "__relation"
"""The option by which a table of a query is recognised in its plan. Spark's own options may begin with underscores."""

_LEAVES = ("DataSourceV2Relation", "DataSourceV2ScanRelation")
_COMPARISONS: Final = {
    "EqualTo": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "EqualNullSafe": "<=>",
}
_TEXT_TESTS: Final = {"StartsWith": "startswith", "EndsWith": "endswith", "Contains": "contains"}
_WHOLE = ("IntegerType", "LongType", "ShortType", "ByteType")


Leaf = tuple[Any, set[str] | None, list[Any]]
"""A table in a plan, the names of the columns used above it (None for all), and the conditions above it."""


@dataclass
class Needs:
    """The needs of one table, for all of its uses. ``conditions`` has those of each use, in Spark SQL."""

    columns: set[str] = field(default_factory=set)
    conditions: list[list[str]] = field(default_factory=list)

    def where(self, accepted: Callable[[str], bool]) -> str | None:
        """The condition that every use implies, made of conjuncts that are accepted; None if a use has none."""
        uses = []
        for conjuncts in self.conditions:
            kept = [text for text in conjuncts if accepted(text)]
            if not kept:
                return None
            uses.append(" AND ".join(f"({text})" for text in kept))
        texts = list(dict.fromkeys(uses))
        return " OR ".join(f"({text})" for text in texts) if texts else None


def plan_needs(frame: Any) -> dict[str, Needs]:
    """The needs of every marked table, by mark. A table that the plan does not read is not among them."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    found: dict[str, Needs] = {}
    for root in (plan, *_items(plan.subqueriesAll())):
        for leaf, names, conjuncts in _leaves(root, None, []):
            relation = leaf.relation() if _class(leaf) == _LEAVES[1] else leaf
            mark = relation.options().get(MARK)
            if mark is None:
                continue
            needs = found.setdefault(mark, Needs())
            output = {attribute.name() for attribute in _items(leaf.output())}
            needs.columns |= output if names is None else output & names
            texts = (condition_text(conjunct) for conjunct in conjuncts)
            needs.conditions.append([text for text in texts if text is not None])
    return found


def _leaves(node: Any, names: set[str] | None, conjuncts: list[Any]) -> Iterator[Leaf]:
    """Tables below a node; ``names`` are the columns used above it, None for all."""
    kind = _class(node)
    if kind in _LEAVES:
        yield node, names, conjuncts
        return
    match kind:
        case "Project" | "Aggregate":
            names, conjuncts = _references(node), []
        case "Filter":
            names = None if names is None else names | _references(node)
            conjuncts = [*conjuncts, *_conjuncts(node.condition())]
        case _:
            names, conjuncts = None, []
    for child in _items(node.children()):
        yield from _leaves(child, names, conjuncts)


def condition_text(expression: Any) -> str | None:
    """A condition over columns and constants in Spark SQL; None for one that the option ``where`` does not take."""
    kind = _class(expression)
    match kind:
        case "AttributeReference":
            return f"`{expression.name().replace('`', '``')}`"
        case "Literal":
            return _constant(expression)
        case "And" | "Or":
            return _joined(f" {kind.upper()} ", expression.left(), expression.right())
        case "Not":
            inner = condition_text(expression.child())
            return None if inner is None else f"NOT ({inner})"
        case "IsNull" | "IsNotNull":
            inner = condition_text(expression.child())
            return None if inner is None else f"{inner} IS {'NOT ' if kind == 'IsNotNull' else ''}NULL"
        case "In":
            values = [condition_text(item) for item in _items(expression.list())]
            tested = condition_text(expression.value())
            known = [value for value in values if value is not None]
            return None if tested is None or len(known) < len(values) else f"{tested} IN ({', '.join(known)})"
    if kind in _COMPARISONS:
        return _joined(f" {_COMPARISONS[kind]} ", expression.left(), expression.right(), in_parentheses=False)
    if kind in _TEXT_TESTS:
        inner = _joined(", ", expression.left(), expression.right(), in_parentheses=False)
        return None if inner is None else f"{_TEXT_TESTS[kind]}({inner})"
    return None


def _joined(sign: str, left: Any, right: Any, *, in_parentheses: bool = True) -> str | None:
    sides = [condition_text(left), condition_text(right)]
    if sides[0] is None or sides[1] is None:
        return None
    return sign.join(f"({side})" if in_parentheses else str(side) for side in sides)


def _constant(literal: Any) -> str | None:
    kind, value = literal.dataType().getClass().getSimpleName().rstrip("$"), literal.value()
    if value is None:
        return None
    if kind in _WHOLE:
        return str(value)
    if kind == "BooleanType":
        return str(value).upper()
    if kind == "DateType":
        text: str = literal.sql()
        return text
    # Quotes and backslashes have rules of their own in Spark SQL.
    text = str(value.toString()) if kind == "StringType" else "'"
    return None if "'" in text or "\\" in text else f"'{text}'"


def _conjuncts(condition: Any) -> Iterator[Any]:
    if _class(condition) == "And":
        yield from _conjuncts(condition.left())
        yield from _conjuncts(condition.right())
    else:
        yield condition


def _references(node: Any) -> set[str]:
    return {attribute.name() for attribute in _items(node.references().toSeq())}


def _class(node: Any) -> str:
    name: str = node.getClass().getSimpleName()
    return name


def _items(sequence: Any) -> Iterator[Any]:
    """The items of a sequence of Scala."""
    for place in range(sequence.size()):
        yield sequence.apply(place)
