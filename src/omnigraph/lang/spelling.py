"""Spelling of values and types in both languages: the inverse of the lexer, used by the formatters."""

from __future__ import annotations

from decimal import Decimal

from omnigraph.lang.syntax import TypeRef

_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def spell_string(value: str) -> str:
    """A string literal, with the five escapes of the languages."""
    return f'"{value.translate(_ESCAPES)}"'


def spell_float(value: float) -> str:
    """The shortest digits that read back as the same number; the languages have no exponents."""
    digits = format(Decimal(repr(value)), "f")
    return digits if "." in digits else f"{digits}.0"


def spell_number(value: int | float) -> str:
    return spell_float(value) if isinstance(value, float) else str(value)


def spell_literal(value: str | int | float | bool) -> str:
    """A string, number or truth value."""
    if isinstance(value, str):
        return spell_string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return spell_number(value)


def spell_type(type_ref: TypeRef) -> str:
    """A type as the grammar writes it: ``[String]?``, ``Vector(4)``, ``Decimal(10, 2)``, ``enum(a, b)``."""
    name = type_ref.name if type_ref.digits is None else f"Decimal({type_ref.digits[0]}, {type_ref.digits[1]})"
    if type_ref.enum_values is not None:
        name = f"enum({', '.join(type_ref.enum_values)})"
    elif type_ref.dimension is not None:
        name = f"Vector({type_ref.dimension})"
    elif type_ref.is_list:
        name = f"[{name}]"
    return f"{name}?" if type_ref.nullable else name
