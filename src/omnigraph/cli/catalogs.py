"""From a schema file to a catalog, for commands that work without a graph."""

from __future__ import annotations

from omnigraph.cli.files import read_source
from omnigraph.lang.pg_parser import ParsedSchema, parse_schema
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept
from omnigraph.schema.migrate import PLANNING_DOMAIN


def catalog_of(parsed: ParsedSchema) -> Catalog:
    """The catalog of a schema that belongs to no graph; raises CompileError with everything that is wrong."""
    return Catalog(accept(parsed, domain=PLANNING_DOMAIN))


def read_catalog(path: str) -> Catalog:
    """The catalog of a schema file."""
    return catalog_of(parse_schema(read_source(path)))
