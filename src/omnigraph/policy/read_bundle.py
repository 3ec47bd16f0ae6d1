"""Reading bundles from YAML. The form is closed: every key and value that is not known is a problem.

All problems of a text are reported together, each with its place.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from omnigraph.core.actors import Action, Actor, Attribute
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import InputError, NotFoundError, PolicyInvalid, UsageError
from omnigraph.lang.yaml_text import parse_yaml
from omnigraph.policy.actions import ACTIONS, Resource
from omnigraph.policy.bundle import ANY_BRANCH, AttributeType, BranchScope, BranchTest, Bundle, Effect, Rule

VERSION: Final = 1
ROWS_FILE: Final = "rows.cedar"
"""Rules about data: the file of this name beside the bundle."""

BUNDLE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Bytes of one bundle or file of data rules. A larger one is no policy that people maintain."""

_KEYS: Final = (
    "version", "groups", "protected_branches", "rules", "token_groups", "attributes", "actors", "data_rules",
)  # fmt: skip
_GRANT_KEYS: Final = (
    "actors", "actions", "branch_scope", "target_branch_scope", "branch_patterns", "target_branch_patterns", "queries",
)  # fmt: skip


def read_bundle(path: str | os.PathLike[str], resource: Resource | None = None) -> Bundle:
    """The bundle in a file, with the data rules in the file ``rows.cedar`` beside it, if there is one."""
    place = Path(path)
    rows = place.parent / ROWS_FILE
    rules = _text(rows) if rows.exists() else None
    return parse_bundle(_content(place), os.fspath(path), resource, rules)


def parse_bundle(
    content: str | bytes, name: str = "the bundle", resource: Resource | None = None, data_rules: str | None = None
) -> Bundle:
    """The bundle of a text; raises PolicyInvalid with all problems.

    Without a ``resource`` the actions decide whether the bundle is one for graphs or for the server.
    """
    reader = _Reader(name)
    try:
        parsed = parse_yaml(content, name)
    except InputError as error:
        raise PolicyInvalid(error.message, path=name) from error
    raw = content.encode() if isinstance(content, str) else content
    digest = hashlib.sha256(raw + b"\0" + (data_rules or "").encode()).hexdigest()
    bundle = reader.bundle(parsed, digest, resource, data_rules)
    reader.finish()
    return bundle


