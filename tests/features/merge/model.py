"""Merging as the design's words say it, over dictionaries: written for the tests and for nothing else.

A graph is tables by type, a table rows by id. A commit has parents and a copy of everything.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

SCHEMA = """
node Person {
  name: String @key
  email: String? @unique
  age: I64?
  visits: I64? @merge(sum)
  best: I64? @merge(max)
  tags: [String]? @merge(union)
  title: String? @merge(newest)
  @range(visits, -50..50)
}
node Firm { name: String @key  size: I64? }
edge Knows: Person -> Person { since: I64? }
edge WorksAt: Person -> Firm @card(0..1)
"""
NODES = {"Person": ("email", "age", "visits", "best", "tags", "title"), "Firm": ("size",)}
EDGES = {"Knows": (("Person", "Person"), ("since",)), "WorksAt": (("Person", "Firm"), ())}
POLICIES = {"visits": "sum", "best": "max", "tags": "union", "title": "newest"}

Row = dict[str, Any]
Tables = dict[str, dict[str, Row]]
Conflict = tuple[str, str, str, str | None]
"""Type, id, kind, property."""


ABSENT, UNKNOWN = object(), object()
"""Placeholders for a value of an absent entity, and for a value that the model does not predict."""


def empty() -> Tables:
    return {name: {} for name in (*NODES, *EDGES)}


def broken(tables: Tables) -> set[Conflict]:
    """Every constraint that a graph breaks; of two with one email, and of too many edges, nobody is named."""
    found: set[Conflict] = set()
    for name, ((source, target), _) in EDGES.items():
        for id_, row in tables[name].items():
            for end, type_ in (("src", source), ("dst", target)):
                if row[end] not in tables[type_]:
                    found.add((name, id_, "orphan_edge", end))
    emails = [row["email"] for row in tables["Person"].values() if row["email"] is not None]
    if len(set(emails)) < len(emails):
        found.add(("Person", "?", "unique_violation", "email"))
    sources = [row["src"] for row in tables["WorksAt"].values()]
    if any(sources.count(source) > 1 for source in sources if source in tables["Person"]):
        found.add(("WorksAt", "?", "cardinality_violation", "src"))
    for id_, row in tables["Person"].items():
        if row["visits"] is not None and not -50 <= row["visits"] <= 50:
            found.add(("Person", id_, "value_constraint_violation", "visits"))
    return found


@dataclass
class Commit:
    """A commit; ``number`` counts all commits, so that a greater one is younger."""

    id: str
    number: int
    parents: tuple[str, ...]
    tables: Tables


@dataclass
class History:
    """All commits ever made, and the head of every branch."""

    commits: dict[str, Commit] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)

    def tables(self, branch: str) -> Tables:
        return self.commits[self.heads[branch]].tables

    def commit(self, branch: str, id_: str, tables: Tables, *merged: str) -> None:
        first = (self.heads[branch],) if branch in self.heads else ()
        self.commits[id_] = Commit(id_, len(self.commits), (*first, *merged), copy.deepcopy(tables))
        self.heads[branch] = id_

    def ancestors(self, id_: str) -> set[str]:
        found: set[str] = set()
        waiting = [id_]
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                waiting.extend(self.commits[current].parents)
        return found

    def base(self, source: str, target: str) -> str:
        """The youngest of the best common ancestors."""
        return self.bases(source, target)[0]

    def bases(self, source: str, target: str) -> list[str]:
        """The common ancestors that are no ancestors of another one, the youngest first."""
        common = self.ancestors(source) & self.ancestors(target)
        best = [id_ for id_ in common if not any(id_ in self.ancestors(other) for other in common - {id_})]
        return sorted(best, key=lambda id_: -self.commits[id_].number)

    def base_row(self, bases: list[str], type_: str, id_: str) -> Row | None:
        """An entity in the base; of several bases, what they make of their own bases together."""
        rows = [self.commits[base].tables[type_].get(id_) for base in bases]
        if len(bases) == 1:
            return rows[0]
        pairs = [(one, other) for one in bases for other in bases if one < other]
        above = {base for pair in pairs for base in self.bases(*pair)}
        old = [self.commits[base].tables[type_].get(id_) for base in above]
        names = next((list(row) for row in rows if row is not None), [])
        made = {name: agreed(name, [_of(row, name) for row in rows], [_of(row, name) for row in old]) for name in names}
        if all(value is ABSENT for value in made.values()):
            return None
        return {name: UNKNOWN if value is ABSENT else value for name, value in made.items()}

    def last_change(self, head: str, other: str, place: tuple[str, str, str]) -> int:
        """The number of the last commit of one side that changed a property; merges only if nobody else did."""
        own = [self.commits[id_] for id_ in self.ancestors(head) - self.ancestors(other)]
        changed = [commit for commit in own if self._changes(commit, place)]
        plain = [commit.number for commit in changed if len(commit.parents) == 1]
        return max(plain or [commit.number for commit in changed], default=-1)

    def _changes(self, commit: Commit, place: tuple[str, str, str]) -> bool:
        type_, id_, name = place
        after = commit.tables[type_].get(id_)
        before = self.commits[commit.parents[0]].tables[type_].get(id_) if commit.parents else None
        return after is not None and (before is None or before[name] != after[name])

    def merge(self, source: str, target: str) -> tuple[str, Tables, set[Conflict]]:
        """The outcome, the merged tables, and the conflicts; what is in conflict is as the target has it."""
        source_head, target_head = self.heads[source], self.heads[target]
        bases = self.bases(source_head, target_head)
        if bases == [source_head]:
            return "already_up_to_date", self.tables(target), set()
        if bases == [target_head]:
            return "fast_forward", self.tables(source), set()
        return self._merge(bases, source_head, target_head)

    def _merge(self, bases: list[str], source_head: str, target_head: str) -> tuple[str, Tables, set[Conflict]]:
        merged = empty()
        conflicts: set[Conflict] = set()
        for type_ in merged:
            left, right = (self.commits[id_].tables[type_] for id_ in (source_head, target_head))
            for id_ in left.keys() | right.keys():
                b, s, t = self.base_row(bases, type_, id_), left.get(id_), right.get(id_)
                row = t
                if s in (b, t):
                    pass
                elif t == b:
                    row = s
                elif s is None:
                    conflicts.add((type_, id_, "delete_vs_update", None))
                elif t is None:
                    conflicts.add((type_, id_, "update_vs_delete", None))
                else:
                    row = {}
                    for name in t:
                        value, kind = self._value((type_, id_, name), b, s[name], t[name], source_head, target_head)
                        row[name] = value
                        if kind is not None:
                            conflicts.add((type_, id_, kind, name))
                if row is not None:
                    merged[type_][id_] = row
        conflicts |= broken(merged)
        return "conflicts" if conflicts else "merged", merged, conflicts

    def _value(
        self,
        place: tuple[str, str, str],
        base: Row | None,
        source: Any,
        target: Any,
        source_head: str,
        target_head: str,
    ) -> tuple[Any, str | None]:
        name = place[2]
        if source == target:
            return target, None
        if base is not None and base[name] == source:
            return target, None
        if base is not None and base[name] == target:
            return source, None
        before = None if base is None else base[name]
        policy = POLICIES.get(name)
        if policy in ("sum", "union") and before is UNKNOWN:
            policy = None
        match policy:
            case "sum" | "max" | "union":
                return combined(policy, before, source, target), None
            case "newest":
                is_newer = self.last_change(source_head, target_head, place) > self.last_change(
                    target_head, source_head, place
                )
                return (source if is_newer else target), None
            case _:
                return target, "divergent_insert" if base is None else "divergent_update"


def combined(policy: str, before: Any, source: Any, target: Any) -> Any:
    """A value of two, by policy."""
    if policy == "sum":
        return (source or 0) + (target or 0) - (before or 0)
    if policy == "max":
        return max(value for value in (source, target) if value is not None)
    old, left, right = (list(dict.fromkeys(items or [])) for items in (before, source, target))
    kept = [item for item in old if item in left and item in right]
    return kept + list(dict.fromkeys(item for item in (*right, *left) if item not in old))


def _of(row: Row | None, name: str) -> Any:
    return ABSENT if row is None else row[name]


def agreed(name: str, values: list[Any], old: list[Any]) -> Any:
    """What several bases make of a value: that of those that changed it, if these have the same one."""
    changed = [value for value in values if any(value != before for before in old)]
    if not changed:
        return values[0]
    if all(value == changed[0] for value in changed):
        return changed[0]
    policy = POLICIES.get(name)
    if policy in ("sum", "max", "union") and len(values) == 2 and len(old) == 1 and ABSENT not in values:
        before = None if old[0] is ABSENT else old[0]
        return combined(policy, before, *values)
    return UNKNOWN
