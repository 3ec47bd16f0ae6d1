"""Groups of entities that are one: matches are clustered and folded, and the survivors compared again.

A survivor may have values of several entities, and so match others that none of them matched. Rounds are
repeated until nothing new is found, so that a second run finds nothing. A group is folded from the rows of all its
entities, so the result does not depend on the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from omnigraph.compare.tables import flat, rows_of
from omnigraph.core.tables import TablePin
from omnigraph.exec.resolve.clusters import clusters_of
from omnigraph.exec.resolve.keys import record_columns
from omnigraph.exec.resolve.rounds import Changed, Found, SkippedBlock
from omnigraph.exec.resolve.rules import ResolveRules
from omnigraph.rows.arrow_types import ID
from omnigraph.storage.tables.store import Store
from omnigraph.write.resolve.fold import Fold, Folding

ROUNDS_MAX: Final = 10
"""Rounds of comparisons. Each needs a survivor that matches more than its entities did."""

Ids = tuple[str, ...]


class Finder(Protocol):
    """Finds matches among the entities of a type, in this process or on Spark."""

    def find(self, changed: Changed) -> Found:
        """The pairs of a round, given what earlier rounds changed."""
        ...


@dataclass(frozen=True)
class LeftGroup:
    """Entities that match and are not folded, with the reason."""

    ids: Ids
    kind: str
    detail: str


@dataclass
class Grouping:
    """The groups of one type at one version, found round by round."""

    store: Store
    pin: TablePin
    rules: ResolveRules
    folding: Folding
    groups: dict[str, Ids] = field(default_factory=dict)
    """The entities of every group, by the id of their survivor."""
    left: list[LeftGroup] = field(default_factory=list)
    pairs: list[pa.Table] = field(default_factory=list)
    skipped: tuple[SkippedBlock, ...] = ()
    compared: int = 0
    rounds: int = 0
    is_finished: bool = False
    """True if the last round found nothing new."""
    _rows: pa.Table | None = None

    def run(self, finder: Finder) -> None:
        """Find and fold groups until nothing new matches."""
        changed = Changed()
        while self.rounds < ROUNDS_MAX and not self.is_finished:
            found = finder.find(changed)
            self.rounds += 1
            self.compared += found.compared
            self.skipped = found.skipped
            changed = self.join(found)
            self.is_finished = not changed.fresh

    def join(self, found: Found) -> Changed:
        """Fold the groups that matches connect. Returns what the next round has to compare."""
        self.pairs.append(found.pairs)
        matches = found.pairs.filter(found.pairs.column("match"))
        proposed: list[tuple[list[str], Ids]] = []
        for cluster in clusters_of(flat(matches, "left"), flat(matches, "right")):
            # Survivors count as one entity: a second run would see them so, and must not decide otherwise.
            if len(cluster) > self.rules.cluster_max:
                detail = f"{len(cluster):,} entities, cluster_max is {self.rules.cluster_max:,}"
                self.left.append(LeftGroup(tuple(cluster), "too_large", detail))
            else:
                members = {id_ for named in cluster for id_ in self.groups.get(named, (named,))}
                proposed.append((cluster, tuple(sorted(members))))
        folded = self.fold([ids for _, ids in proposed])
        fresh: list[str] = []
        for number, (cluster, ids) in enumerate(proposed):
            reason = folded.conflicts.get(number)
            if reason is not None:
                detail = f"the values of {reason} differ, and its policy does not choose one"
                self.left.append(LeftGroup(tuple(cluster), "conflict", detail))
                continue
            for named in cluster:
                self.groups.pop(named, None)
            survivor: str = folded.rows.column(ID)[number].as_py()
            self.groups[survivor] = ids
            fresh.append(survivor)
        return self._changed(fresh, found)

    def drop(self, reasons: Mapping[str, tuple[str, str]]) -> None:
        """Leave the groups of some survivors as they are, each with a kind and a detail."""
        for survivor, (kind, detail) in sorted(reasons.items()):
            self.left.append(LeftGroup(self.groups.pop(survivor), kind, detail))

    def fold(self, groups: Sequence[Ids]) -> Fold:
        """The folded rows of some groups."""
        rows = self.rows({id_ for ids in groups for id_ in ids})
        places = {id_: place for place, id_ in enumerate(rows.column(ID).to_pylist())}
        return self.folding.fold(rows, [[places[id_] for id_ in ids] for ids in groups])

    def rows(self, ids: set[str]) -> pa.Table:
        """The rows of entities, and of others that were read before, in the schema of changes."""
        known = set() if self._rows is None else set(self._rows.column(ID).to_pylist())
        if self._rows is None or not ids <= known:
            read = rows_of(self.store, self.folding.entity, self.pin, sorted(ids - known))
            self._rows = read if self._rows is None else pa.concat_tables([self._rows, read])
        return self._rows

    @property
    def survivors(self) -> dict[str, str]:
        """The survivor of every entity that is folded into another one."""
        return {id_: survivor for survivor, ids in self.groups.items() for id_ in ids if id_ != survivor}

    def _changed(self, fresh: list[str], found: Found) -> Changed:
        whole = self.fold(list(self.groups.values()))
        return Changed(
            frozenset(self.survivors),
            whole.rows.select(record_columns(self.rules)),
            frozenset(fresh),
            np.array([block.key for block in found.skipped], np.uint64),
        )
