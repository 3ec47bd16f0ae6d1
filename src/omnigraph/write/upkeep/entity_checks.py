"""Whether the entities of a state fit together: every id is there once, and so is the node at every end of an edge.

Every write sees to that by itself. This looks at all that is there, for ``verify``; what does not fit into memory is
put aside on disk.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.core.tables import TablePin
from omnigraph.history.state import ManifestState
from omnigraph.rows.arrow_types import DST, SRC, Entity
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.keys import KeyDatabase, open_keys


def unsound(store: Store, catalog: Catalog, state: ManifestState) -> Iterator[tuple[TablePin, str]]:
    """What is wrong with the entities, by table."""
    committed = CommittedKeys(store, state, set())
    with open_keys(KeyDatabase) as keys:

        def take(entity: Entity, table: str, columns: list[str]) -> Iterator[tuple[TablePin, str]]:
            """Take in the keys of a type, and look for ids that it has twice."""
            made = f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM committed"
            keys.run(made, committed=committed.keys(entity, columns))
            repeated = f"(SELECT c0 FROM {table} GROUP BY c0 HAVING count(*) > 1)"
            yield from _told(
                keys, state.tables[entity.table_key], f"{repeated} t(id)", f"ids of {entity.name} more than once"
            )

        nodes = {name: f"nodes_{number}" for number, name in enumerate(catalog.nodes)}
        for name, node in catalog.nodes.items():
            yield from take(node, nodes[name], ["id"])
        for edge in catalog.edges.values():
            yield from take(edge, "edges", ["id", SRC, DST])
            yield from _loose(keys, edge, state.tables[edge.table_key], nodes)


def _loose(keys: KeyDatabase, edge: EdgeType, pin: TablePin, nodes: dict[str, str]) -> Iterator[tuple[TablePin, str]]:
    """Edges one of whose nodes is not there."""
    for end, column, node in ((SRC, "c1", edge.source), (DST, "c2", edge.target)):
        loose = f"(SELECT e.c0 FROM edges e ANTI JOIN {nodes[node]} n ON e.{column} = n.c0) t(id)"
        yield from _told(keys, pin, loose, f"edges {edge.name} whose {end} is not there")


def _told(keys: KeyDatabase, pin: TablePin, found: str, what: str) -> Iterator[tuple[TablePin, str]]:
    [(count, first)] = keys.run(f"SELECT count(*), min(id) FROM {found}")
    if count:
        yield pin, f"has {count:,} {what}, such as {first!r}"
