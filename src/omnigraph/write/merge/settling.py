"""Broken constraints as conflicts, and resolutions applied to the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import flat
from omnigraph.history.conflicts import ConflictKind, MergeConflict, Resolution, Resolutions, Take
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.write.merge.properties import resolved_value
from omnigraph.write.merge.table import TableMerge

ROUNDS_MAX = 8
"""Rounds of applying resolutions: one may cause another conflict that has a resolution too."""

_KINDS = {
    ViolationCode.ENDPOINT: ConflictKind.ORPHAN_EDGE,
    ViolationCode.UNIQUE: ConflictKind.UNIQUE_VIOLATION,
    ViolationCode.CARDINALITY: ConflictKind.CARDINALITY_VIOLATION,
}


def conflict_of(violation: Violation) -> MergeConflict:
    """A broken constraint as a conflict."""
    assert violation.table_key is not None, "a stored row belongs to a table"
    kind = _KINDS.get(violation.code, ConflictKind.VALUE_CONSTRAINT_VIOLATION)
    id_ = violation.other_id if kind is ConflictKind.CARDINALITY_VIOLATION else violation.entity_id
    return MergeConflict(violation.table_key, id_, kind, violation.property, message=violation.message)


def check_rows(merge: TableMerge, violations: Violations) -> None:
    """Report every value of the local rows that its property does not allow."""
    for batch in merge.rows.to_batches():
        check_values(merge.entity, batch, _nowhere, violations)


def _nowhere(row: int) -> Place | None:
    return None


def settle_values(merge: TableMerge, resolutions: Resolutions) -> TableMerge:
    """The rows with resolutions of value constraints applied; what remains broken is added to the conflicts."""
    for _ in range(ROUNDS_MAX):
        broken = _broken_values(merge)
        settled = [(conflict, found) for conflict in broken if (found := resolutions.of(conflict))]
        if not settled:
            break
        for conflict, resolution in settled:
            merge = settle(merge, conflict, resolution)
    return replace(merge, conflicts=(*merge.conflicts, *_broken_values(merge)))


def _broken_values(merge: TableMerge) -> list[MergeConflict]:
    violations = Violations(keeps_all=True)
    check_rows(merge, violations)
    return list(dict.fromkeys(conflict_of(violation) for violation in violations.samples))


def settle(merge: TableMerge, conflict: MergeConflict, resolution: Resolution) -> TableMerge:
    """Apply one resolution: delete the entity, or set a value."""
    assert conflict.id is not None, "an entity that is deleted or changed has an id"
    if conflict.id in merge.unwanted:
        return merge
    merge = merge.fetch([conflict.id])
    is_it = pc.equal(merge.rows.column("id"), conflict.id)
    if resolution.take is Take.DELETE:
        is_written = pc.any(is_it, min_count=0).as_py()
        gone = merge.also_gone if is_written else merge.also_gone | {conflict.id}
        return without(replace(merge, rows=merge.rows.filter(pc.invert(is_it)), also_gone=gone), {conflict.id})
    assert conflict.property is not None, "a value belongs to a property"
    value = resolved_value(merge.entity, conflict.property, resolution.value)
    place = merge.rows.schema.get_field_index(conflict.property)
    column = flat(merge.rows, conflict.property)
    flags = flat(merge.rows.select([conflict.property]).append_column("it", is_it), "it").to_pylist()
    changed = pa.concat_arrays([column, value]).take(
        pa.array([len(column) if flag else row for row, flag in enumerate(flags)], pa.int64())
    )
    rows = merge.rows.set_column(place, merge.rows.schema.field(place), changed)
    return replace(merge, rows=rows, mixed=merge.mixed | {conflict.id})


def leave(merge: TableMerge, ids: Iterable[str]) -> TableMerge:
    """The table with some entities as in the version it stands on."""
    wanted = pa.array(sorted(set(ids)), pa.string())
    merge = merge.fetch(wanted.to_pylist())
    return replace(
        merge,
        rows=_without(merge.rows, wanted),
        gone_from_base=_without(merge.gone_from_base, wanted),
        gone_from_target=_without(merge.gone_from_target, wanted),
        also_gone=merge.also_gone.difference(wanted.to_pylist()),
        unwanted=merge.unwanted.difference(wanted.to_pylist()),
        left=merge.left.union(wanted.to_pylist()),
    )


def put(merge: TableMerge, ids: Iterable[str], rows: pa.Table, existing: Iterable[str]) -> TableMerge:
    """The table with some entities as in ``rows``, or absent; ``existing`` are those that it has stored."""
    wanted = set(ids)
    base = leave(merge, wanted)
    return replace(
        base,
        rows=pa.concat_tables([base.rows, rows]),
        also_gone=base.also_gone.union(existing),
        mixed=base.mixed.union(rows.column("id").to_pylist()),
        left=base.left.difference(wanted),
    )


def without(merge: TableMerge, ids: Iterable[str]) -> TableMerge:
    """The table with some entities recorded as removed by resolutions."""
    return replace(merge, unwanted=merge.unwanted.union(ids))


def _without(table: pa.Table, ids: pa.Array) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table.column("id"), value_set=ids)))
