"""Making a new graph from the text of a schema."""

from __future__ import annotations

from omnigraph.core.ports import Clock, IdSource
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.manifest.create import create_graph
from omnigraph.rows.arrow_types import table_schema
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept
from omnigraph.storage.tables.store import Store
from omnigraph.write.type_tables import entities, table_id


def create_from_text(store: Store, schema: str, clock: Clock, ids: IdSource, actor: str | None) -> None:
    """Accept a schema and put an empty table for each of its types where the store is."""
    accepted = accept(parse_schema(Source(schema, "<schema>")), domain=ids.new_id())
    tables = {table_id(entity): (entity.table_key, table_schema(entity)) for entity in entities(Catalog(accepted))}
    create_graph(
        store,
        accepted,
        schema,
        tables,
        commit_id=ids.new_id(),
        graph_id=ids.new_id(),
        created_at_us=clock.now_us(),
        actor=actor,
    )
