"""Schema changes of a batch: types declared and dropped, and columns that a staged version adds, as one edited text.

An edit is relative to the schema that the branch has when the batch is prepared, so it is composed again if another
commit comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.errors import AlreadyExistsError, InputError, MigrationRefused, NotFoundError
from omnigraph.ingest.infer.arrow_columns import declared_type
from omnigraph.lang.declarations.edits import declared_types, edited
from omnigraph.lang.diagnostics import raise_errors
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.manifest.reader import Capture
from omnigraph.manifest.schemas import read_text
from omnigraph.rows.arrow_types import column_type
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True)
class SchemaEdits:
    """Types that a batch declares, by table key with their declaration, and types that it drops.

    A type that has entities is dropped only with ``allow_drop``. Earlier commits keep them.
    """

    declared: Mapping[str, str] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    allow_drop: bool = False


def edited_schema(
    store: Store, capture: Capture, edits: SchemaEdits, added: Mapping[str, Sequence[pa.Field]]
) -> Source | None:
    """The text of the branch's schema after the edits; None if there are none. ``added`` are columns by table key."""
    columns = {key: fields for key, fields in added.items() if fields}
    if not (edits.declared or edits.dropped or columns):
        return None
    parsed = parse_schema(Source(read_text(store, capture.state.schema_digest), "schema.pg"))
    known = declared_types(parsed)
    for key, declaration in edits.declared.items():
        _check_declaration(key, declaration)
        if key in known:
            raise AlreadyExistsError(f"there is a type {key!r} on branch {capture.state.branch}", table=key)
    for key in sorted(edits.dropped):
        if key not in known:
            raise NotFoundError(f"there is no type {key!r} on branch {capture.state.branch}", table=key)
        rows = capture.state.tables[key].rows
        if rows and not edits.allow_drop:
            raise MigrationRefused(
                f"{key} has {rows:,} entities, and dropping a type that has some needs permission",
                hint="allow it with allow_drop",
                table=key,
            )
    text = edited(
        parsed,
        declared=list(edits.declared.values()),
        dropped=edits.dropped,
        properties={key: [_property(key, field) for field in fields] for key, fields in columns.items()},
    )
    return Source(text, "schema.pg")


def _check_declaration(key: str, declaration: str) -> None:
    parsed = parse_schema(Source(declaration, key))
    raise_errors(parsed.diagnostics)
    if list(declared_types(parsed)) != [key] or len(parsed.file.declarations) != 1:
        kind, _, name = key.partition(":")
        raise InputError(
            f"the declaration of {key} declares something else: {declaration!r}",
            hint=f"declare the one type, such as: {kind} {name} {{ ... }}",
            table=key,
        )
    [declared] = declared_types(parsed).values()
    if any(annotation.name.text == "external" for annotation in declared.annotations):
        # The batch may come from a client of a server, which must not choose what the server reads.
        raise InputError(
            f"{key} is external, and a batch declares tables of the graph only",
            hint="declare an external type with graph.apply_schema",
            table=key,
        )


def _property(key: str, column: pa.Field) -> str:
    """The declaration of the property that a column becomes."""
    type_ = declared_type(column.type)
    if type_ is None or type_.is_blob or column_type(type_) != column.type:
        stored = "no property has this type" if type_ is None or type_.is_blob else f"cast it to {column_type(type_)}"
        raise InputError(
            f"the staged version of {key} adds the column {column.name!r} of type {column.type}: {stored}",
            hint="add a column of a type that a property is stored as, or declare the property with graph.apply_schema",
            table=key,
        )
    return f"{column.name}: {type_}?"
