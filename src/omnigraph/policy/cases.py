"""Tests of a policy: requests with the expected decision, in a YAML file beside the bundle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.core.actors import Action, Actor, Need
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import InputError, NotFoundError, UsageError
from omnigraph.lang.yaml_text import parse_yaml
from omnigraph.policy.decide import Decision, Policy

VERSION: Final = 1
_KEYS: Final = ("id", "actor", "action", "branch", "target_branch", "expect", "query", "groups")
_EXPECTED: Final = {"allow": True, "deny": False}


@dataclass(frozen=True, slots=True)
class Case:
    """One request, and the expected decision."""

    id: str
    actor: Actor
    need: Need
    expects: bool


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case with the decision of the policy."""

    case: Case
    decision: Decision

    @property
    def passed(self) -> bool:
        return self.decision.allowed is self.case.expects

    def __str__(self) -> str:
        words = {True: "allow", False: "deny"}
        expected, found = words[self.case.expects], words[self.decision.allowed]
        return f"{self.case.id}: expected {expected}, got {found} ({self.decision.message})"


def run_cases(policy: Policy, path: str | os.PathLike[str]) -> tuple[CaseResult, ...]:
    """Decide every case of a file."""
    return tuple(CaseResult(case, policy.decide(case.actor, case.need)) for case in read_cases(path))


def read_cases(path: str | os.PathLike[str]) -> tuple[Case, ...]:
    """The cases of a file; raises InputError with all problems."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            parsed = parse_yaml(file.read(), name)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file of policy tests {name!r}", path=name) from error
    except OSError as error:
        raise UsageError(f"{name!r} cannot be read: {error.strerror or error}", path=name) from error
    problems: list[str] = []
    cases = _cases(parsed, problems)
    if problems:
        raise InputError(f"{name} is no valid file of policy tests:{''.join(f'{chr(10)}  {p}' for p in problems)}")
    return cases


def _cases(parsed: object, problems: list[str]) -> tuple[Case, ...]:
    top = parsed if isinstance(parsed, dict) else {}
    if top.get("version") != VERSION or isinstance(top.get("version"), bool):
        problems.append(f"version must be {VERSION}, not {top.get('version')!r}")
    problems.extend(f"the file has the unknown key {key!r}" for key in top if key not in ("version", "cases"))
    listed = top.get("cases")
    if not isinstance(listed, list):
        problems.append(f"cases must be a list of cases, not {listed!r}")
        return ()
    found: dict[str, Case] = {}
    for number, item in enumerate(listed):
        case = _case(item, f"cases[{number}]", problems)
        if case is not None and case.id in found:
            problems.append(f"{case.id!r} is the id of two cases")
        elif case is not None:
            found[case.id] = case
    return tuple(found.values())


def _case(parsed: object, place: str, problems: list[str]) -> Case | None:
    before = len(problems)
    known: Mapping[str, Any] = parsed if isinstance(parsed, dict) else {}
    if not known:
        problems.append(f"{place} must be a mapping with the keys {', '.join(_KEYS[:6])}")
    problems.extend(f"{place} has the unknown key {key!r}" for key in known if key not in _KEYS)
    actions = {action.value: action for action in Action}
    for key in ("id", "actor", "action", "expect"):
        value = known.get(key)
        if not isinstance(value, str) or not value.strip():
            problems.append(f"{place}.{key} must be a text that is not blank, not {value!r}")
    for key in ("branch", "target_branch", "query"):
        if not isinstance(known.get(key), str | None):
            problems.append(f"{place}.{key} must be a text, not {known[key]!r}")
    if isinstance(known.get("action"), str) and known["action"] not in actions:
        hint = did_you_mean(known["action"], actions) or f"actions are {', '.join(actions)}"
        problems.append(f"{place}.action is the unknown action {known['action']!r}; {hint}")
    if isinstance(known.get("expect"), str) and known["expect"] not in _EXPECTED:
        problems.append(f"{place}.expect must be allow or deny, not {known['expect']!r}")
    groups = known.get("groups", [])
    if not isinstance(groups, list) or not all(isinstance(name, str) for name in groups):
        problems.append(f"{place}.groups must be a list of names, not {groups!r}")
    if len(problems) > before:
        return None
    need = Need(actions[known["action"]], known.get("branch"), known.get("target_branch"), known.get("query"))
    return Case(known["id"], Actor(known["actor"], frozenset(groups)), need, _EXPECTED[known["expect"]])
