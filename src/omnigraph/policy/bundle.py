"""Policy bundles: groups of actors, protected branches, and rules that allow or forbid actions.

A bundle is a value. ``read_bundle`` makes it from YAML; ``rules`` turns it into policies of Cedar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from omnigraph.core.actors import Action, Actor, Attribute
from omnigraph.policy.actions import Resource


class Effect(Enum):
    """A rule permits, or forbids what other rules permit."""

    ALLOW = "permit"
    FORBID = "forbid"


class BranchScope(Enum):
    """The branches that a rule is about."""

    ANY = "any"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"


@dataclass(frozen=True, slots=True)
class BranchTest:
    """The test of one branch of a request: by protection, or by patterns such as ``agent/*``."""

    scope: BranchScope = BranchScope.ANY
    patterns: tuple[str, ...] = ()

    @property
    def is_any(self) -> bool:
        return self.scope is BranchScope.ANY and not self.patterns


ANY_BRANCH = BranchTest()


@dataclass(frozen=True, slots=True)
class Rule:
    """Allows or forbids some actions to a group. ``queries`` limits ``invoke_query`` to stored queries of that name."""

    id: str
    effect: Effect
    group: str
    actions: tuple[Action, ...]
    branch: BranchTest = ANY_BRANCH
    target_branch: BranchTest = ANY_BRANCH
    queries: tuple[str, ...] | None = None


class AttributeType(Enum):
    """Types of an actor's attributes, as the policy language calls them."""

    STRING = "String"
    LONG = "Long"
    BOOL = "Bool"
    STRINGS = "Set<String>"
    LONGS = "Set<Long>"

    def holds(self, value: Attribute) -> bool:
        """True if a value has this type. The empty set has every type of a set."""
        match self:
            case AttributeType.STRING:
                return isinstance(value, str)
            case AttributeType.BOOL:
                return isinstance(value, bool)
            case AttributeType.LONG:
                return isinstance(value, int) and not isinstance(value, bool)
            case AttributeType.STRINGS:
                return isinstance(value, frozenset) and all(isinstance(item, str) for item in value)
            case AttributeType.LONGS:
                return isinstance(value, frozenset) and all(isinstance(item, int) for item in value)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A validated bundle. ``digest`` is that of its text, ``resource`` what its rules are about."""

    digest: str
    resource: Resource
    groups: Mapping[str, frozenset[str]]
    protected_branches: frozenset[str]
    rules: tuple[Rule, ...]
    attributes: Mapping[str, AttributeType] = field(default_factory=dict)
    """The attributes of actors that data rules may test."""
    actors: Mapping[str, Mapping[str, Attribute]] = field(default_factory=dict)
    """Attributes that the bundle itself gives to actors; they take precedence over those of a token."""
    data_rules: str | None = None
    """Rules about data, in the policy language; None if there are none."""

    def groups_of(self, actor: Actor) -> frozenset[str]:
        """The groups of the bundle that an actor belongs to: by its id, or by the groups of its token."""
        listed = (name for name, members in self.groups.items() if actor.id in members)
        return frozenset([*listed, *(actor.groups & self.groups.keys())])

    def attributes_of(self, actor: Actor) -> dict[str, Attribute]:
        """The declared attributes of an actor. Those that are not declared are left out."""
        known = {**actor.attributes, **self.actors.get(actor.id, {})}
        return {name: value for name, value in known.items() if name in self.attributes}
