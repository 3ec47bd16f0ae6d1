"""Short ways from a schema text to what the tests look at."""

from omnigraph.errors import CompileError, MigrationRefused
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.pg_parser import ParsedSchema, parse_schema
from omnigraph.lang.source import Source
from omnigraph.schema.compile import accept
from omnigraph.schema.ir import EdgeIR, NodeIR, PropertyIR, SchemaIR
from omnigraph.schema.migrate import plan
from omnigraph.schema.migration import MigrationPlan

DOMAIN = "01J0000000000000000000000D"


def parse(text: str) -> ParsedSchema:
    return parse_schema(Source(text, "test.pg"))


def accepted(text: str, previous: SchemaIR | None = None) -> SchemaIR:
    return accept(parse(text), domain=DOMAIN, previous=previous)


def errors(text: str, previous: SchemaIR | None = None) -> tuple[Diagnostic, ...]:
    """What keeps a text from being accepted; empty if nothing does."""
    try:
        accepted(text, previous)
    except CompileError as error:
        return tuple(item for item in error.diagnostics if isinstance(item, Diagnostic))
    except MigrationRefused as error:
        found = error.facts["diagnostics"]
        assert isinstance(found, tuple)
        return found
    return ()


def planned(before: str, after: str, *, allow_data_loss: bool = False) -> MigrationPlan:
    old = accepted(before)
    return plan(old, accepted(after, old), allow_data_loss=allow_data_loss)


def node(schema: SchemaIR, name: str) -> NodeIR:
    [found] = [item for item in schema.nodes if item.name == name]
    return found


def edge(schema: SchemaIR, name: str) -> EdgeIR:
    [found] = [item for item in schema.edges if item.name == name]
    return found


def prop(schema: SchemaIR, owner: str, name: str) -> PropertyIR:
    [found] = [
        item
        for type_ in (*schema.interfaces, *schema.nodes, *schema.edges)
        if type_.name == owner
        for item in type_.properties
        if item.name == name
    ]
    return found


def marked(diagnostic: Diagnostic) -> str:
    """The part of the text a diagnostic points at."""
    return diagnostic.source.text[diagnostic.span.start : diagnostic.span.end]
