"""Checks of data rules before any actor is known: each rule must be one that can be applied to every caller.

A rule that could fail when it is evaluated is refused, because the policy language skips a failing rule, and a skipped
``forbid`` would open what it closes. So arithmetic, which can overflow, and functions that parse texts are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.core.suggestions import did_you_mean
from omnigraph.policy.cedar_text import NAMESPACE
from omnigraph.policy.data.entity_types import READ_PROPERTY
from omnigraph.policy.data.partial import Node, condition
from omnigraph.policy.data.translate import OPAQUE, Translator, Untranslatable
from omnigraph.query.expressions import FALSE

_FREE: Final = frozenset(
    ("Value", "Var", "Set", ".", "has", "is", "in", "like", "&&", "||", "!", "if-then-else", "==", "!=", "<", "<=", ">",
     ">=", "contains", "containsAll", "containsAny", "isEmpty")
)  # fmt: skip
"""Operators that never fail on operands of the right types, which strict validation proves."""

_RESOURCE: Final[Node] = {"Var": "resource"}


@dataclass(frozen=True, slots=True)
class DataRule:
    """One policy of the rules about data, in its JSON form."""

    policy_id: str
    name: str
    """The annotation ``@id``, or the position in the file."""
    policy: Node

    @property
    def conditions(self) -> tuple[Node, ...]:
        """The clauses, and the test of the entity in the head; each must hold."""
        return (*self._head(), *map(condition, self.policy["conditions"]))

    def _head(self) -> Iterator[Node]:
        head = self.policy["resource"]
        match head["op"]:
            case "==":
                yield {"==": {"left": _RESOURCE, "right": {"Value": {"__entity": head["entity"]}}}}
            case "is":
                yield {"is": {"left": _RESOURCE, **{key: head[key] for key in ("entity_type", "in") if key in head}}}
            case "in":
                yield {"in": {"left": _RESOURCE, "right": OPAQUE}}

    @property
    def names_properties(self) -> bool:
        """True if the rule names the action ``read_property``."""
        return READ_PROPERTY in self._actions()

    @property
    def decides_properties(self) -> bool:
        return self.policy["action"]["op"] == "All" or self.names_properties

    def _actions(self) -> Iterator[str]:
        head = self.policy["action"]
        for entity in (*head.get("entities", ()), *([head["entity"]] if "entity" in head else ())):
            yield entity["id"]


def read_rules(parsed: Mapping[str, Any]) -> tuple[DataRule, ...]:
    """The rules of a parsed text."""
    found = parsed["staticPolicies"]
    ordered = sorted(found.items(), key=lambda item: int(item[0].removeprefix("policy")))
    return tuple(
        DataRule(id_, policy.get("annotations", {}).get("id") or f"number {place}", policy)
        for place, (id_, policy) in enumerate(ordered, 1)
    )


def problems_of(rules: tuple[DataRule, ...], groups: Collection[str]) -> list[str]:
    """The problems that rules have under every schema."""
    known: set[str] = set()
    found: list[str] = []
    for rule in rules:
        if rule.name in known:
            found.append(f"rule {rule.name!r} is there twice")
        known.add(rule.name)
        found += [f"rule {rule.name!r} {problem}" for problem in _problems(rule, groups)]
    return found


def _problems(rule: DataRule, groups: Collection[str]) -> Iterator[str]:
    for operator in dict.fromkeys(_operators(rule.policy["conditions"])):
        if operator not in _FREE:
            yield f"has `{operator}`, which can fail or cannot be applied to entities"
    for group in dict.fromkeys(_groups(rule.policy)):
        if group not in groups:
            hint = did_you_mean(group, groups)
            yield f"names the group {group!r}, which the bundle does not have{'; ' + hint if hint else ''}"
    if rule.policy["resource"]["op"] == "in" or "in" in rule.policy["resource"]:
        yield "has `resource in`, but no entity contains another"
    if rule.decides_properties and any(map(_needs_entity, rule.conditions)):
        yield f"tests the entity, so it cannot decide about {READ_PROPERTY}: name its actions"


def _operators(node: object) -> Iterator[str]:
    """The operators of expressions; the values inside of literals and patterns are none."""
    if isinstance(node, list):
        for item in node:
            yield from _operators(item)
    elif isinstance(node, dict):
        if "kind" in node and "body" in node:
            yield from _operators(node["body"])
            return
        ((operator, given),) = node.items()
        yield operator
        if operator == "Set":
            yield from _operators(given)
        elif isinstance(given, dict) and operator != "Value":
            for name, part in given.items():
                if name not in ("attr", "pattern", "entity_type"):
                    yield from _operators(part)
        elif isinstance(given, list):
            yield from _operators(given)


def _groups(node: object) -> Iterator[str]:
    """The groups that a policy names."""
    if isinstance(node, list):
        for item in node:
            yield from _groups(item)
    elif isinstance(node, dict):
        if node.get("type") == f"{NAMESPACE}::Group" and isinstance(node.get("id"), str):
            yield node["id"]
        for part in node.values():
            yield from _groups(part)


def _reads_entity(node: object) -> bool:
    if node == _RESOURCE:
        return True
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return any(map(_reads_entity, parts))


def _needs_entity(node: object) -> bool:
    """True if an expression needs more than the type of the entity."""
    if isinstance(node, dict) and "is" in node and node["is"]["left"] == _RESOURCE:
        return False
    if node == _RESOURCE:
        return True
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return any(map(_needs_entity, parts))


def opaque(node: Any) -> Any:
    """An expression with everything that does not read the entity replaced by a value that an actor determines."""
    if isinstance(node, dict):
        if _is_expression(node) and not _reads_entity(node):
            return node if isinstance(node.get("Value"), bool) else OPAQUE
        return {name: opaque(part) for name, part in node.items()}
    return node


def _is_expression(node: Mapping[str, Any]) -> bool:
    """Operands are in a dict of their own, with names such as ``left``; an expression has one key, its operator."""
    return len(node) == 1 and next(iter(node)) in _FREE


def unfit(rule: DataRule, translators: Collection[Translator]) -> Iterator[str]:
    """The reasons for which a rule cannot be applied to the types of a catalog."""
    yield from _unknown_attributes(rule, translators)
    yield from _untranslatable(rule, translators)


def _unknown_attributes(rule: DataRule, translators: Collection[Translator]) -> Iterator[str]:
    """A test of an attribute that no entity has is never true, so a ``forbid`` with a renamed one would be inert."""
    head = rule.policy["resource"].get("entity_type")
    concerned = [translator for translator in translators if head in (None, translator.name)]
    for name in dict.fromkeys(_tested(rule.policy["conditions"])):
        if not any(translator.has_attribute(name) for translator in concerned):
            yield f"tests {name!r}, which no type has as an attribute of rules"


def _tested(node: object) -> Iterator[str]:
    """The attributes of the entity that an expression tests or reads."""
    if isinstance(node, list):
        for item in node:
            yield from _tested(item)
    elif isinstance(node, dict):
        for operator in ("has", "."):
            given = node.get(operator)
            if isinstance(given, dict) and given.get("left") == _RESOURCE:
                yield given["attr"]
        for part in node.values():
            yield from _tested(part)


def _untranslatable(rule: DataRule, translators: Collection[Translator]) -> Iterator[str]:
    for translator in translators:
        try:
            for node in rule.conditions:
                if translator.predicate(opaque(node)) == FALSE:
                    # The type is not one of the rule's, and its attributes need not exist.
                    break
        except Untranslatable as problem:
            yield str(problem)
