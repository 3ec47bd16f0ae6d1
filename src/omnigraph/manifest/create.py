"""Creating a graph: tables, schema, first manifest, and last the stamp that makes it a graph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import pyarrow as pa

from omnigraph.core.commit import CommitKind, GraphCommit, ManifestPlace
from omnigraph.core.tables import FileRecord, TableId, TablePin
from omnigraph.errors import AlreadyExistsError, StorageError
from omnigraph.history.state import ManifestState, from_rows, to_rows
from omnigraph.manifest.commit_log import create_log
from omnigraph.manifest.layout import FORMAT, MAIN, MAIN_MANIFEST, STAMP_PATH, Stamp, rows_from_arrow, rows_to_arrow
from omnigraph.manifest.schemas import read_schema, store_schema
from omnigraph.schema.ir import SchemaIR
from omnigraph.schema.json_form import digest, shape_hash
from omnigraph.storage.objects.protocol import honours_create_if_absent
from omnigraph.storage.publish.swap import SwapLost, create_manifest, latest_manifest
from omnigraph.storage.stage import staging
from omnigraph.storage.tables.store import Store


def create_graph(
    store: Store,
    schema: SchemaIR,
    schema_text: str,
    table_schemas: Mapping[TableId, tuple[str, pa.Schema]],
    external: tuple[Mapping[str, TablePin], Sequence[FileRecord]] = ({}, ()),
    *,
    commit_id: str,
    graph_id: str,
    created_at_us: int,
    actor: str | None,
) -> Stamp:
    """Write a new graph. Without the stamp there is no graph, so a creation that crashed can be repeated.

    ``external`` are the pins of external types and the files that are stored for them.
    """
    refuse_existing(store)
    check_conditional(store)
    place = ManifestPlace(graph_id, 1, 1)
    schema_digest = digest(schema)
    schema_files = store_schema(store, schema, schema_text)
    pins, table_files = create_tables(store, table_schemas)
    log, log_files = create_log(store)
    commit = GraphCommit(
        commit_id,
        (),
        MAIN,
        CommitKind.INIT,
        created_at_us,
        place,
        schema_digest,
        actor,
        "create the graph",
        files=(*schema_files, *table_files, *external[1], *log_files),
    )
    tables = {**pins, **external[0]}
    state = ManifestState(MAIN, graph_id, 1, 1, commit_id, schema_digest, tables, (commit,), log)
    try:
        create_manifest(store, MAIN_MANIFEST, rows_to_arrow(to_rows(state)))
    except SwapLost:
        return _finish_other(store, schema)
    return _write_stamp(store, Stamp(FORMAT, graph_id, created_at_us))


def check_conditional(store: Store) -> None:
    """Refuse a store on which two writers could both win."""
    if not honours_create_if_absent(store.objects):
        raise StorageError(
            f"the store at {store.root} ignores create-if-absent (If-None-Match): writers would overwrite each other",
            hint="use a store that honours conditional writes, such as a local disk or a bucket with If-None-Match",
        )


def refuse_existing(store: Store) -> None:
    """Raise if there is a graph or a file already."""
    if store.objects.read(STAMP_PATH) is not None:
        raise AlreadyExistsError(f"there is a graph at {store.root} already", hint="open it, or choose another place")
    if store.root.path is not None and os.path.isfile(store.root.path):
        raise AlreadyExistsError(f"{store.root} is a file", hint="a graph is a directory: choose another place")


def _finish_other(store: Store, schema: SchemaIR) -> Stamp:
    """Complete the graph of another creator that crashed or is still running: it has a manifest without a stamp.

    With the same schema both graphs are equal.
    """
    found = latest_manifest(store, MAIN_MANIFEST)
    assert found is not None
    state = from_rows(rows_from_arrow(found[1]), found[0].version)
    if shape_hash(read_schema(store, state.schema_digest)) != shape_hash(schema):
        raise AlreadyExistsError(
            f"a graph with another schema was being created at {store.root} and was not completed",
            hint="delete the directory, or run the creation with that schema to complete it",
        )
    return _write_stamp(store, Stamp(FORMAT, state.incarnation, state.commits[0].created_at_us))


def _write_stamp(store: Store, stamp: Stamp) -> Stamp:
    if not store.objects.create(STAMP_PATH, stamp.to_bytes()):
        raise AlreadyExistsError(f"there is a graph at {store.root} already", hint="open it, or choose another place")
    return stamp


def create_tables(
    store: Store, table_schemas: Mapping[TableId, tuple[str, pa.Schema]]
) -> tuple[dict[str, TablePin], list[FileRecord]]:
    """Create empty, durable tables; returns their pins by key, and their files."""
    pins: dict[str, TablePin] = {}
    staged = []
    for table, (key, columns) in table_schemas.items():
        version = staging.create_table(store, table.location, columns)
        staged.append(version)
        pins[key] = TablePin(key, table.location, version.version, 1, 0)
    staging.sync_created(store, staged)
    return pins, [record for version in staged for record in version.files]
