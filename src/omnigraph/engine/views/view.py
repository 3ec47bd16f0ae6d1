"""A lazy view of one type at one commit: filters, columns and a limit are pushed to storage when rows are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from omnigraph.core.calls.arguments import checked_methods
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.tabular import BATCH_ROWS, Tabular
from omnigraph.engine.views.source import ViewSource
from omnigraph.engine.views.storage_filter import DividedFilter, divide
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.query import expressions as ir
from omnigraph.query.standalone.row_filter import compile_filter, equals
from omnigraph.rows.arrow_types import Entity, result_schema, table_schema
from omnigraph.rows.ends.references import shown_names
from omnigraph.rows.write.results import python_rows
from omnigraph.schema.types import PropertyType

SHOWN_ROWS = 10


@checked_methods("view")
@dataclass(frozen=True, repr=False)
class EntityView(Tabular, Displayed):
    """The nodes or edges of one type at one commit. Nothing is read before rows are wanted.

    ``where``, ``select`` and ``limit`` return narrower views. Rows come in storage order; columns are ``id``, for edges
    ``src`` and ``dst``, then the properties in the order of the schema.
    """

    snapshot: ViewSource
    entity: Entity
    predicate: ir.Expr = ir.TRUE
    names: tuple[str, ...] | None = None
    skipped: int = 0
    rows_max: int | None = None
    _known_length: list[int] = field(default_factory=list, compare=False)

    @property
    def type_name(self) -> str:
        """The name of the type."""
        return self.entity.name

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns and their Arrow types."""
        # The order of the schema text costs a request, which chosen columns do not need.
        shown = result_schema(self.entity)
        names = self.snapshot.column_order(self.entity) if self.names is None else self.names
        return pa.schema([shown.field(name) for name in names])

    def where(self, text: str | None = None, /, **equal: Any) -> EntityView:
        """Only entities for which a filter holds, such as ``where("age > 30 and city is null")``.

        The text is an expression of the query language over the properties. Keywords compare with a value
        (``where(name="Ann")``), with any of several (``age=[30, 40]``) or with null (``age=None``). Filters of repeated
        calls must all hold.
        """
        types = self.column_types()
        parts = [self.predicate]
        if text is not None:
            parts.append(compile_filter(text, self.snapshot.catalog, types, self.type_name))
        parts.append(equals(types, self.type_name, equal))
        if self.skipped or self.rows_max is not None:
            raise UsageError("a filter follows a limit", hint="filter first: .where(...).limit(...)")
        return replace(self, predicate=ir.conjunction(tuple(parts)) or ir.TRUE, _known_length=[])

    def select(self, *names: str) -> EntityView:
        """Only some columns, in that order."""
        known = shown_names(self.entity, table_schema(self.entity).names)
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known) or f"its columns are {', '.join(known)}"
                raise NotFoundError(f"{self.type_name} has no column {name!r}", hint=hint, column=name)
        if not names:
            raise UsageError("no column is selected", hint='for example select("id")')
        return replace(self, names=tuple(dict.fromkeys(names)))

    def limit(self, rows: int) -> EntityView:
        """At most that many entities."""
        if rows < 0:
            raise UsageError(f"{rows} is not a number of rows", hint="a limit is 0 or more")
        return self._sliced(0, rows)

    def batches(self, rows_max: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows in Arrow batches, read on demand."""
        names, wanted, skipped = self.schema.names, self.rows_max, self.skipped
        for batch in self._scanned(names, rows_max):
            rest = batch.slice(min(skipped, batch.num_rows), wanted)
            skipped = max(0, skipped - batch.num_rows)
            if rest.num_rows:
                yield rest.select(names).cast(self.schema)
            wanted = None if wanted is None else wanted - rest.num_rows
            if wanted == 0:
                return

    def __len__(self) -> int:
        """The number of entities; counted by storage if there is a filter."""
        if not self._known_length:
            whole = self._counted()
            stop = whole if self.rows_max is None else min(whole, self.skipped + self.rows_max)
            self._known_length.append(max(0, stop - self.skipped))
        return self._known_length[0]

    def __bool__(self) -> bool:
        return self.first() is not None

    def _counted(self) -> int:
        if self.predicate == ir.TRUE and self.snapshot.visible is None:
            return self.snapshot.manifest.tables[self.entity.table_key].rows
        return sum(batch.num_rows for batch in self._scanned(["id"], BATCH_ROWS))

    @cached_property
    def _divided(self) -> DividedFilter:
        return divide(self.entity, self.predicate)

    def _scanned(self, names: Sequence[str], rows_max: int) -> Iterator[pa.RecordBatch]:
        """Batches of all rows that the filter keeps, with at least the named columns."""
        if not self.snapshot.manifest.tables[self.entity.table_key].rows or self.rows_max == 0:
            return
        read = list(dict.fromkeys([*names, *self._divided.columns]))
        # A small limit needs a small first batch; storage reads whole batches.
        size = rows_max if self.rows_max is None else max(1, min(rows_max, self.skipped + self.rows_max))
        with self.snapshot.reading():
            # The data rules come first: a filter that may fail never sees a hidden entity.
            stored = self.snapshot.scanned(self.entity, read, self._divided.stored, batch_rows=size)
            yield from map(self._divided.matching, stored)

    def column_types(self) -> dict[str, PropertyType]:
        """The columns that a filter may name."""
        properties = self.entity.properties
        names = shown_names(self.entity, table_schema(self.entity).names)
        keys = [name for name in names if name not in properties]
        return {**dict.fromkeys(keys, ir.TEXT), **{name: prop.type for name, prop in properties.items()}}

    def _sliced(self, start: int, stop: int) -> EntityView:
        rows = stop - start if self.rows_max is None else max(0, min(stop, self.rows_max) - start)
        return replace(self, skipped=self.skipped + start, rows_max=rows, _known_length=[])

    def _selected(self, names: Sequence[str]) -> EntityView:
        return self.select(*names)

    def _display(self) -> Display:
        rows = python_rows(self.head(SHOWN_ROWS).arrow())
        noun = self.entity.table_key.partition(":")[0]
        where = f" at {self.snapshot.commit_id} of {self.snapshot.branch}"
        title = f"{self.type_name}: {counted(len(self), noun)}{where}"
        return Display(title, self.columns, [list(row.values()) for row in rows], len(self) - len(rows))
