"""Compaction: many small fragments become few large ones, and deleted rows are dropped.

Row ids stay, so indexes keep naming the same rows. The input fragments determine the result, so it can be committed on
any version that still has exactly those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from lance import LanceDataset, LanceOperation
from lance.fragment import FragmentMetadata
from lance.optimize import Compaction

from omnigraph.core.tables import FileRecord
from omnigraph.storage.objects.durability import record_files
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.stage.staging import ROWS_PER_FILE_MAX
from omnigraph.storage.tables.blob_files import has_blobs
from omnigraph.storage.tables.store import Store

FRAGMENT_BYTES_TARGET = 128 * 1024 * 1024
"""Target size of a data file: large enough to scan well, small enough to be rewritten again."""

TARGET_ROWS_MIN = 16_384
"""Smallest target in rows, however wide they are."""

DELETED_SHARE_MAX = 0.1
"""A fragment with a larger share of deleted rows is rewritten without them."""

WORTHWHILE_SHARE = 16
"""A large fragment is rewritten together with smaller ones only if those are at least this many, or hold at least one
row for this many of its own."""


@dataclass(frozen=True, slots=True)
class RewrittenGroup:
    """Fragments and their replacements, not yet part of any version."""

    originals: tuple[FragmentMetadata, ...]
    rewritten: tuple[FragmentMetadata, ...]
    files: tuple[FileRecord, ...]


def compaction_tasks(dataset: LanceDataset) -> list[Any]:
    """Groups of fragments worth rewriting. Lance plans them, each within fragments of the same index segments."""
    options = {
        "target_rows_per_fragment": _target_rows(dataset),
        "materialize_deletions_threshold": DELETED_SHARE_MAX,
    }
    plan = Compaction.plan(dataset, options)  # type: ignore[arg-type] # a plain dict is what it takes
    return [task for task in plan.tasks if _is_worthwhile(task.fragments, options["target_rows_per_fragment"])]


def _target_rows(dataset: LanceDataset) -> int:
    if has_blobs(dataset.schema):
        # Large blobs lie beside the data files and are copied too; their size is unknown without a listing.
        return TARGET_ROWS_MIN
    parts = [fragment.metadata for fragment in dataset.get_fragments()]
    rows = sum(part.physical_rows for part in parts)
    size = sum(file.file_size_bytes or 0 for part in parts for file in part.files)
    by_bytes = FRAGMENT_BYTES_TARGET * rows // max(size, 1)
    return int(min(ROWS_PER_FILE_MAX, max(TARGET_ROWS_MIN, by_bytes)))


def _is_worthwhile(fragments: Sequence[FragmentMetadata], target_rows: float) -> bool:
    """True if deleted rows are dropped, or clearly fewer fragments remain for a reasonable amount of copying.

    Live rows of the fragments, with a target of 100 rows:

    ======================  =====  ===============================================
    rows                    after  worthwhile
    ======================  =====  ===============================================
    20, 20, 20, 20          1      yes: 3 of 4 fragments go
    90, 90, 90              3      no: no fragment goes
    90, 5                   1      no: 5 rows are less than 1/16 of 90
    90, 6                   1      yes: 6 rows are at least 1/16 of 90
    90, then 15 of 1 row    2      yes: 16 fragments
    ======================  =====  ===============================================
    """
    if any((part.physical_rows - part.num_rows) > DELETED_SHARE_MAX * part.physical_rows for part in fragments):
        return True
    sizes = [part.num_rows for part in fragments]
    after = -(-sum(sizes) // int(target_rows))
    if (len(sizes) - after) * 4 < len(sizes):
        return False
    rest = sum(sizes) - max(sizes)
    return len(sizes) >= WORTHWHILE_SHARE or rest * WORTHWHILE_SHARE >= max(sizes)


def rewrite(store: Store, location: str, version: int, task: Any) -> RewrittenGroup:
    """Write the new fragments of one task, planned on that version. They have no numbers yet."""
    dataset = store.open(location, version)
    with translated(f"fragments of {location} could not be rewritten", location=location):
        result = task.execute(dataset)
    rewritten = tuple(result.new_fragments)
    sizes = {f"{location}/data/{file.path}": file.file_size_bytes or 0 for part in rewritten for file in part.files}
    if has_blobs(dataset.schema):
        sizes |= dict(file for path in list(sizes) for file in store.blob_files.of(path))
    return RewrittenGroup(tuple(result.original_fragments), rewritten, record_files(store.root, list(sizes), sizes))


def numbered(groups: Sequence[RewrittenGroup], first: int) -> tuple[RewrittenGroup, ...]:
    """The same groups, their new fragments numbered from ``first`` on.

    Lance would number them at commit, but index segments over them are built before that.
    """
    numbers = count(first)
    return tuple(
        replace(group, rewritten=tuple(replace(part, id=next(numbers)) for part in group.rewritten)) for group in groups
    )


def rewrite_operation(groups: Sequence[RewrittenGroup]) -> Any:
    """One operation for all groups."""
    return LanceOperation.Rewrite(
        [LanceOperation.RewriteGroup(list(group.originals), list(group.rewritten)) for group in groups], []
    )