def _text(path: Path) -> str:
    try:
        return _content(path).decode("utf-8")
    except UnicodeDecodeError as error:
        # A text with replaced characters would be another rule.
        raise PolicyInvalid(f"{os.fspath(path)} is not UTF-8: {error.reason} at byte {error.start}") from error


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(BUNDLE_BYTES_MAX + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no policy file {os.fspath(path)!r}", path=os.fspath(path)) from error
    except OSError as error:
        raise UsageError(f"{os.fspath(path)!r} cannot be read: {error.strerror or error}") from error
    if len(content) > BUNDLE_BYTES_MAX:
        raise PolicyInvalid(f"{os.fspath(path)} has more than {BUNDLE_BYTES_MAX:,} bytes", hint="divide the policy")
    return content


@dataclass
class _Reader:
    """Collects the problems of one text while it reads."""

    name: str
    problems: list[str] = field(default_factory=list)

    def finish(self) -> None:
        if self.problems:
            listed = "".join(f"\n  {problem}" for problem in self.problems)
            count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            raise PolicyInvalid(f"{self.name} is no valid policy, {count}:{listed}", path=self.name)

    def bundle(self, parsed: object, digest: str, resource: Resource | None, data_rules: str | None) -> Bundle:
        top = self._closed(parsed, "the file", _KEYS)
        version = top.get("version")
        if version != VERSION or isinstance(version, bool):
            self._wrong("version", f"must be {VERSION}, not {version!r}")
        groups = self._groups(top.get("groups"), self._names(top.get("token_groups"), "token_groups"))
        rules = self._rules(top.get("rules"), groups)
        attributes = self._attributes(top.get("attributes"))
        found = Bundle(
            digest,
            self._resource(rules, resource),
            groups,
            frozenset(self._names(top.get("protected_branches"), "protected_branches")),
            rules,
            attributes,
            self._actors(top.get("actors"), attributes),
            self._data_rules(top, data_rules),
        )
        if found.data_rules is not None and found.resource is Resource.SERVER:
            self._wrong("the file", "is about the server, which has no data to write rules about")
        return found

    def _data_rules(self, top: Mapping[str, Any], beside: str | None) -> str | None:
        """The rules about data: a text of the bundle, or the file beside it."""
        if "data_rules" not in top:
            return beside
        inside = top["data_rules"]
        if not isinstance(inside, str):
            self._wrong("data_rules", f"must be a text, not {inside!r}")
        if beside is not None:
            self._wrong("data_rules", f"is given, and the file {ROWS_FILE} is there too")
        return str(inside)

    def _groups(self, parsed: object, of_tokens: Iterable[str]) -> dict[str, frozenset[str]]:
        groups = {name: frozenset[str]() for name in of_tokens}
        for name, members in self._mapping(parsed, "groups").items():
            if not name.strip():
                self._wrong("groups", "has a blank name")
            listed = self._names(members, f"groups.{name}")
            if not listed and isinstance(members, list | None):
                self._wrong(f"groups.{name}", "has no actors")
            groups[name] = frozenset(listed)
        return groups

    def _rules(self, parsed: object, groups: Mapping[str, frozenset[str]]) -> tuple[Rule, ...]:
        if not isinstance(parsed, list | None):
            self._wrong("rules", f"must be a list of rules, not {parsed!r}")
            return ()
        rules: dict[str, Rule] = {}
        for number, item in enumerate(parsed or ()):
            rule = self._rule(item, f"rules[{number}]", groups)
            if rule is not None and rule.id in rules:
                self._wrong(f"rules[{number}].id", f"{rule.id!r} is the id of two rules")
            elif rule is not None:
                rules[rule.id] = rule
        return tuple(rules.values())

    def _rule(self, parsed: object, place: str, groups: Mapping[str, frozenset[str]]) -> Rule | None:
        known = self._closed(parsed, place, ("id", "allow", "forbid"))
        id_ = known.get("id")
        if not isinstance(id_, str) or not id_.strip():
            self._wrong(f"{place}.id", f"must be a text that is not blank, not {id_!r}")
            return None
        place = f"rule {id_!r}"
        if ("allow" in known) == ("forbid" in known):
            self._wrong(place, "must have one of allow and forbid")
            return None
        effect = Effect.ALLOW if "allow" in known else Effect.FORBID
        grant = self._closed(known.get("allow", known.get("forbid")), place, _GRANT_KEYS)
        actions = self._actions(grant.get("actions"), place)
        return Rule(
            id_,
            effect,
            self._group(grant.get("actors"), place, groups),
            actions,
            self._test(grant, place, "branch", [action for action in actions if not ACTIONS[action].has_branch]),
            self._test(
                grant, place, "target_branch", [action for action in actions if not ACTIONS[action].has_target_branch]
            ),
            self._queries(grant, place, actions),
        )

    def _group(self, parsed: object, place: str, groups: Mapping[str, frozenset[str]]) -> str:
        group = self._closed(parsed, f"{place}: actors", ("group",)).get("group")
        if isinstance(group, str) and group in groups:
            return group
        if isinstance(group, str):
            hint = did_you_mean(group, groups)
            self._wrong(place, f"names the unknown group {group!r}{'; ' + hint if hint else ''}")
        else:
            self._wrong(place, f"must name its actors as {{group: NAME}}, not {parsed!r}")
        return ""

    def _actions(self, parsed: object, place: str) -> tuple[Action, ...]:
        known = {action.value: action for action in Action}
        found: dict[Action, None] = {}
        for name in self._names(parsed, f"{place}: actions"):
            if name in known:
                found[known[name]] = None
            else:
                hint = did_you_mean(name, known) or f"actions are {', '.join(known)}"
                self._wrong(place, f"has the unknown action {name!r}; {hint}")
        if not parsed:
            self._wrong(place, "has no action")
        if len({ACTIONS[action].resource for action in found}) > 1:
            self._wrong(place, "mixes actions on graphs with actions on the server")
        return tuple(found)

    def _test(self, grant: Mapping[str, Any], place: str, which: str, unfit: list[Action]) -> BranchTest:
        scope, patterns = grant.get(f"{which}_scope"), self._names(grant.get(f"{which}_patterns"), place)
        if scope is None and not patterns:
            return ANY_BRANCH
        if which == "branch" and any(grant.get(f"target_branch_{form}") for form in ("scope", "patterns")):
            self._wrong(place, "limits both the branch and the target branch")
        for action in unfit:
            self._wrong(place, f"has a {which}_scope or {which}_patterns, which {action.value} does not support")
        if scope is not None and patterns:
            self._wrong(place, f"has both {which}_scope and {which}_patterns")
        known = {item.value: item for item in BranchScope}
        if scope is not None and (not isinstance(scope, str) or scope not in known):
            self._wrong(place, f"has the unknown {which}_scope {scope!r}; scopes are {', '.join(known)}")
            return ANY_BRANCH
        return BranchTest(known[scope] if isinstance(scope, str) else BranchScope.ANY, tuple(patterns))

    def _queries(self, grant: Mapping[str, Any], place: str, actions: tuple[Action, ...]) -> tuple[str, ...] | None:
        if "queries" not in grant:
            return None
        if actions != (Action.INVOKE_QUERY,):
            self._wrong(place, "has queries, which only invoke_query alone supports")
        names = tuple(self._names(grant["queries"], f"{place}: queries"))
        if not names:
            self._wrong(place, "has an empty list of queries")
        return names

    def _resource(self, rules: tuple[Rule, ...], wanted: Resource | None) -> Resource:
        found = {ACTIONS[action].resource for rule in rules for action in rule.actions}
        chosen = wanted or (Resource.SERVER if found == {Resource.SERVER} else Resource.GRAPH)
        for rule in rules:
            for action in rule.actions:
                if ACTIONS[action].resource is not chosen:
                    self._wrong(
                        f"rule {rule.id!r}", f"has {action.value}, which is no action of a {chosen.value} bundle"
                    )
        return chosen

    def _attributes(self, parsed: object) -> dict[str, AttributeType]:
        known = {item.value: item for item in AttributeType}
        found: dict[str, AttributeType] = {}
        for name, type_ in self._mapping(parsed, "attributes").items():
            if not isinstance(type_, str) or type_ not in known:
                self._wrong(f"attributes.{name}", f"has the unknown type {type_!r}; types are {', '.join(known)}")
            elif name == "id":
                self._wrong("attributes.id", "is the id of the actor, which every actor has")
            else:
                found[name] = known[type_]
        return found

    def _actors(self, parsed: object, types: Mapping[str, AttributeType]) -> dict[str, dict[str, Attribute]]:
        found: dict[str, dict[str, Attribute]] = {}
        for id_, given in self._mapping(parsed, "actors").items():
            try:
                values = Actor(id_, frozenset(), self._mapping(given, f"actors.{id_}")).attributes
            except UsageError as error:
                self._wrong(f"actors.{id_}", f"is invalid: {error.message}")
                continue
            for name, value in values.items():
                if name not in types:
                    self._wrong(f"actors.{id_}.{name}", "is not declared in attributes")
                elif not types[name].holds(value):
                    self._wrong(f"actors.{id_}.{name}", f"must be {types[name].value}, not {value!r}")
            found[id_] = dict(values)
        return found

    def _closed(self, parsed: object, place: str, keys: tuple[str, ...]) -> dict[str, Any]:
        found = self._mapping(parsed, place)
        for key in found:
            if key not in keys:
                hint = did_you_mean(key, keys) or f"keys are {', '.join(keys)}"
                self._wrong(place, f"has the unknown key {key!r}; {hint}")
        return found

    def _mapping(self, parsed: object, place: str) -> dict[str, Any]:
        if parsed is None:
            return {}
        if isinstance(parsed, dict) and all(isinstance(key, str) for key in parsed):
            return parsed
        self._wrong(place, f"must be a mapping of names to values, not {parsed!r}")
        return {}

    def _names(self, parsed: object, place: str) -> list[str]:
        """A list of texts that are neither blank nor padded, without repetitions."""
        if parsed is None:
            return []
        if not isinstance(parsed, list):
            self._wrong(place, f"must be a list of names, not {parsed!r}")
            return []
        names: dict[str, None] = {}
        for item in parsed:
            if not isinstance(item, str) or not item.strip():
                self._wrong(place, f"has {item!r}, which is not a name")
            elif item != item.strip():
                # Names are compared as they are, so a padded one would protect or allow nothing.
                self._wrong(place, f"has {item!r}, which begins or ends with a space")
            else:
                names[item] = None
        return list(names)

    def _wrong(self, place: str, what: str) -> None:
        self.problems.append(f"{place} {what}")
