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
        """The youngest common ancestor that is no ancestor of another one. The youngest of all is such a one."""
        common = self.ancestors(source) & self.ancestors(target)
        return max(common, key=lambda id_: self.commits[id_].number)

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
        mine, theirs = self.heads[source], self.heads[target]
        base = self.base(mine, theirs)
        if base == mine:
            return "already_up_to_date", self.tables(target), set()
        if base == theirs:
            return "fast_forward", self.tables(source), set()
        return self._merge(base, mine, theirs)

    def _merge(self, base: str, mine: str, theirs: str) -> tuple[str, Tables, set[Conflict]]:
        merged = empty()
        conflicts: set[Conflict] = set()
        for type_ in merged:
            before, left, right = (self.commits[id_].tables[type_] for id_ in (base, mine, theirs))
            for id_ in before.keys() | left.keys() | right.keys():
                b, s, t = before.get(id_), left.get(id_), right.get(id_)
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
                        value, kind = self._value((type_, id_, name), b, s[name], t[name], mine, theirs)
                        row[name] = value
                        if kind is not None:
                            conflicts.add((type_, id_, kind, name))
                if row is not None:
                    merged[type_][id_] = row
        conflicts |= broken(merged)
        return "conflicts" if conflicts else "merged", merged, conflicts

    def _value(
        self, place: tuple[str, str, str], base: Row | None, source: Any, target: Any, mine: str, theirs: str
    ) -> tuple[Any, str | None]:
        name = place[2]
        if source == target:
            return target, None
        if base is not None and base[name] == source:
            return target, None
        if base is not None and base[name] == target:
            return source, None
        before = None if base is None else base[name]
        match POLICIES.get(name):
            case "sum":
                return (source or 0) + (target or 0) - (before or 0), None
            case "max":
                return max(value for value in (source, target) if value is not None), None
            case "union":
                old, left, right = (list(dict.fromkeys(items or [])) for items in (before, source, target))
                kept = [item for item in old if item in left and item in right]
                added = list(dict.fromkeys(item for item in (*right, *left) if item not in old))
                return kept + added, None
            case "newest":
                is_newer = self.last_change(mine, theirs, place) > self.last_change(theirs, mine, place)
                return (source if is_newer else target), None
            case _:
                return target, "divergent_insert" if base is None else "divergent_update"
