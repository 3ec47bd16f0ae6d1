"""The catalog of a command: compiled from a schema file, or read from a graph."""

from __future__ import annotations

from omnigraph.cli.args.addresses import Address
from omnigraph.cli.args.files import read_source
from omnigraph.lang.pg_parser import ParsedSchema, parse_schema
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept
from omnigraph.schema.migrate import PLANNING_DOMAIN


def catalog_of(parsed: ParsedSchema) -> Catalog:
    """The catalog of a schema that belongs to no graph; raises CompileError with all diagnostics."""
    return Catalog(accept(parsed, domain=PLANNING_DOMAIN))


def read_catalog(
    schema_path: str | None, address: Address | None, branch: str | None = None, at: str | None = None
) -> Catalog:
    """The catalog of a schema file, or of a graph at a moment, by default at the head of ``main``."""
    if schema_path is not None:
        return catalog_of(parse_schema(read_source(schema_path)))
    assert address is not None, "there is a schema or a graph"
    return address.open().snapshot(branch, at=at).catalog
