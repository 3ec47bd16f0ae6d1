"""Folding: the entities of a group become one, property by property, by the merge policies of the schema.

The survivor is the target of a branch merge, the other entities are sources. Its id and key stay.

==============  ==========================================================================
policy          value
==============  ==========================================================================
none, target    the survivor's, otherwise the first one that another entity has
source          the first one that another entity has, otherwise the survivor's
newest          the one that was changed last
max, min        the greatest, the smallest
sum             the sum of all: different entities have counted different things
union           the items of all, each once
review          none: different values are a conflict, and the group is left as it is
==============  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import flat
from omnigraph.exec.resolve.rules import Survivor
from omnigraph.history.merge import Policies
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.compare import differs
from omnigraph.rows.merge import combine
from omnigraph.schema.ir import MergePolicy
from omnigraph.schema.merge_policies import POLICIES, PropertyOutcome
from omnigraph.write.merge.newest import Moment
from omnigraph.write.property_policies import policy_of

Positions = npt.NDArray[np.int64]
LastChanges = Callable[[Entity, list[str], str], Mapping[str, Moment]]
"""The last change of a property of some entities."""

_NEVER: Moment = (0, "")


@dataclass(frozen=True)
class Fold:
    """Groups of rows, folded. ``rows`` has one row for each group; that of a group with a conflict has no meaning."""

    rows: pa.Table
    sources: Mapping[str, Positions]
    """For properties whose values were taken from a row: the position of that row."""
    survivors: Positions
    conflicts: Mapping[int, str] = field(default_factory=dict)
    """Groups that cannot be folded, and the property that prevents it."""


@dataclass(frozen=True)
class Folding:
    """The folding of groups of one type."""

    entity: Entity
    policies: Policies
    survivor: Survivor
    last_changes: LastChanges

    def fold(
        self, rows: pa.Table, groups: Sequence[Sequence[int]], preferred: npt.NDArray[np.bool_] | None = None
    ) -> Fold:
        """Fold groups of positions. Among equally complete rows a ``preferred`` one survives."""
        ranked = _ranked(rows, groups, self._ranks(rows, preferred))
        conflicts: dict[int, str] = {}
        columns: list[pa.Array] = []
        sources: dict[str, Positions] = {}
        for name in rows.schema.names:
            policy = None if self._is_fixed(name) else policy_of(self.entity, self.policies, name)
            outcome = PropertyOutcome.TARGET if policy is None else POLICIES[policy].outcome
            column = flat(rows, name)
            if outcome is PropertyOutcome.COMBINED:
                assert policy is not None
                values, bad = _combined(policy, column, ranked)
                columns.append(values)
            else:
                sources[name], bad = self._taken(name, column, outcome, ranked)
                columns.append(column.take(pa.array(sources[name])))
            for group in np.flatnonzero(bad).tolist():
                conflicts.setdefault(group, name)
        whole = pa.Table.from_arrays(columns, schema=rows.schema)
        return Fold(self._with_vectors(whole, rows, ranked, sources), sources, ranked.firsts, conflicts)

    def _ranks(self, rows: pa.Table, preferred: npt.NDArray[np.bool_] | None) -> Positions:
        """A number for every row, the smallest for the best survivor."""
        ids: Positions = pc.rank(flat(rows, ID), sort_keys="ascending").to_numpy().astype(np.int64)
        if self.survivor is Survivor.OLDEST:
            return ids
        filled = np.zeros(rows.num_rows, np.int64)
        for name in self.entity.properties:
            filled += flat(rows, name).is_valid().to_numpy(zero_copy_only=False)
        chosen = np.zeros(rows.num_rows, bool) if preferred is None else preferred
        order = np.lexsort((ids, ~chosen, -filled))
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        return ranks

    def _is_fixed(self, name: str) -> bool:
        """True for what identifies the survivor."""
        return name in (ID, SRC, DST) or name in self.entity.key or name not in self.entity.properties

    def _taken(
        self, name: str, column: pa.Array, outcome: PropertyOutcome, ranked: _Ranked
    ) -> tuple[Positions, npt.NDArray[np.bool_]]:
        """The position of the row that each group takes a value from, and the groups with a conflict."""
        nothing = np.zeros(len(ranked.firsts), bool)
        if self._is_fixed(name):
            return ranked.firsts, nothing
        is_valid = column.is_valid().to_numpy(zero_copy_only=False)[ranked.order]
        first = ranked.first_where(is_valid)
        match outcome:
            case PropertyOutcome.SOURCE:
                return ranked.first_where(is_valid & ~ranked.is_first, otherwise=first), nothing
            case PropertyOutcome.NEWEST:
                return self._newest(name, column, is_valid, first, ranked), nothing
            case PropertyOutcome.CONFLICT:
                return first, _differing(column, is_valid, first, ranked)
            case _:
                return first, nothing

    def _newest(
        self, name: str, column: pa.Array, is_valid: npt.NDArray[np.bool_], first: Positions, ranked: _Ranked
    ) -> Positions:
        chosen = first.copy()
        open_groups = np.flatnonzero(_differing(column, is_valid, first, ranked))
        if not len(open_groups):
            return chosen
        members = {int(group): ranked.members(int(group)) for group in open_groups}
        ids = {place: ranked.ids[place] for places in members.values() for place in places.tolist()}
        moments = self.last_changes(self.entity, list(ids.values()), name)
        valid = dict(zip(ranked.order.tolist(), is_valid.tolist(), strict=True))
        for group, places in members.items():
            known = [place for place in places.tolist() if valid[place]]
            # The first one among equals is the best survivor: max keeps it.
            chosen[group] = max(known, key=lambda place: moments.get(ids[place], _NEVER))
        return chosen

    def _with_vectors(
        self, folded: pa.Table, rows: pa.Table, ranked: _Ranked, sources: dict[str, Positions]
    ) -> pa.Table:
        """Vectors of ``@embed`` follow their text: from the first row with the same text, otherwise none."""
        for name, prop in self.entity.properties.items():
            if prop.embed is None or name not in sources:
                continue
            text, column = flat(rows, prop.embed.source), flat(rows, name)
            wanted = flat(folded, prop.embed.source).take(pa.array(ranked.group_of_place))
            is_same = ~differs(text.take(pa.array(ranked.order)), wanted).to_numpy(zero_copy_only=False)
            fits = is_same & column.is_valid().to_numpy(zero_copy_only=False)[ranked.order]
            first = ranked.first_where(fits)
            has_one = np.logical_or.reduceat(fits, ranked.starts) if len(fits) else np.zeros(0, bool)
            places = pa.array(first, mask=~has_one)
            sources[name] = first
            folded = folded.set_column(
                folded.schema.get_field_index(name), folded.schema.field(name), column.take(places)
            )
        return folded


@dataclass(frozen=True)
class _Ranked:
    """Rows of all groups, group by group, best survivor first."""

    order: Positions
    starts: Positions
    group_of_place: Positions
    ids: list[str]

    @property
    def firsts(self) -> Positions:
        return self.order[self.starts]

    @property
    def is_first(self) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(self.order), bool)
        found[self.starts] = True
        return found

    @property
    def sizes(self) -> Positions:
        return np.diff(np.append(self.starts, len(self.order)))

    def members(self, group: int) -> Positions:
        start = int(self.starts[group])
        return self.order[start : start + int(self.sizes[group])]

    def first_where(self, mask: npt.NDArray[np.bool_], otherwise: Positions | None = None) -> Positions:
        """The first row of every group that the mask has; the survivor, or the one given, where there is none."""
        if not len(self.order):
            return self.order
        far = len(self.order)
        found = np.minimum.reduceat(np.where(mask, np.arange(far), far), self.starts)
        fallback = self.firsts if otherwise is None else otherwise
        return np.where(found < far, self.order[np.minimum(found, far - 1)], fallback)


def _ranked(rows: pa.Table, groups: Sequence[Sequence[int]], ranks: Positions) -> _Ranked:
    group_of_place = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    places = np.fromiter((place for group in groups for place in group), np.int64, len(group_of_place))
    order = np.lexsort((ranks[places], group_of_place))
    sizes = np.array([len(group) for group in groups], np.int64)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))[:-1]
    return _Ranked(places[order], starts, group_of_place, rows.column(ID).to_pylist())


def _differing(
    column: pa.Array, is_valid: npt.NDArray[np.bool_], first: Positions, ranked: _Ranked
) -> npt.NDArray[np.bool_]:
    """Groups with two different values."""
    if not len(ranked.order):
        return np.zeros(0, bool)
    other = differs(column.take(pa.array(ranked.order)), column.take(pa.array(first[ranked.group_of_place])))
    found: npt.NDArray[np.bool_] = np.logical_or.reduceat(
        other.to_numpy(zero_copy_only=False) & is_valid, ranked.starts
    )
    return found


def _combined(policy: MergePolicy, column: pa.Array, ranked: _Ranked) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    """Values that a policy computes, and the groups in which it cannot: a sum may overflow.

    All groups take their second row together, then their third one, and so on.
    """
    total = column.take(pa.array(ranked.firsts))
    bad = np.zeros(len(ranked.firsts), bool)
    sizes = ranked.sizes
    # One row is combined with nothing, so that a list has no duplicates however many rows there are.
    for rank in range(max(1, int(sizes.max(initial=0)))):
        groups = np.flatnonzero(sizes > rank)
        before = total.take(pa.array(groups))
        following = column.take(pa.array(ranked.order[ranked.starts[groups] + rank])) if rank else _nulls(before)
        values, fits = combine(policy, _nulls(before), following, before)
        is_empty = pc.and_(pc.is_null(before), pc.is_null(following))
        values = values.take(pa.array(np.arange(len(groups)), mask=is_empty.to_numpy(zero_copy_only=False)))
        bad[groups[~fits.to_numpy(zero_copy_only=False)]] = True
        places = np.arange(len(total))
        places[groups] = len(total) + np.arange(len(groups))
        total = pa.concat_arrays([total, values]).take(pa.array(places))
    return total, bad


def _nulls(like: pa.Array) -> pa.Array:
    return pa.nulls(len(like), like.type)
