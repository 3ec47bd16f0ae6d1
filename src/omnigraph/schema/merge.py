"""Three-way merge of schemas over stable ids. Types are merged before their entities.

* Each field of a type or property is taken from the side that changed it.
* Constraints, interfaces of a node and enum values are sets: additions and removals of both sides apply.
* A field that both sides changed differently is a conflict; all conflicts are reported together.
* References are ids, so a rename on one side and a new use on the other merge cleanly.
* Both sides assign the same id to the same addition (``identify`` describes how, ADR 16 why), so it exists
  once; if they declared it differently, that is a conflict.

The merged schema is compiled like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, TypeVar

from omnigraph.errors import CompileError, SchemaConflict
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.schema.compile import accept
from omnigraph.schema.ends.tags import retired_tags
from omnigraph.schema.identify import DERIVED_BITS, all_ids
from omnigraph.schema.ir import SchemaIR, TypeKind
from omnigraph.schema.print import to_pg
from omnigraph.schema.references import Parts, PropertyParts, TypeParts, schema_of, type_parts

SHOWN_MAX = 20

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class SchemaClash:
    """One conflict: the type, the property, the field, and its value on each side."""

    type: str
    property: str | None
    what: str
    base: object
    source: object
    target: object

    def __str__(self) -> str:
        name = self.type if self.property is None else f"{self.type}.{self.property}"
        values = ", ".join(f"{side}: {value or 'none'}" for side, value in self.sides().items())
        return f"{name}: {self.what}" + (f" ({values})" if any((self.base, self.source, self.target)) else "")

    def sides(self) -> dict[str, str | None]:
        """The text of what base, source and target declare; None where a side declares nothing."""
        return {"base": _shown(self.base), "source": _shown(self.source), "target": _shown(self.target)}


def _shown(value: object) -> str | None:
    match value:
        case None:
            return None
        case Enum():
            return str(value.value)
        case frozenset():
            return ", ".join(sorted(map(str, value)))
        case _:
            return str(value)


def merge_schemas(base: SchemaIR, source: SchemaIR, target: SchemaIR) -> SchemaIR:
    """The schema of the merged graph; raises SchemaConflict with all conflicts."""
    if source in (base, target):
        return target
    if target == base:
        return source
    merging = _Merging()
    merged = merging.types(*(type_parts(schema) for schema in (base, source, target)))
    if merging.clashes:
        raise _conflict(merging.clashes)
    schema = _retiring(schema_of(target, merged), source, target)
    try:
        # Compiling expands interfaces: a node of one side may implement an interface to which the other side added
        # a property.
        return accept(parse_schema(Source(to_pg(schema), "<merged>")), domain=schema.domain, previous=schema)
    except CompileError as error:
        raise SchemaConflict(
            f"the merged schema is invalid:\n{error.message}",
            hint="bring one of them to the schema of the other first",
            types=[],
        ) from error


def _retiring(schema: SchemaIR, *sides: SchemaIR) -> SchemaIR:
    """The schema with the ids that either side retired or that the merge dropped."""
    used = set(all_ids(schema))
    known = {id_ for side in sides for id_ in (*side.retired, *all_ids(side)) if id_ >> (DERIVED_BITS - 1)}
    tags = {tag for side in sides for tag in (*side.retired_tags, *retired_tags(side, schema))}
    live = {node.stored_tag for node in schema.nodes}
    return replace(schema, retired=tuple(sorted(known - used)), retired_tags=tuple(sorted(tags - live)))


def _conflict(clashes: Sequence[SchemaClash]) -> SchemaConflict:
    shown = "".join(f"\n  - {clash}" for clash in clashes[:SHOWN_MAX])
    more = f"\n  ... and {len(clashes) - SHOWN_MAX} more" if len(clashes) > SHOWN_MAX else ""
    return SchemaConflict(
        f"both branches changed the schema differently; the merge changed nothing{shown}{more}",
        hint="apply the intended schema to one of the branches, then merge again",
        types=sorted({clash.type for clash in clashes}),
        conflicts=tuple(clashes),
    )


@dataclass
class _Merging:
    """The merge in progress, with its conflicts. A field in conflict keeps the target's value."""

    clashes: list[SchemaClash] = field(default_factory=list)

    def types(
        self,
        base: Mapping[tuple[TypeKind, int], TypeParts],
        source: Mapping[tuple[TypeKind, int], TypeParts],
        target: Mapping[tuple[TypeKind, int], TypeParts],
    ) -> dict[tuple[TypeKind, int], TypeParts]:
        merged: dict[tuple[TypeKind, int], TypeParts] = {}
        for key in dict.fromkeys([*target, *source, *base]):
            sides = (base.get(key), source.get(key), target.get(key))
            shown = next(side.name for side in reversed(sides) if side is not None)
            found = self._whole((shown, None), sides)
            if found is None and None not in sides[1:]:
                found = self._type(*sides)
            if found is not None:
                merged[key] = found
        self._unique_names(((kind, type_.name, None) for (kind, _), type_ in merged.items()))
        self._references(merged)
        return merged

    def _whole(
        self, name: tuple[str, str | None], sides: tuple[Value | None, Value | None, Value | None]
    ) -> Value | None:
        """The result if a side lacks it or both agree; None if it is dropped or must be merged field by field."""
        base, source, target = sides
        if source is not None and target is not None:
            if base is None and source != target:
                self._clash(name, "added differently by both sides", None, "another declaration", "its own")
            return target if base is None or source == target else None
        if base is None:
            return source if target is None else target
        kept = target if source is None else source
        if kept is not None and kept != base:
            dropped, changed = ("dropped", "changed") if source is None else ("changed", "dropped")
            self._clash(name, "dropped on one side and changed on the other", "there", dropped, changed)
        return None

    def _type(self, base: TypeParts | None, source: TypeParts | None, target: TypeParts | None) -> TypeParts:
        assert base is not None and source is not None and target is not None
        shown = target.name
        changed = self._parts((shown, None), base, source, target)
        properties: dict[int, PropertyParts] = {}
        for id_ in dict.fromkeys([*target.properties, *source.properties, *base.properties]):
            sides = (base.properties.get(id_), source.properties.get(id_), target.properties.get(id_))
            name = (shown, next(side.name for side in reversed(sides) if side is not None))
            found = self._whole(name, sides)
            before, by_source, by_target = sides
            if found is None and before is not None and by_source is not None and by_target is not None:
                found = self._parts(name, before, by_source, by_target)
            if found is not None:
                properties[id_] = found
        self._unique_names((None, shown, prop.name) for prop in properties.values())
        return replace(changed, properties=properties)

    def _parts(self, name: tuple[str, str | None], base: Parts, source: Parts, target: Parts) -> Parts:
        """Merge field by field."""
        found: dict[str, Any] = {}
        for item in fields(target):
            values = (getattr(base, item.name), getattr(source, item.name), getattr(target, item.name))
            if item.name != "properties":
                found[item.name] = self._pick(name, item.name, *values)
        return replace(target, **found)

    def _pick(self, name: tuple[str, str | None], what: str, base: object, source: object, target: object) -> object:
        if source in (base, target):
            return target
        if target == base:
            return source
        if isinstance(base, frozenset) and isinstance(source, frozenset) and isinstance(target, frozenset):
            # Additions of both sides, minus what either side removed: {a,b}, {a,b,c}, {b,d} give {b,c,d}.
            return (base | source | target) - (base - source) - (base - target)
        self._clash(name, f"different {what.replace('_', ' ')} on both sides", base, source, target)
        return target

    def _unique_names(self, names: Iterable[tuple[TypeKind | None, str, str | None]]) -> None:
        seen: set[tuple[TypeKind | None, str, str | None]] = set()
        for kind, type_name, property_name in names:
            if (kind, type_name, property_name) in seen:
                what = "two different things have this name"
                self._clash((type_name, property_name), what, None, "one of them", "the other")
            seen.add((kind, type_name, property_name))

    def _references(self, merged: Mapping[tuple[TypeKind, int], TypeParts]) -> None:
        """Report references of one side to what the other side dropped."""
        for type_ in merged.values():
            for needed in type_.needs:
                if needed not in merged:
                    what = f"needs a {needed[0].value} type that one side dropped"
                    self._clash((type_.name, None), what, None, None, None)
            if type_.ends is not None and not type_.ends:
                self._clash((type_.name, None), "has no ends left: each side dropped some", None, None, None)
            for word, members in type_.constrained:
                if not all(isinstance(member, str) or member in type_.properties for member in members):
                    what = f"has a constraint @{word} over a property that one side dropped"
                    self._clash((type_.name, None), what, None, None, None)
            slots = [slot for constraint in type_.constraints if (slot := constraint.slot) is not None]
            if len(set(slots)) < len(slots):
                self._clash((type_.name, None), "different key or range on both sides", None, None, None)

    def _clash(self, name: tuple[str, str | None], what: str, base: object, source: object, target: object) -> None:
        self.clashes.append(SchemaClash(*name, what, base, source, target))
