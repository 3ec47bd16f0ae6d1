"""Three-way merge of one table: the changes of both sides since the base become one delta on the target, and conflicts.

Entities are classified by the change of each side. The decision table (``history.merge``) is consulted once per class,
and its outcome is applied to the whole class as Arrow columns; only conflicts are handled one by one. The result for an
entity depends on no other table and no other entity, so Spark can merge disjoint sets of ids independently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.compare.tables import TableChanges, flat
from omnigraph.history.conflicts import ConflictKind, MergeConflict, Take
from omnigraph.history.merge import RowOutcome, Seen, decide_row
from omnigraph.rows.arrow_types import Entity, as_results
from omnigraph.rows.compare import match
from omnigraph.rows.write.results import result_rows
from omnigraph.storage.tables.difference import ADDRESS
from omnigraph.write.merge.images import LOCATED, SOURCE, Changed, Sides, classes, located, merged_schema, placed
from omnigraph.write.merge.properties import merge_properties
from omnigraph.write.merge.table import TableMerge


@dataclass
class RowMerge:
    """One table being merged."""

    sides: Sides
    source: TableChanges
    target: TableChanges
    rows: list[pa.Table] = field(default_factory=list)
    gone_from_base: list[pa.Table] = field(default_factory=list)
    gone_from_target: list[pa.Table] = field(default_factory=list)
    conflicts: list[MergeConflict] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)

    @property
    def entity(self) -> Entity:
        return self.sides.entity

    def run(self) -> TableMerge:
        """Merge all entities."""
        for source in classes(self.source):
            rest = pa.array(range(source.rows.num_rows), pa.int64())
            ids = flat(source.rows, "id")
            for target in classes(self.target):
                found = match(ids.take(rest), flat(target.rows, "id"))
                if len(found.before):
                    self._both(source.at(rest.take(found.before)), target.at(found.after))
                    rest = rest.take(found.only_before)
            self._alone(source.at(rest))
        schema = merged_schema(self.entity)
        return TableMerge(
            self.entity,
            pa.concat_tables([schema.empty_table(), *self.rows]),
            pa.concat_tables([LOCATED.empty_table(), *self.gone_from_base]),
            pa.concat_tables([LOCATED.empty_table(), *self.gone_from_target]),
            tuple(self.conflicts),
            frozenset(self.mixed),
        )

    def _alone(self, source: Changed) -> None:
        """Apply entities that only the source changed."""
        match decide_row(source.seen, Seen.SAME):
            case RowOutcome.TAKE:
                self.rows.append(placed(self.entity, source.rows, side=SOURCE))
            case RowOutcome.DELETE:
                pass
            case outcome:
                raise AssertionError(f"unexpected outcome for a change of the source alone: {outcome}")
        if source.base is not None:
            # A virtual base has no rows of its own: its addresses are those of the target.
            gone = self.gone_from_target if self.sides.is_crossed else self.gone_from_base
            gone.append(located(source.base))

    def _both(self, source: Changed, target: Changed) -> None:
        """Apply entities that both sides changed."""
        match decide_row(source.seen, target.seen):
            case RowOutcome.KEEP:
                return
            case RowOutcome.BY_PROPERTY:
                merged = merge_properties(self.sides, source, target)
                self.rows.append(merged.rows)
                self.mixed.extend(merged.rows.column("id").to_pylist())
                self.gone_from_target.append(merged.replaced)
                self.conflicts.extend(merged.conflicts)
            case RowOutcome.DELETE_VS_UPDATE:
                settled = self._settle_rows(ConflictKind.DELETE_VS_UPDATE, target, "deleted", "changed")
                self.gone_from_target.append(located(target.rows.filter(settled)))
            case RowOutcome.UPDATE_VS_DELETE:
                settled = self._settle_rows(ConflictKind.UPDATE_VS_DELETE, source, "changed", "deleted")
                self.rows.append(placed(self.entity, source.rows.filter(settled), side=SOURCE))
            case outcome:
                raise AssertionError(f"unexpected outcome for a change of both sides: {outcome}")

    def _settle_rows(self, kind: ConflictKind, changed: Changed, source: str, target: str) -> pa.BooleanArray:
        """Resolve or report conflicts of whole entities; returns a mask of those resolved in favour of the source.

        ``changed`` holds the entities of the side that did not delete them.
        """
        assert changed.base is not None
        assert changed.differs is not None
        side = "target" if kind is ConflictKind.DELETE_VS_UPDATE else "source"
        shown = changed.rows.drop_columns([ADDRESS])
        sides = (changed.base.select(shown.column_names), shown)
        images = zip(*(result_rows(as_results(self.entity, rows)) for rows in sides), strict=True)
        chosen: list[bool] = []
        for row, (before, after) in enumerate(images):
            names = [name for name, mask in changed.differs.items() if mask[row].as_py()]
            values: dict[str, Any] = {"base": _only(before, names), side: _only(after, names)}
            message = f"the source {source} and the target {target} '{after['id']}'"
            chosen.append(
                self._settle(MergeConflict(self.entity.table_key, after["id"], kind, message=message, **values))
            )
        return pa.array(chosen, pa.bool_())

    def _settle(self, conflict: MergeConflict) -> bool:
        """Resolve or report one conflict; True if it is resolved in favour of the source."""
        resolution = self.sides.rules.resolutions.of(conflict)
        if resolution is None:
            self.conflicts.append(conflict)
        return resolution is not None and resolution.take is Take.SOURCE


def _only(row: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: row[name] for name in names}
