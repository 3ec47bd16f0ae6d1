"""Schemas of two branches to one. Types are merged before their entities are.

A schema that only one side changed is taken. Two different changes are refused: there is no way yet to change the
schema of a branch in steps, so nobody can say which of them came first.
"""

from __future__ import annotations

from omnigraph.errors import SchemaConflict
from omnigraph.schema.ir import SchemaIR, TypeIR, TypeKind, types_of


def merge_schemas(base: SchemaIR, source: SchemaIR, target: SchemaIR) -> SchemaIR:
    """The schema of the merged graph; raises SchemaConflict and names the types that both sides changed."""
    if source in (base, target):
        return target
    if target == base:
        return source
    names = sorted(_changed(base, source) & _changed(base, target))
    which = f": {', '.join(names)}" if names else ""
    raise SchemaConflict(
        f"both branches changed the schema{which}",
        hint="bring one of them to the schema of the other first",
        types=names,
    )


def _changed(before: SchemaIR, after: SchemaIR) -> set[str]:
    """The names of types that were added, changed or dropped."""
    old, new = _types(before), _types(after)
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def _types(schema: SchemaIR) -> dict[str, TypeIR]:
    return {item.name: item for kind in TypeKind for item in types_of(schema, kind)}
