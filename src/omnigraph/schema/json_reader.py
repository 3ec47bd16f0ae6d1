"""Strict reader of the stored JSON form of an accepted schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final, TypeVar

from omnigraph.core.scalars import Scalar
from omnigraph.errors import InputError
from omnigraph.schema.ir import (
    CheckConstraint,
    ConstraintIR,
    CustomAnnotation,
    EdgeIR,
    Embed,
    External,
    ExternalFormat,
    IndexConstraint,
    InterfaceIR,
    KeyConstraint,
    MergePolicy,
    NodeIR,
    Pair,
    PropertyIR,
    RangeConstraint,
    SchemaIR,
    UniqueConstraint,
)
from omnigraph.schema.types import PropertyType

FORMAT: Final = "omnigraph.schema"
VERSION: Final = 1
EXTERNAL_VERSION: Final = 2
"""The version of schemas with external types, which readers of version 1 would take for types without rows."""
ENDS_VERSION: Final = 3
"""The version of schemas with an edge type over an interface or several node types, with or without external types."""
_VERSIONS: Final = (VERSION, EXTERNAL_VERSION, ENDS_VERSION)

Member = TypeVar("Member", bound=Enum)


def from_json(data: Mapping[str, object]) -> SchemaIR:
    """The schema that ``to_json`` wrote. Raises InputError for any other object."""
    _check_version(data)
    fields = _Fields(data, "schema")
    return SchemaIR(
        fields.text("domain"),
        fields.integer("next_id"),
        tuple(_interface(item) for item in fields.objects("interfaces")),
        tuple(_node(item) for item in fields.objects("nodes")),
        tuple(_edge(item) for item in fields.objects("edges")),
        fields.integers("retired") if "retired" in data else (),
        fields.texts("retired_tags") if "retired_tags" in data else (),
    )


def _check_version(data: Mapping[str, object]) -> None:
    """Refuse other formats and versions."""
    if data.get("format") != FORMAT:
        raise InputError(f"this is not a stored schema: its format is {data.get('format')!r}, not {FORMAT!r}")
    if data.get("version") not in _VERSIONS:
        raise InputError(
            f"the schema is stored in version {data.get('version')!r}, but only versions {VERSION} to {ENDS_VERSION} "
            "are supported",
            hint="use a newer version of omnigraph",
        )


class _Fields:
    """Typed access to the fields of a JSON object; ``place`` is its path in messages."""

    def __init__(self, data: object, place: str) -> None:
        if not isinstance(data, Mapping):
            raise InputError(f"the stored schema is damaged: {place} is {data!r:.60}, not an object")
        self._data = data
        self._place = place

    def _damaged(self, name: str, wanted: str) -> InputError:
        found = repr(self._data.get(name))[:60]
        return InputError(f"the stored schema is damaged: {self._place}.{name} is {found}, not {wanted}")

    def raw(self, name: str) -> object:
        if name not in self._data:
            raise InputError(f"the stored schema is damaged: {self._place}.{name} is missing")
        return self._data[name]

    def has(self, name: str) -> bool:
        return name in self._data

    def text(self, name: str) -> str:
        value = self.raw(name)
        if not isinstance(value, str):
            raise self._damaged(name, "a text")
        return value

    def integer(self, name: str) -> int:
        value = self.raw(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._damaged(name, "an integer")
        return value

    def number(self, name: str) -> int | float | None:
        value = self.raw(name)
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise self._damaged(name, "a number")
        return value

    def truth(self, name: str) -> bool:
        value = self.raw(name)
        if not isinstance(value, bool):
            raise self._damaged(name, "true or false")
        return value

    def optional_text(self, name: str) -> str | None:
        return None if self.raw(name) is None else self.text(name)

    def items(self, name: str) -> list[object]:
        value = self.raw(name)
        if not isinstance(value, list):
            raise self._damaged(name, "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        values = self.items(name)
        if not all(isinstance(value, str) for value in values):
            raise self._damaged(name, "a list of texts")
        return tuple(str(value) for value in values)

    def integers(self, name: str) -> tuple[int, ...]:
        values = self.items(name)
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            raise self._damaged(name, "a list of integers")
        return tuple(value for value in values if isinstance(value, int))

    def objects(self, name: str) -> Iterator[_Fields]:
        for index, value in enumerate(self.items(name)):
            yield _Fields(value, f"{self._place}.{name}[{index}]")

    def member(self, name: str, members: type[Member]) -> Member:
        try:
            return members(self.text(name))
        except ValueError:
            raise self._damaged(name, f"one of {', '.join(member.value for member in members)}") from None


def _interface(fields: _Fields) -> InterfaceIR:
    return InterfaceIR(fields.integer("id"), fields.text("name"), _properties(fields), _constraints(fields))


def _node(fields: _Fields) -> NodeIR:
    return NodeIR(
        fields.integer("id"),
        fields.integer("incarnation"),
        fields.text("name"),
        fields.texts("implements"),
        _properties(fields),
        _constraints(fields),
        fields.optional_text("description"),
        fields.optional_text("instruction"),
        _annotations(fields),
        _external(fields),
        fields.optional_text("tag") if fields.has("tag") else None,
    )


def _edge(fields: _Fields) -> EdgeIR:
    return EdgeIR(
        fields.integer("id"),
        fields.integer("incarnation"),
        fields.text("name"),
        _ends(fields),
        fields.integer("card_min"),
        None if fields.raw("card_max") is None else fields.integer("card_max"),
        _properties(fields),
        _constraints(fields),
        fields.optional_text("description"),
        fields.optional_text("instruction"),
        _annotations(fields),
        _external(fields),
        _tagged(fields),
    )


def _external(fields: _Fields) -> External | None:
    if not fields.has("external"):
        return None
    given = _Fields(fields.raw("external"), f"external of {fields.text('name')}")
    return External(
        given.text("address"),
        None if given.raw("format") is None else given.member("format", ExternalFormat),
        given.optional_text("id"),
        given.optional_text("from"),
        given.optional_text("to"),
    )


def _ends(fields: _Fields) -> tuple[Pair, ...]:
    if not fields.has("ends"):
        return ((fields.text("source"), fields.text("target")),)
    found: list[Pair] = []
    for pair in fields.items("ends"):
        match pair:
            case [str(source), str(target)]:
                found.append((source, target))
            case _:
                raise InputError(f"the stored schema is damaged: {pair!r:.60} is not a pair of types")
    return tuple(found)


def _tagged(fields: _Fields) -> tuple[str | None, str | None]:
    match fields.items("tagged") if fields.has("tagged") else [None, None]:
        case [(str() | None) as source, (str() | None) as target]:
            return source, target
        case other:
            raise InputError(f"the stored schema is damaged: {other!r:.60} is not a pair of tags")


def _properties(fields: _Fields) -> tuple[PropertyIR, ...]:
    return tuple(_property(item) for item in fields.objects("properties"))


def _property(fields: _Fields) -> PropertyIR:
    embed: Embed | None = None
    if fields.raw("embed") is not None:
        described = _Fields(fields.raw("embed"), f"embed of {fields.text('name')}")
        embed = Embed(described.text("source"), described.optional_text("model"))
    return PropertyIR(
        fields.integer("id"),
        fields.text("name"),
        property_type(fields.raw("type"), f"type of {fields.text('name')}"),
        fields.optional_text("description"),
        embed,
        None if fields.raw("merge") is None else fields.member("merge", MergePolicy),
        fields.optional_text("injected_from"),
        _annotations(fields),
        fields.text("column") if fields.has("column") else None,
    )


def property_type(data: object, place: str) -> PropertyType:
    """The type that ``property_type_json`` wrote."""
    fields = _Fields(data, place)
    dimension: int | None = None
    digits: tuple[int, int] | None = None
    described = fields.raw("scalar")
    if isinstance(described, Mapping) and Scalar.DECIMAL.value in described:
        scalar = Scalar.DECIMAL
        match described[scalar.value]:
            case [int(precision), int(scale)]:
                digits = (precision, scale)
            case other:
                raise InputError(f"the stored schema is damaged: {other!r:.60} are not the digits of a decimal")
    elif isinstance(described, Mapping):
        scalar = Scalar.VECTOR
        dimension = _Fields(described, "scalar").integer(scalar.value)
    else:
        scalar = fields.member("scalar", Scalar)
    values = None if fields.raw("enum_values") is None else fields.texts("enum_values")
    return PropertyType(scalar, fields.truth("list"), fields.truth("nullable"), dimension, values, digits)


def _annotations(fields: _Fields) -> tuple[CustomAnnotation, ...]:
    return tuple(
        CustomAnnotation(item.text("name"), item.optional_text("value"), _arguments(item))
        for item in fields.objects("annotations")
    )


def _arguments(fields: _Fields) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for argument in fields.items("arguments"):
        match argument:
            case [str(key), str(value)]:
                found.append((key, value))
            case _:
                raise InputError(f"the stored schema is damaged: {argument!r:.60} is not an annotation argument")
    return tuple(found)


def _constraints(fields: _Fields) -> tuple[ConstraintIR, ...]:
    return tuple(_constraint(item) for item in fields.objects("constraints"))


def _constraint(fields: _Fields) -> ConstraintIR:
    match fields.text("kind"):
        case "key":
            return KeyConstraint(fields.texts("properties"), fields.truth("sugar"))
        case "unique":
            return UniqueConstraint(fields.texts("properties"), fields.truth("sugar"))
        case "index":
            return IndexConstraint(fields.texts("properties"), fields.truth("sugar"))
        case "range":
            return RangeConstraint(fields.text("property"), fields.number("low"), fields.number("high"))
        case "check":
            return CheckConstraint(fields.text("property"), fields.text("pattern"))
        case kind:
            raise InputError(f"the stored schema is damaged: unknown constraint kind {kind!r:.60}")
