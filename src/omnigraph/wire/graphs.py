"""Graphs as JSON: a new graph, the tables of a snapshot, external types, an export, the schema text, and blobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.engine.blobs import Blob
    from omnigraph.engine.external.result import ExternalTypeInfo
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.snapshot import Snapshot
    from omnigraph.schema.catalog import Catalog


def created_json(graph: Graph, catalog: Catalog) -> dict[str, Any]:
    """A graph that was just created, with the names of its types."""
    return {
        "uri": graph.uri,
        "graph_id": graph.id,
        "graph_commit_id": graph.snapshot().commit_id,
        "nodes": sorted(catalog.nodes),
        "edges": sorted(catalog.edges),
    }


def snapshot_json(snapshot: Snapshot) -> dict[str, Any]:
    """The tables of a snapshot, edges first, with the commit they belong to."""
    from omnigraph.manifest.layout import FORMAT

    state, counts = snapshot.manifest, snapshot.counts()
    return {
        "graph_branch": state.branch,
        "graph_commit_id": state.head,
        "graph_manifest_version": state.counter,
        "internal_schema_version": FORMAT,
        "datasets": [
            {
                "entity_kind": key.split(":", 1)[0],
                "type_name": key.split(":", 1)[1],
                "dataset_path": pin.location,
                "published_dataset_version": pin.table_version,
                "native_dataset_branch": None,
                "entity_count": count,
            }
            for key, count in sorted(counts.items())
            for pin in (state.tables[key],)
        ],
    }


def health_json(version: str, storage_format: int) -> dict[str, Any]:
    """A server that runs."""
    return {"status": "ok", "version": version, "internal_schema_version": storage_format}


def graph_list_json(graphs: Mapping[str, str]) -> dict[str, Any]:
    """The graphs of a server by id, with their addresses."""
    return {"graphs": [{"graph_id": name, "uri": uri} for name, uri in sorted(graphs.items())]}


def exported_json(uri: str, out: str, commit_id: str, entities: int, size: int) -> dict[str, Any]:
    """A snapshot that was exported to the file ``out``; ``size`` in bytes."""
    return {"uri": uri, "out": out, "graph_commit_id": commit_id, "entities": entities, "bytes": size}


def blob_json(selector: Mapping[str, str], blob: Blob, *, branch: str | None) -> dict[str, Any]:
    """The size and tag of a blob. ``branch`` is None for a blob that was read at a commit or time."""
    target = {"snapshot": blob.commit_id} if branch is None else {"branch": branch}
    return {
        "selector": dict(selector),
        "kind": "managed",
        "size": blob.size,
        "etag": blob.etag,
        "target": {**target, "resolved_snapshot": blob.commit_id},
    }


def written_blob_json(blob: Blob, out: str, size: int) -> dict[str, Any]:
    """Bytes of a blob that were written to the file ``out``."""
    return {"out": out, "bytes": size, "graph_commit_id": blob.commit_id}


def external_types_json(types: Iterable[ExternalTypeInfo]) -> dict[str, Any]:
    """The external types of a snapshot."""
    return {"external_types": [external_type_json(item) for item in types]}


def external_type_json(item: ExternalTypeInfo) -> dict[str, Any]:
    """One external type; ``version`` is null for files, and ``problem`` if the files are as they were sealed."""
    return {
        "kind": item.kind,
        "name": item.name,
        "format": item.format,
        "address": item.address,
        "version": item.version,
        "files": item.files,
        "bytes": item.bytes,
        "rows": item.rows,
        "problem": item.problem,
    }
