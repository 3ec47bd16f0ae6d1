"""Inferred schemas and imports as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.wire.addresses import with_uri
from omnigraph.wire.schemas import schema_text_json
from omnigraph.wire.writes import load_json, write_preview_json

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.schema.importing import ImportPreview, ImportResult
    from omnigraph.ingest.infer.result import InferredSchema, InferredType


def inferred_json(schema: InferredSchema) -> dict[str, Any]:
    """The text of an inferred schema, and the source and the columns of each type."""
    return {**schema_text_json(schema.text), "types": [_type_json(type_) for type_ in schema.types]}


def _type_json(type_: InferredType) -> dict[str, Any]:
    return {
        "name": type_.name,
        "kind": type_.kind,
        "source": type_.source,
        "rows": type_.rows,
        "columns": dict(type_.columns),
        "ignored": list(type_.ignored),
        "guesses": list(type_.guesses),
    }


def import_json(result: ImportResult[Graph]) -> dict[str, Any]:
    """An import: the load, the inferred schema, and if the graph is new."""
    form = {"created": result.created, **load_json(result.load), "inferred": inferred_json(result.schema)}
    return with_uri(result.graph.uri, form)


def import_preview_json(uri: str, preview: ImportPreview) -> dict[str, Any]:
    """The dry run of an import."""
    form = {"would_create": preview.creates, **write_preview_json(preview.counts)}
    return with_uri(uri, {**form, "inferred": inferred_json(preview.schema)})
