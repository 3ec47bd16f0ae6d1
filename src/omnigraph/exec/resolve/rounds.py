"""Rounds of a resolution: the changes of earlier ones, the findings of one, and a round in this process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import UsageError
from omnigraph.exec.resolve.candidates import Blocks
from omnigraph.exec.resolve.keys import Hashes, named_keys, record_keys, records_of
from omnigraph.exec.resolve.matches import Matches, find_matches
from omnigraph.exec.resolve.rules import ResolveRules
from omnigraph.rows.arrow_types import ID
from omnigraph.schema.catalog import NodeType

SKIPPED_SHOWN: int = 20
"""Skipped blocks that are named; the others are counted."""


def _no_keys() -> Hashes:
    return np.zeros(0, np.uint64)


@dataclass(frozen=True)
class Changed:
    """Changes of earlier rounds: entities that are gone, and records of survivors.

    Pairs without a ``fresh`` survivor have been compared, unless their block was skipped for its size.
    """

    removed: frozenset[str] = frozenset()
    replaced: pa.Table | None = None
    fresh: frozenset[str] = frozenset()
    skipped: Hashes = field(default_factory=_no_keys)

    @property
    def is_first(self) -> bool:
        """True before the first round."""
        return self.replaced is None

    def unchanged(self, records: pa.Table) -> pa.Table:
        """The records that no earlier round changed."""
        if self.replaced is None:
            return records
        other = pa.concat_arrays(
            [pa.array(sorted(self.removed), pa.string()), self.replaced.column(ID).combine_chunks()]
        )
        return records.filter(pc.invert(pc.is_in(records.column(ID), value_set=other)))


@dataclass(frozen=True, slots=True)
class SkippedBlock:
    """A block with too many entities, as ``email = 'n/a'``."""

    key: int
    name: str
    entities: int


@dataclass(frozen=True)
class Found:
    """The pairs of a round, the number of pairs that were compared, and the blocks that were not."""

    pairs: pa.Table
    compared: int = 0
    skipped: tuple[SkippedBlock, ...] = ()


def require_blocks(rules: ResolveRules, entities: int) -> None:
    """Raise if there are no blocks and too many entities to compare all of them with each other."""
    if not rules.blocks and entities > rules.block_max:
        raise UsageError(
            f"{entities:,} entities are too many to compare all pairs (block_max is {rules.block_max:,})",
            hint="add blocks: properties that equal entities share, such as blocks: [email, prefix(name, 4)]",
        )


@dataclass
class LocalFinder:
    """Rounds over records in memory."""

    records: pa.Table
    node: NodeType
    rules: ResolveRules

    def find(self, changed: Changed) -> Found:
        """The pairs of a round."""
        records = self._current(changed)
        require_blocks(self.rules, records.num_rows)
        keys = record_keys(records, self.node, self.rules)
        known, counts = np.unique(keys.hashes, return_counts=True)
        is_large = counts > self.rules.block_max
        skipped = known[is_large]
        matches = self._matches(records, Blocks(keys.without(skipped), None, *_scope(records, changed, skipped)))
        names = named_keys(records, self.node, self.rules, skipped) if len(skipped) else {}
        sizes = dict(zip(skipped.tolist(), counts[is_large].tolist(), strict=True))
        return Found(matches.pairs, matches.compared, skipped_blocks(sizes, names))

    def _current(self, changed: Changed) -> pa.Table:
        if changed.replaced is None:
            return self.records
        replaced = records_of(changed.replaced.to_batches(), self.node, self.rules)
        return pa.concat_tables([changed.unchanged(self.records), replaced])

    def _matches(self, records: pa.Table, blocks: Blocks) -> Matches:
        return find_matches(records, self.node, self.rules, blocks)


def _scope(records: pa.Table, changed: Changed, skipped: Hashes) -> tuple[np.ndarray, Hashes] | tuple[None, None]:
    """The fresh records, and the keys that were too large in the last round and no longer are."""
    if changed.is_first:
        return None, None
    fresh = pc.is_in(records.column(ID), value_set=pa.array(sorted(changed.fresh), pa.string()))
    reopened = changed.skipped[~np.isin(changed.skipped, skipped)]
    return fresh.combine_chunks().to_numpy(zero_copy_only=False), reopened


def skipped_blocks(sizes: dict[int, int], names: dict[int, str]) -> tuple[SkippedBlock, ...]:
    """Blocks that were not compared, the largest first."""
    order = sorted(sizes, key=lambda key: (-sizes[key], key))
    return tuple(SkippedBlock(key, names.get(key, ""), sizes[key]) for key in order)


def skipped_remarks(blocks: Iterable[SkippedBlock], block_max: int) -> list[str]:
    """Remarks about blocks that were not compared."""
    found = list(blocks)
    said = [
        f"a block of {block.entities:,} entities was not compared (block_max is {block_max:,}): {block.name}"
        for block in found[:SKIPPED_SHOWN]
    ]
    rest = len(found) - len(said)
    return [*said, f"{rest:,} more blocks were too large to compare"] if rest else said
