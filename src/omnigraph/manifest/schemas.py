"""Accepted schemas in the store: the compiled form under its own digest, and its source text beside it.

The digest is that of the compiled form, and each read checks it. Any text with the same meaning is valid, which each
read checks too; commits record its checksum. Readers of a graph need the compiled form alone, so the compiler of
schemas is imported with the first text that is read.
"""

from __future__ import annotations

import hashlib

from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import FileRecord
from omnigraph.errors import CorruptionError, InputError
from omnigraph.history.state import schema_path
from omnigraph.schema.catalog import PropertyOrder
from omnigraph.schema.ir import SchemaIR
from omnigraph.schema.json_form import digest, from_json_text, shape_hash, to_json_text
from omnigraph.storage.objects.durability import digest_bytes
from omnigraph.storage.tables.store import Store


def text_path(schema_digest: str) -> str:
    """The text of an accepted schema."""
    return schema_path(schema_digest).removesuffix(".json") + ".pg"


def store_schema(store: Store, schema: SchemaIR, schema_text: str) -> tuple[FileRecord, ...]:
    """Store an accepted schema under its digest, unless it is stored already, and record both files."""
    name = digest(schema)
    compiled, text = to_json_text(schema).encode(), schema_text.encode()
    if not store.objects.create(schema_path(name), compiled):
        read_schema(store, name)
    if not store.objects.create(text_path(name), text):
        # Another text with the same meaning may have been stored first, and stays.
        text = read_text(store, name).encode()
    return (
        FileRecord(schema_path(name), len(compiled), digest_bytes(compiled)),
        FileRecord(text_path(name), len(text), digest_bytes(text)),
    )


def read_schema(store: Store, schema_digest: str) -> SchemaIR:
    """The accepted schema of a digest; ``CorruptionError`` if it is missing or is another one."""
    path = schema_path(schema_digest)
    content = store.read_file(path)
    if content is None:
        raise _damaged(path, "is missing")
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != schema_digest:
        raise _damaged(path, "is damaged: its digest is not its name")
    try:
        return from_json_text(content.decode())
    except (InputError, ValueError) as error:
        raise _damaged(path, f"is damaged: {error}") from error


def read_text(store: Store, schema_digest: str) -> str:
    """The text of a schema; ``CorruptionError`` if it is missing or means something else."""
    from omnigraph.lang.pg_parser import parse_schema
    from omnigraph.lang.source import Source
    from omnigraph.schema.compile import accept

    path = text_path(schema_digest)
    content = store.objects.read(path)
    if content is None:
        raise _damaged(path, "is missing")
    schema = read_schema(store, schema_digest)
    try:
        text = content.decode()
        means = accept(parse_schema(Source(text, path)), domain=schema.domain, previous=schema)
    except (InputError, ValueError) as error:
        raise _damaged(path, f"is damaged: {error}") from error
    if shape_hash(means) != shape_hash(schema):
        raise _damaged(path, f"is not the text of {schema_path(schema_digest)}")
    return text


def read_order(store: Store, schema_digest: str) -> PropertyOrder:
    """The order in which the text of a schema declares properties.

    The text is not checked, which saves a request: a damaged text costs the order of columns, not the data.
    """
    from omnigraph.lang.declarations.order import declared_order

    content = store.objects.read(text_path(schema_digest))
    return declared_order((content or b"").decode(errors="replace"))


def _damaged(path: str, what: str) -> CorruptionError:
    hint = verify_hint("lists the affected commits; restore the file from a copy of the graph")
    return CorruptionError(f"schema {path} {what}", hint=hint, path=path)
