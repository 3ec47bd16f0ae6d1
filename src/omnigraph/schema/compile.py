"""The schema compiler: a parsed ``.pg`` text to an accepted schema, by declaring and then identifying.

``check_schema`` is for tools that need diagnostics only; ``accept`` is the only way to a ``SchemaIR``.
"""

from __future__ import annotations

from omnigraph.errors import CompileError, MigrationRefused, UsageError
from omnigraph.lang.diagnostics import Diagnostic, Severity
from omnigraph.lang.pg_parser import ParsedSchema
from omnigraph.schema.declare import declare
from omnigraph.schema.declared import DeclaredSchema
from omnigraph.schema.identify import identify
from omnigraph.schema.ir import EdgeIR, InterfaceIR, NodeIR, SchemaIR


def check_schema(
    parsed: ParsedSchema, stored: SchemaIR | None = None
) -> tuple[DeclaredSchema | None, tuple[Diagnostic, ...]]:
    """The declared schema, or None if there are errors; all diagnostics, those of the parser first.

    ``stored`` is a schema that a graph has already: unknown annotations that occur in it are kept.
    """
    declared, found = declare(parsed, frozenset() if stored is None else custom_names(stored))
    diagnostics = (*parsed.diagnostics, *found)
    has_errors = any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
    return (None if has_errors else declared), diagnostics


def accept(parsed: ParsedSchema, *, domain: str, previous: SchemaIR | None = None) -> SchemaIR:
    """The schema with stable ids, as a continuation of ``previous`` if given.

    Raises ``CompileError`` with all diagnostics for an invalid text, and ``MigrationRefused`` (diagnostics among its
    facts) for rename hints that cannot be followed from ``previous``. Without ``previous`` hints have no effect.
    """
    if previous is not None and previous.domain != domain:
        raise UsageError(
            f"the accepted schema belongs to the graph {previous.domain}, not to {domain}",
            hint="a schema continues only the schema of its own graph",
        )
    declared, diagnostics = check_schema(parsed, previous)
    if declared is None:
        raise CompileError(diagnostics)
    identified = identify(declared, domain, previous)
    if identified.diagnostics:
        message = "\n".join(diagnostic.render() for diagnostic in identified.diagnostics)
        raise MigrationRefused(message, diagnostics=identified.diagnostics)
    return identified.schema


def custom_names(schema: SchemaIR) -> frozenset[str]:
    """The names of the annotations without a meaning that a schema holds."""
    types: list[NodeIR | EdgeIR] = [*schema.nodes, *schema.edges]
    owners: list[InterfaceIR | NodeIR | EdgeIR] = [*schema.interfaces, *types]
    lists = [
        *(type_.annotations for type_ in types),
        *(prop.annotations for item in owners for prop in item.properties),
    ]
    return frozenset(annotation.name for annotations in lists for annotation in annotations)
