"""Integrity of the entities of a state, for ``verify``.

Ids are unique and derived from keys, and both endpoints of every edge exist.

Every write ensures this. The check reads all keys, and spills to disk what does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.history.state import ManifestState
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.ends.references import reference_sql, with_types
from omnigraph.rows.keys import derived_ids
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.keys import KeyDatabase, open_keys


def unsound(store: Store, catalog: Catalog, state: ManifestState) -> Iterator[tuple[TablePin, str]]:
    """Integrity errors by table."""
    committed = CommittedKeys(store, state, set())
    with open_keys(KeyDatabase) as keys:

        def take(entity: Entity, table: str, columns: list[str]) -> Iterator[tuple[TablePin, str]]:
            """Read the keys of a type, and report duplicate ids."""
            made = f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM committed"
            keys.run(made, committed=committed.keys(entity, columns))
            repeated = f"(SELECT c0 FROM {table} GROUP BY c0 HAVING count(*) > 1)"
            yield from _report(
                keys, state.tables[entity.table_key], f"{repeated} t(id)", f"duplicate ids of {entity.name}"
            )

        nodes = {name: f"nodes_{number}" for number, name in enumerate(catalog.nodes)}
        for name, node in catalog.nodes.items():
            yield from take(node, nodes[name], ["id"])
            yield from _misnamed(store, state.tables[node.table_key], node)
        for edge in catalog.edges.values():
            yield from take(edge, "edges", ["id", SRC, DST])
            yield from _loose(keys, edge, state.tables[edge.table_key], nodes)
            yield from _misnamed(store, state.tables[edge.table_key], edge)


def _misnamed(store: Store, pin: TablePin, entity: Entity) -> Iterator[tuple[TablePin, str]]:
    """Report ids that their key does not give."""
    count, first = 0, None
    for batch in scan(store, pin, with_types(entity, [ID, *entity.key])) if entity.key else ():
        ids = batch.column(ID)
        wrong = ids.filter(pc.fill_null(pc.not_equal(ids, derived_ids(entity, batch)), True))
        count += len(wrong)
        first = wrong[0].as_py() if first is None and len(wrong) else first
    if count:
        what = f"has {count:,} ids of {entity.name} that differ from their key, such as {first!r}"
        yield pin, what


def _loose(keys: KeyDatabase, edge: EdgeType, pin: TablePin, nodes: dict[str, str]) -> Iterator[tuple[TablePin, str]]:
    """Report edges with a missing endpoint."""
    for end, column in zip(edge.ends, ("c1", "c2"), strict=True):
        joins = "".join(
            f" ANTI JOIN {nodes[name]} n{number} ON e.{column} = {reference_sql(end, name, f'n{number}.c0')}"
            for number, name in enumerate(end.types)
        )
        loose = f"(SELECT e.c0 FROM edges e{joins}) t(id)"
        yield from _report(keys, pin, loose, f"edges {edge.name} with a missing {end.column} node")


def _report(keys: KeyDatabase, pin: TablePin, found: str, what: str) -> Iterator[tuple[TablePin, str]]:
    [(count, first)] = keys.run(f"SELECT count(*), min(id) FROM {found}")
    if count:
        yield pin, f"has {count:,} {what}, such as {first!r}"
