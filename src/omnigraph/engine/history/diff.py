"""The difference of any two snapshots: counts first, then every change with both images."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.compare.tables import table_changes
from omnigraph.core.display import Display, Displayed, counted, html_table
from omnigraph.core.tables import TablePin
from omnigraph.engine.history.change_rows import ChangeRows, Pins, change_rows, kind_of
from omnigraph.engine.history.visible_changes import restricted, visible_changes
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import NotFoundError
from omnigraph.history.changes import Change, ChangeFilter, Counts, Image, Op, change_text
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog, is_named, type_named, types_named

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped] # has no types of its own

    from omnigraph.engine.picture.picture import Picture

SHOWN_CHANGES = 10

_FLAT_SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string()),
        pa.field("type", pa.string()),
        pa.field("id", pa.string()),
        pa.field("op", pa.string()),
        pa.field("changed", pa.list_(pa.string())),
        pa.field("before", pa.json_()),
        pa.field("after", pa.json_()),
    ]
)


@dataclass(frozen=True)
class TableDiff:
    """The changes of one type, in the order of ids."""

    rows: ChangeRows = field(repr=False)

    @property
    def key(self) -> str:
        """The type as ``node:Person``."""
        return self.rows.entity.table_key

    @property
    def counts(self) -> Counts:
        return Counts(*(self.rows.count(op) for op in Op))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Change]:
        return self.rows.shown()

    def __repr__(self) -> str:
        return f"<TableDiff {self.key}: {self.counts}>"

    def head(self, limit: int) -> Iterator[Change]:
        """The first changes."""
        return self.rows.slice(0, limit).shown()

    def to_arrow(self) -> pa.Table:
        """``op``, ``id``, ``changed``, and the structs ``before`` and ``after`` with the properties in their types."""
        return self.rows.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        return self.to_arrow().to_pandas()


class TableDiffs(Displayed):
    """Changes of several types: counts, and every change with both images."""

    @property
    def tables(self) -> tuple[TableDiff, ...]:
        """The types that differ: nodes, then edges."""
        raise NotImplementedError

    @property
    def _title(self) -> str:
        raise NotImplementedError

    def __iter__(self) -> Iterator[TableDiff]:
        return iter(self.tables)

    def __getitem__(self, key: str) -> TableDiff:
        found = [table for table in self.tables if is_named(table.rows.entity, key)]
        if not found:
            raise NotFoundError(f"nothing of {key!r} differs", table=key)
        entity = type_named([table.rows.entity for table in found], key)
        return next(table for table in found if table.rows.entity is entity)

    def __len__(self) -> int:
        return self.total.total

    def __bool__(self) -> bool:
        return bool(self.tables)

    @property
    def counts(self) -> Mapping[str, Counts]:
        """Changes by type, such as ``node:Person``."""
        return {table.key: table.counts for table in self.tables}

    @property
    def total(self) -> Counts:
        return sum(self.counts.values(), Counts())

    def changes(self, limit: int | None = None, *, offset: int = 0) -> Iterator[Change]:
        """Every change, or ``limit`` of them after the first ``offset``: nodes before edges, by type and id."""
        left = len(self) if limit is None else limit
        skipped = offset
        for table in self.tables:
            shown = table.rows.slice(min(skipped, len(table)), left)
            yield from shown.shown()
            left -= len(shown)
            skipped -= min(skipped, len(table))

    def _display(self) -> Display:
        lines = [f"{key}: {counts}" for key, counts in self.counts.items()]
        changes = changes_lines("", self.changes(SHOWN_CHANGES), len(self))
        notes = [f"  {line}" for line in changes.lines or ()]
        rest = [f"  ... {changes.more:,} more"] if changes.more > 0 else []
        return Display(f"{self._title}: {self.total}", lines=lines, notes=[*notes, *rest])

    def _repr_html_(self) -> str:
        rows = [(key, item.inserted, item.updated, item.deleted) for key, item in self.counts.items()]
        counts = html_table(counted(len(self), "change"), ("type", "inserted", "updated", "deleted"), rows)
        shown = changes_lines(f"the first {min(len(self), SHOWN_CHANGES)}", self.changes(SHOWN_CHANGES), len(self))
        return counts + (shown.html() if rows else "")

    def to_arrow(self, limit: int | None = None, *, offset: int = 0) -> pa.Table:
        """Changes of all types as one table, images as JSON texts. ``diff["Person"].to_arrow()`` has typed ones."""
        return changes_table(self.changes(limit, offset=offset))

    def to_pandas(self, limit: int | None = None) -> pandas.DataFrame:
        return self.to_arrow(limit).to_pandas()


@dataclass(frozen=True, repr=False)
class Diff(TableDiffs):
    """The changes that turn the first snapshot into the second.

    Entities are matched by id and types by their stable id, so a renamed type is no change. Values have the types of
    the second snapshot's schema. ``before`` is None for the difference to an empty graph.
    """

    before: Snapshot | None = field(repr=False)
    after: Snapshot = field(repr=False)
    chosen: ChangeFilter = field(default_factory=ChangeFilter)

    @cached_property
    def tables(self) -> tuple[TableDiff, ...]:
        """The types that differ: nodes, then edges, each in the order in which types were made."""
        found = [rows for rows in diff_rows(self.before, self.after, self.chosen) if len(rows)]
        return tuple(TableDiff(rows.ordered(self._columns(rows.entity))) for rows in found)

    def _columns(self, entity: Entity) -> list[str]:
        """The columns of a type in the order of its schema text; a type that was dropped has the older schema."""
        snapshot = self.after if entity in self.after.entities() or self.before is None else self.before
        return snapshot.column_order(entity)

    @property
    def _title(self) -> str:
        before = "nothing" if self.before is None else self.before.commit_id
        return f"Diff {before} -> {self.after.commit_id}"

    def draw(self, *, limit: int = 2_000, height: int = 520) -> Picture:
        """An interactive picture of the changed entities, each with a sign, and of their neighbours.

        More changes than the ``limit`` are drawn by type, with their numbers.
        """
        from omnigraph.engine.picture.draw import draw_changes

        before = "nothing" if self.before is None else self.before.commit_id
        return draw_changes(self, (), f"{before} to {self.after.commit_id}: {self.total}", limit, height)


@dataclass(frozen=True, repr=False)
class PlannedChanges(TableDiffs):
    """The changes that a write would make to a branch."""

    branch: str
    planned: tuple[TableDiff, ...] = ()

    @property
    def tables(self) -> tuple[TableDiff, ...]:
        return self.planned

    @property
    def _title(self) -> str:
        return f"PlannedChanges on {self.branch}"


def changes_lines(title: str, changes: Iterable[Change], total: int) -> Display:
    """The first changes, one line each."""
    lines = [change_text(change) for change in islice(changes, SHOWN_CHANGES)]
    return Display(title, ("change",), [(line,) for line in lines], total - len(lines), lines)


def changes_table(changes: Iterable[Change]) -> pa.Table:
    """Changes of any types, images as JSON texts."""
    rows = [
        {
            "kind": change.kind,
            "type": change.type_name,
            "id": change.id,
            "op": change.op.value,
            "changed": list(change.changed),
            "before": _image_text(change.before),
            "after": _image_text(change.after),
        }
        for change in changes
    ]
    return pa.Table.from_pylist(rows, schema=_FLAT_SCHEMA)


def _image_text(image: Image | None) -> str | None:
    return None if image is None else json.dumps(image.to_json(), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class ChangedTable:
    """A table whose version differs between two snapshots; a pin is None where the type does not exist."""

    location: str
    entity: Entity
    pins: Pins
    catalog: Catalog
    """The schema that has the type: the later one, unless the type was dropped there."""


def changed_tables(before: Snapshot | None, after: Snapshot, chosen: ChangeFilter) -> Iterator[ChangedTable]:
    """The tables to compare, in the order of changes; a type whose table has the same version is skipped."""
    old, new = _tables(before), _tables(after)
    for location in sorted({*old, *new}, key=_order):
        entity, pin = new.get(location, (None, None))
        old_entity, old_pin = old.get(location, (None, None))
        known = entity or old_entity
        assert known is not None
        # A renamed type matches by either name.
        is_wanted = any(chosen.wants_type(kind_of(known), item.name) for item in (entity, old_entity) if item)
        if is_wanted and not _is_same(old_pin, pin):
            catalog = after.catalog if entity is not None or before is None else before.catalog
            yield ChangedTable(location, known, (old_pin, pin), catalog)


def diff_rows(before: Snapshot | None, after: Snapshot, chosen: ChangeFilter) -> Iterator[ChangeRows]:
    """The changes type by type."""
    for table in changed_tables(before, after, chosen):
        with nullcontext() if before is None else before.reading(), after.reading():
            found = change_rows(table_changes(after.store, table.entity, *table.pins), table.location, table.pins)
            visible = visible_changes(found, before, after, table.catalog)
        if visible is not None:
            # Filtered by operation afterwards: an entity that becomes visible is an insert.
            yield visible.wanted(chosen)


def _tables(snapshot: Snapshot | None) -> dict[str, tuple[Entity, TablePin]]:
    if snapshot is None:
        return {}
    pins = snapshot.state.tables
    return {pins[item.table_key].location: (item, pins[item.table_key]) for item in snapshot.entities()}


def _order(location: str) -> tuple[bool, str]:
    """Nodes before edges, older types before younger ones."""
    return location.startswith("edge"), location


def _is_same(before: TablePin | None, after: TablePin | None) -> bool:
    return before is not None and after is not None and before.lance_version == after.lance_version


def compare(before: Snapshot, after: Snapshot, chosen: ChangeFilter) -> Diff:
    """The difference of two snapshots, computed when it is read."""
    check_types(chosen, restricted(before), restricted(after))
    return Diff(before, after, chosen)


def check_types(chosen: ChangeFilter, *snapshots: Snapshot) -> None:
    """Refuse a filter by a type that neither side has."""
    known = [entity for snapshot in snapshots for entity in snapshot.entities()]
    for name in sorted(chosen.types or ()):
        types_named(known, name)
