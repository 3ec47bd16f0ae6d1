"""Lance indexes of a table: its segments, and the fragments they cover.

An index is a set of segments. A segment covers the fragments it was built from; rows of other fragments are scanned, so
coverage affects latency and never the answer. Rows that were deleted or replaced later do not come back through a
segment. The properties of each kind are in ``kinds``; ``building`` builds segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from lance import LanceDataset
from lance.dataset import Index

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.storage.objects.failures import translated


class IndexKind(Enum):
    """The purpose of an index; the value is Lance's name of its type."""

    BTREE = "BTREE"
    TEXT = "INVERTED"
    NGRAM = "NGRAM"
    VECTOR = "IVF_SQ"


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """An index of a column."""

    column: str
    kind: IndexKind

    def __str__(self) -> str:
        return f"{self.column} ({self.kind.name.lower()})"


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an index: the live fragments that it covers, and the value with which Lance removes it."""

    index: Index
    fragments: frozenset[int]

    @property
    def uuid(self) -> str:
        return self.index.uuid


@dataclass(frozen=True, slots=True)
class Coverage:
    """One index of one version of a table."""

    spec: IndexSpec
    name: str
    segments: tuple[Segment, ...]
    uncovered: tuple[int, ...]
    covered_rows: int
    rows: int
    has_dead_rows: bool = False
    """True if segments may hold rows deleted since. They are never found, but they count in statistics."""

    def __str__(self) -> str:
        return f"index {self.spec}, {100 * self.covered_rows / max(self.rows, 1):.0f} % covered"

    @property
    def is_complete(self) -> bool:
        return not self.uncovered

    @property
    def dead(self) -> tuple[Segment, ...]:
        """Segments without a live fragment."""
        return tuple(segment for segment in self.segments if not segment.fragments)


def lance_indexes(dataset: LanceDataset) -> list[Any]:
    """The indexes of a version as Lance describes them. The first call reads their section of the manifest."""
    with translated(f"the indexes of {dataset.uri} cannot be read"):
        return list(dataset.describe_indices())


def fragment_rows(dataset: LanceDataset) -> dict[int, int]:
    """Live rows by fragment, in storage order."""
    return {item.fragment_id: item.metadata.num_rows for item in dataset.get_fragments()}


def coverage_of(dataset: LanceDataset, specs: Sequence[IndexSpec]) -> list[Coverage]:
    """The coverage of these indexes of a table, existing or not. Reads manifests only."""
    rows = fragment_rows(dataset)
    shortened = {item.fragment_id for item in dataset.get_fragments() if item.metadata.num_deletions}
    described = {item.name: item for item in lance_indexes(dataset)}
    return [_coverage(dataset, spec, described.get(index_name(dataset, spec)), rows, shortened) for spec in specs]


def index_name(dataset: LanceDataset, spec: IndexSpec) -> str:
    """A name made of the field's number: a renamed column keeps its index, and its old name can be used again."""
    numbers = {field.name(): field.id() for field in dataset.lance_schema.fields()}
    return f"{spec.kind.name.lower()}_{numbers[spec.column]}"


def _coverage(
    dataset: LanceDataset, spec: IndexSpec, described: Any, rows: dict[int, int], shortened: set[int]
) -> Coverage:
    segments = () if described is None else tuple(segment_of(described, part, rows) for part in described.segments)
    covered = frozenset[int]().union(*(segment.fragments for segment in segments))
    return Coverage(
        spec,
        index_name(dataset, spec),
        segments,
        tuple(number for number in rows if number not in covered),
        sum(rows[number] for number in covered),
        sum(rows.values()),
        bool(covered & shortened) or any(set(part.index.fragment_ids) != part.fragments for part in segments),
    )


def segment_of(described: Any, part: Any, rows: dict[int, int]) -> Segment:
    """A segment as Lance describes it, with those of its fragments that are live."""
    every = set(part.fragment_ids)
    index = Index(
        uuid=part.uuid,
        name=described.name,
        fields=list(described.fields),
        dataset_version=part.dataset_version_at_last_update,
        fragment_ids=every,  # type: ignore[arg-type] # a set is taken as well
        index_version=part.index_version,
    )
    return Segment(index, frozenset(every & rows.keys()))


def segment_ids(dataset: LanceDataset) -> frozenset[str]:
    """The segments of all indexes of a version."""
    return frozenset(segment_fragments(dataset))


def segment_fragments(dataset: LanceDataset) -> dict[str, frozenset[int]]:
    """The segments of all indexes of a version, and the fragments that each was built from."""
    return {part.uuid: frozenset(part.fragment_ids) for item in lance_indexes(dataset) for part in item.segments}


def dead_segments(dataset: LanceDataset, specs: Sequence[IndexSpec]) -> list[Segment]:
    """Segments of these indexes without a live fragment."""
    return [segment for item in coverage_of(dataset, specs) for segment in item.dead]


def highest_number(dataset: LanceDataset) -> int:
    """The highest number that a fragment has, or had when an index was built over it.

    Such a number must not be reused: the index would be taken to cover rows that it does not hold.
    """
    numbers = [item.fragment_id for item in dataset.get_fragments()]
    numbers += [
        max(part.fragment_ids) for item in lance_indexes(dataset) for part in item.segments if part.fragment_ids
    ]
    return max(numbers, default=-1)
