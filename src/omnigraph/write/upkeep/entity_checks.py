"""Integrity of the entities of a state, for ``verify``.

Ids are unique and derived from keys, and both endpoints of every edge exist.

Every write ensures this. The check reads all keys, and spills to disk what does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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

_Content = tuple[str, str, int]
"""The dependencies of the check of one table: the schema, and the location and version of the table."""


@contextmanager
def entity_checks(store: Store) -> Iterator[EntityChecks]:
    """Checks of several states, with a database for their keys."""
    with open_keys(KeyDatabase) as keys:
        yield EntityChecks(store, keys)


class EntityChecks:
    """Checks of several states. Of the table versions that states share, each is checked once for each schema."""

    def __init__(self, store: Store, keys: KeyDatabase) -> None:
        self._store, self._keys = store, keys
        self._loaded: dict[str, _Content] = {}
        """The content of the tables of the database."""
        self._found: dict[tuple[_Content, ...], list[str]] = {}

    def unsound(self, catalog: Catalog, state: ManifestState) -> Iterator[tuple[TablePin, str]]:
        """Integrity errors by table."""
        tables = {name: f"nodes_{number}" for number, name in enumerate(catalog.nodes)}
        for name, node in catalog.nodes.items():
            contents: tuple[_Content, ...] = (_content(state, node),)
            if contents not in self._found:
                self._load(state, node, tables[name], [ID])
                self._found[contents] = [
                    *self._repeated(node, tables[name]),
                    *self._misnamed(state.tables[node.table_key], node),
                ]
            yield from ((state.tables[node.table_key], what) for what in self._found[contents])
        for edge in catalog.edges.values():
            ends = sorted({name for end in edge.ends for name in end.types})
            contents = (_content(state, edge), *(_content(state, catalog.nodes[name]) for name in ends))
            if contents not in self._found:
                for name in ends:
                    self._load(state, catalog.nodes[name], tables[name], [ID])
                self._load(state, edge, "edges", [ID, SRC, DST])
                self._found[contents] = [
                    *self._repeated(edge, "edges"),
                    *self._loose(edge, tables),
                    *self._misnamed(state.tables[edge.table_key], edge),
                ]
            yield from ((state.tables[edge.table_key], what) for what in self._found[contents])

    def _load(self, state: ManifestState, entity: Entity, table: str, columns: list[str]) -> None:
        """Read the keys of a type into a table of the database, if they are not there."""
        content = _content(state, entity)
        if self._loaded.get(table) != content:
            made = f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM committed"
            self._keys.run(made, committed=CommittedKeys(self._store, state, set()).keys(entity, columns))
            self._loaded[table] = content

    def _repeated(self, entity: Entity, table: str) -> Iterator[str]:
        """Report duplicate ids."""
        repeated = f"(SELECT c0 FROM {table} GROUP BY c0 HAVING count(*) > 1)"
        yield from self._report(f"{repeated} t(id)", f"duplicate ids of {entity.name}")

    def _misnamed(self, pin: TablePin, entity: Entity) -> Iterator[str]:
        """Report ids that their key does not give."""
        count, first = 0, None
        for batch in scan(self._store, pin, with_types(entity, [ID, *entity.key])) if entity.key else ():
            ids = batch.column(ID)
            wrong = ids.filter(pc.fill_null(pc.not_equal(ids, derived_ids(entity, batch)), True))
            count += len(wrong)
            first = wrong[0].as_py() if first is None and len(wrong) else first
        if count:
            yield f"has {count:,} ids of {entity.name} that differ from their key, such as {first!r}"

    def _loose(self, edge: EdgeType, tables: Mapping[str, str]) -> Iterator[str]:
        """Report edges with a missing endpoint."""
        for end, column in zip(edge.ends, ("c1", "c2"), strict=True):
            joins = "".join(
                f" ANTI JOIN {tables[name]} n{number} ON e.{column} = {reference_sql(end, name, f'n{number}.c0')}"
                for number, name in enumerate(end.types)
            )
            loose = f"(SELECT e.c0 FROM edges e{joins}) t(id)"
            yield from self._report(loose, f"edges {edge.name} with a missing {end.column} node")

    def _report(self, found: str, what: str) -> Iterator[str]:
        [(count, first)] = self._keys.run(f"SELECT count(*), min(id) FROM {found}")
        if count:
            yield f"has {count:,} {what}, such as {first!r}"


def _content(state: ManifestState, entity: Entity) -> _Content:
    pin = state.tables[entity.table_key]
    return state.schema_digest, pin.location, pin.lance_version
