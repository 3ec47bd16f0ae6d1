"""Actors, and the actions that a policy decides about. A commit records the id of its actor."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from enum import Enum
from typing import Final

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import Hint, PolicyDenied, UsageError

Attribute = str | int | bool | frozenset[str] | frozenset[int]
"""A fact about an actor that data rules can test."""

LONG_MIN: Final = -(2**63)
LONG_MAX: Final = 2**63 - 1
"""Integers of attributes have 64 bits, as those of policies."""


class Action(Enum):
    """The verbs that a policy allows or denies."""

    READ = "read"
    EXPORT = "export"
    CHANGE = "change"
    SCHEMA_APPLY = "schema_apply"
    BRANCH_CREATE = "branch_create"
    BRANCH_DELETE = "branch_delete"
    BRANCH_MERGE = "branch_merge"
    ADMIN = "admin"
    INVOKE_QUERY = "invoke_query"
    GRAPH_LIST = "graph_list"


@dataclass(frozen=True, slots=True)
class Actor:
    """A person or program, as its token names it: the id, the groups and the attributes.

    Attributes are texts, integers, truth values, or collections of texts or of integers.
    """

    id: str
    groups: frozenset[str] = frozenset()
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: object = self.id
        if not isinstance(given, str) or not given.strip():
            raise UsageError(f"the id of an actor is a text that is not blank, not {self.id!r}", hint='like "ann"')
        groups: Collection[object] = self.groups
        if isinstance(groups, str) or not all(isinstance(name, str) for name in groups):
            raise UsageError(f"the groups of an actor are a set of names, not {self.groups!r}", hint='like {"staff"}')
        facts: object = self.attributes
        if not isinstance(facts, Mapping):
            raise UsageError(f"the attributes of an actor are a dict, not {facts!r}", hint='like {"team": "red"}')
        known = {name: _attribute(name, value) for name, value in facts.items()}
        object.__setattr__(self, "groups", frozenset(self.groups))
        object.__setattr__(self, "attributes", dict(sorted(known.items())))

    def __hash__(self) -> int:
        return hash((self.id, self.groups, tuple(self.attributes.items())))

    def __str__(self) -> str:
        return self.id


Caller = str | Actor | None
"""The actor of a call: an id, an actor with groups and attributes, or None for the actor of the graph."""


@dataclass(frozen=True, slots=True)
class Need:
    """An action that a call needs, on the branches that it concerns; ``query`` is the stored query to invoke."""

    action: Action
    branch: str | None = None
    target_branch: str | None = None
    query: str | None = None

    def __str__(self) -> str:
        branch = "" if self.branch is None else f" on branch {self.branch!r}"
        target = "" if self.target_branch is None else f" targeting branch {self.target_branch!r}"
        return f"action {self.action.value!r}{branch}{target}"

    def denied(self, reason: str, actor: Actor | None, hint: str | Hint | None = None) -> PolicyDenied:
        """The error of a denial; the reason follows the action and the branches."""
        return PolicyDenied(
            f"policy denied {self}{reason}",
            hint=hint,
            actor=None if actor is None else actor.id,
            action=self.action.value,
            branch=self.branch,
            target_branch=self.target_branch,
        )


def actor_of(given: Caller) -> Actor | None:
    """The actor of an argument: an id stands for an actor without groups and attributes of its own."""
    return Actor(given) if isinstance(given, str) else given


def actor_id(given: Caller) -> str | None:
    """The name of an actor, as commits record it."""
    return given.id if isinstance(given, Actor) else given


def _attribute(name: object, value: object) -> Attribute:
    if isinstance(name, str):
        if isinstance(value, str | bool) or (isinstance(value, int) and _is_long(value)):
            return value
        items = tuple(value) if isinstance(value, list | tuple | set | frozenset) else None
        if items is not None and (all(isinstance(item, str) for item in items) or all(map(_is_long, items))):
            return frozenset(items)
    raise UsageError(
        f"{value!r} cannot be the attribute {name!r} of an actor",
        hint="attributes are texts, integers of 64 bits, truth values, or lists of texts or of integers",
    )


def _is_long(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and LONG_MIN <= value <= LONG_MAX
