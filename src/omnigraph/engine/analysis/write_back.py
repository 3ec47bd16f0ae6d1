"""Writing a value of every node into one property, as one commit, however many nodes there are.

The nodes are read as they are on the branch, get their value, and go through the load that any rows go through. That
load replaces whole rows, so it is only published if the branch is still what was read; else all is read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.suggestions import did_you_mean
from omnigraph.core.tables import TablePin
from omnigraph.errors import ContentionError, PreconditionFailed, UsageError
from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.rows.arrow_types import ID, table_schema
from omnigraph.rows.typed_rows import TypedRows, counting
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.outcome import Loaded
from omnigraph.write.load.plan import SourcedRows
from omnigraph.write.load.rows import load_rows
from omnigraph.write.type_tables import refuse_external

if TYPE_CHECKING:
    from omnigraph.engine.load.run import LoadJob

ATTEMPTS_MAX = 8
"""Times that all is read again because others wrote to the branch meanwhile."""


@dataclass(frozen=True)
class WriteBack:
    """A loader for ``Graph.load_with``: the values of all nodes, by number, as a property of some types."""

    space: NodeSpace
    property: str
    values: pa.Array
    types: Sequence[str] | None = None

    def __call__(self, job: LoadJob) -> Loaded:
        manifests = job.context.manifests
        for _ in range(ATTEMPTS_MAX):
            state = manifests.fresh(job.incarnation)
            catalog = manifests.catalog(state.schema_digest)
            nodes = [self._checked(catalog, name) for name in self._chosen()]
            rows = self._rows(job.context.store, state.tables, nodes)
            options = replace(job.options, expected_head=state.head)
            try:
                return load_rows(
                    job.context,
                    job.incarnation,
                    rows,
                    LoadMode.MERGE,
                    Violations(),
                    job.info,
                    options,
                    finish=job.finish,
                )
            except PreconditionFailed:
                continue
        raise ContentionError(
            f"others wrote to the branch in each of {ATTEMPTS_MAX} attempts", hint="write to a branch of your own"
        )

    def _chosen(self) -> list[str]:
        known = list(self.space.tables)
        for name in self.types or ():
            if name not in known:
                hint = did_you_mean(name, known) or f"node types are {', '.join(known)}"
                raise UsageError(f"no {name!r} took part", hint=hint, type=name)
        return known if self.types is None else list(dict.fromkeys(self.types))

    def _checked(self, catalog: Catalog, name: str) -> NodeType:
        """The type, if its property can hold the values."""
        node = catalog.nodes.get(name)
        wanted = "F64?" if pa.types.is_floating(self.values.type) else "I64?"
        line = f"{self.property}: {wanted}"
        if node is None:
            raise UsageError(f"node type {name} is not on this branch", type=name)
        refuse_external(node)
        prop = node.properties.get(self.property)
        facts = {"type": name, "property": self.property, "declaration": line}
        if prop is None:
            others = ", or leave the type out with types=" if len(self.space.tables) > 1 else ""
            raise UsageError(
                f"node type {name} has no property {self.property!r}",
                hint=f"add the line `{line}` to node {name} in the schema{others}",
                **facts,
            )
        if self.property in node.key:
            raise UsageError(f"{name}.{self.property} is the key, which says who a node is", **facts)
        fits = prop.type.is_number and (prop.type.scalar.is_float or not pa.types.is_floating(self.values.type))
        if not fits:
            raise UsageError(
                f"{name}.{self.property} is {prop.type}, which cannot hold the values",
                hint=f"declare it as `{line}`",
                **facts,
            )
        return node

    def _rows(self, store: Store, pins: Mapping[str, TablePin], nodes: Sequence[NodeType]) -> Iterator[SourcedRows]:
        for node in nodes:
            pin = pins[node.table_key]
            names = table_schema(node).names
            read = 0
            for batch in scan(store, pin, names, blobs_as_bytes=True, batch_rows=store.tuning.analysed_batch_rows):
                changed = self._changed(node, pin, batch, read)
                read += batch.num_rows
                if changed.num_rows:
                    yield f"{node.name}.{self.property}", TypedRows(node, changed, counting(1, changed.num_rows))

    def _changed(self, node: NodeType, pin: TablePin, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """The rows that get another value than they have."""
        schema = table_schema(node)
        given, was_there = self.space.values_for(node.name, pin, batch.column(ID), first, self.values)
        new = self._cast(given, schema.field(self.property).type)
        old = batch.column(self.property)
        same = pc.or_(pc.fill_null(pc.equal(old, new), False), pc.and_(pc.is_null(old), pc.is_null(new)))
        mask = pc.and_(was_there, pc.invert(same))
        columns = [new if field.name == self.property else batch.column(field.name) for field in schema]
        arrays = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
        nullable = pa.schema([field.with_nullable(True) for field in schema])
        return pa.RecordBatch.from_arrays(arrays, schema=nullable).filter(mask)

    def _cast(self, values: pa.Array, type_: pa.DataType) -> pa.Array:
        try:
            return values.cast(type_, safe=not pa.types.is_floating(type_))
        except pa.ArrowInvalid as error:
            raise UsageError(
                f"a value does not fit {self.property}: {error}", hint=f"declare it as `{self.property}: I64?`"
            ) from error
