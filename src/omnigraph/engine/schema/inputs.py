"""The schema of a new graph as a caller hands it over: text, file, inferred schema, or data to infer it from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.engine.schema.run import schema_source
from omnigraph.errors import UsageError
from omnigraph.lang.source import Source, is_file_name

if TYPE_CHECKING:
    from omnigraph.ingest.infer.result import InferredSchema

_SCHEMA_SUFFIX = ".pg"


@dataclass(frozen=True, slots=True)
class SchemaInput:
    """The schema of a new graph, and the data that it was inferred from if that is to be loaded too."""

    source: Source
    data: InferredSchema | None = None


def schema_input(schema: Any, options: Mapping[str, str]) -> SchemaInput:
    """The schema in an argument. Files, frames and graphs of other libraries are data: their schema is inferred."""
    from omnigraph.ingest.infer.result import InferredSchema

    if isinstance(schema, InferredSchema):
        return SchemaInput(Source(schema.text, "<schema>"))
    if isinstance(schema, str):
        _refuse_file_names(schema)
        return SchemaInput(schema_source(schema))
    if isinstance(schema, os.PathLike) and not _is_data(os.fspath(schema)):
        return SchemaInput(schema_source(schema))
    if schema is None or isinstance(schema, bytes | int | float):
        raise UsageError(
            f"a schema is a text, a pathlib.Path, or data to infer it from, not {schema!r}",
            hint='write omnigraph.create("graph.omni", "node Person { name: String @key }")',
        )
    from omnigraph.ingest.infer.run import infer

    inferred = infer(schema, options)
    return SchemaInput(Source(inferred.text, "<inferred schema>"), inferred)


def _is_data(path: str) -> bool:
    """Tell if a path names data by its suffix, or is a directory of data files."""
    from omnigraph.ingest.infer.inputs import is_data_name

    return is_data_name(path) or os.path.isdir(path)


def _refuse_file_names(text: str) -> None:
    """Raise for the name of a file in place of a text: a text would fail with a syntax error at its first word."""
    name = text.strip()
    if not is_file_name(name):
        return
    if name.lower().endswith(_SCHEMA_SUFFIX) or not _is_data(name):
        hint = f"read the schema from the file: omnigraph.create(place, pathlib.Path({name!r}))"
    else:
        hint = f"infer the schema of the file and load it: omnigraph.create(place, [{name!r}])"
    raise UsageError(f"{name!r} is the name of a file, but a text in place of a schema is the schema itself", hint=hint)
