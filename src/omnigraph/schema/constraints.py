"""The constraints of one type: those of its body and those written as bare annotations on its properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from omnigraph.lang.pg_ast import Constraint, ConstraintKind, PgLiteral, RangeBounds
from omnigraph.lang.source import Span
from omnigraph.lang.syntax import Name
from omnigraph.schema.annotations import written_name
from omnigraph.schema.codes import Rule
from omnigraph.schema.declared import DeclaredProperty
from omnigraph.schema.findings import Findings
from omnigraph.schema.ir import (
    CheckConstraint,
    ConstraintIR,
    IndexConstraint,
    KeyConstraint,
    RangeConstraint,
    TupleConstraint,
    TypeKind,
    UniqueConstraint,
)
from omnigraph.schema.patterns import pattern_problem

ENDPOINT_COLUMNS = ("src", "dst")
_EXACT_FLOAT_INTEGER_MAX = 2**53
_ON_EDGES = (ConstraintKind.KEY, ConstraintKind.UNIQUE, ConstraintKind.INDEX)


class ConstraintReader:
    """Reads the constraints of one type; ``owner`` is its name in messages."""

    def __init__(
        self, findings: Findings, kind: TypeKind, owner: Name, properties: Mapping[str, DeclaredProperty]
    ) -> None:
        self._findings = findings
        self._kind = kind
        self._owner = owner
        self._properties = properties
        self._key: KeyConstraint | None = None

    def read(self, body: tuple[Constraint, ...]) -> tuple[ConstraintIR, ...]:
        """All constraints without duplicates, in no particular order; ``identify`` sorts them."""
        found: list[ConstraintIR] = []
        for prop in self._properties.values():
            span = prop.name.span if prop.injected_from is None else self._owner.span
            for kind in sorted(prop.sugar, key=lambda kind: kind.value):
                found += self._keep(_tuple_constraint(kind, (prop.name.text,), sugar=True), span)
        for constraint in body:
            read = self._read_one(constraint)
            found += self._keep(read, constraint.span) if read is not None else []
        return tuple(dict.fromkeys(found))

    def _keep(self, constraint: ConstraintIR, span: Span) -> list[ConstraintIR]:
        if not isinstance(constraint, KeyConstraint):
            return [constraint]
        # An interface may declare two keys; the error belongs to the node type that inherits both.
        if self._key is not None and self._kind is not TypeKind.INTERFACE:
            message = f"{self._kind.value} type {self._owner.text} has multiple @key constraints; only one is supported"
            hint = "a key of several properties is written `@key(a, b)`"
            self._findings.error(Rule.MULTIPLE_KEYS, message, span, hint)
            return []
        self._key = constraint
        self._check_policies(constraint, span)
        return [constraint]

    def _check_policies(self, key: KeyConstraint, span: Span) -> None:
        for name in key.properties:
            prop = self._properties.get(name)
            # The ends of an edge are no properties. A bare `@key` of an interface was reported at the interface.
            if prop is not None and prop.merge is not None and not (key.sugar and prop.injected_from):
                message = f"@merge is not supported on @key property {self._owner.text}.{name}: keys never change"
                self._findings.error(Rule.MERGE_ON_KEY, message, span)

    def _read_one(self, constraint: Constraint) -> ConstraintIR | None:
        kind = constraint.kind
        if self._kind is TypeKind.EDGE and kind not in _ON_EDGES:
            message = f"@{kind.value} constraint is not supported on edges ({self._owner.text})"
            self._findings.error(Rule.CONSTRAINT_ON_EDGE, message, constraint.span)
            return None
        match kind:
            case ConstraintKind.KEY | ConstraintKind.UNIQUE | ConstraintKind.INDEX:
                return self._tuple(constraint)
            case ConstraintKind.RANGE:
                return self._range(constraint)
            case ConstraintKind.CHECK:
                return self._check(constraint)
            case _:
                assert_never(kind)

    def _tuple(self, constraint: Constraint) -> ConstraintIR | None:
        kind = constraint.kind
        names: list[str] = []
        for argument in constraint.arguments:
            name = written_name(argument) if not _is_string(argument) else None
            if name is None:
                message = f"@{kind.value} on {self._owner.text} takes names of properties"
                hint = f"write `@{kind.value}(property, ...)`, without quotes"
                self._findings.error(Rule.CONSTRAINT_ARGUMENTS, message, argument.span, hint)
                return None
            names.append(name)
        fits = [
            self._member_fits(kind, Name(name, argument.span))
            for name, argument in zip(names, constraint.arguments, strict=True)
        ]
        return _tuple_constraint(kind, tuple(dict.fromkeys(names)), sugar=False) if all(fits) else None

    def _member_fits(self, kind: ConstraintKind, name: Name) -> bool:
        if self._kind is TypeKind.EDGE and name.text in ENDPOINT_COLUMNS:
            return True
        prop = self._property(kind, name)
        if prop is None:
            return False
        shown = f"{self._owner.text}.{name.text}"
        fits = prop.type.is_plain_scalar if kind is ConstraintKind.KEY else not prop.type.is_blob
        if not fits:
            message = f"@{kind.value} is not supported on {shown} of type {prop.type}"
            self._findings.error(Rule.CONSTRAINT_TYPE, message, name.span)
        elif kind is ConstraintKind.KEY and prop.type.nullable:
            self._findings.error(Rule.NULLABLE_KEY, f"@key property {shown} cannot be nullable", name.span)
            return False
        return fits

    def _property(self, kind: ConstraintKind, name: Name) -> DeclaredProperty | None:
        prop = self._properties.get(name.text)
        if prop is None:
            message = f"@{kind.value} on {self._owner.text} references unknown property '{name.text}'"
            hint = self._findings.suggest(name.text, self._properties)
            if self._kind is TypeKind.EDGE and name.text in ("from", "to"):
                hint = f"in a schema the ends of an edge are called {' and '.join(ENDPOINT_COLUMNS)}"
            self._findings.unresolved(Rule.UNKNOWN_PROPERTY, message, name.span, hint)
        return prop

    def _range(self, constraint: Constraint) -> ConstraintIR | None:
        match constraint.arguments:
            case (argument, RangeBounds() as bounds) if not _is_string(argument) and written_name(argument):
                name = Name(written_name(argument) or "", argument.span)
            case _:
                self._wrong_arguments(constraint, "a property and its bounds", "@range(age, 0..150)")
                return None
        prop = self._property(ConstraintKind.RANGE, name)
        if prop is None:
            return None
        if not prop.type.is_number:
            message = f"@range on {self._owner.text}.{name.text} requires a numeric type, got {prop.type}"
            self._findings.error(Rule.RANGE_TYPE, message, name.span)
            return None
        return RangeConstraint(name.text, _bound(bounds.low), _bound(bounds.high))

    def _check(self, constraint: Constraint) -> ConstraintIR | None:
        match constraint.arguments:
            case (argument, PgLiteral(value=str(pattern)) as literal) if not _is_string(argument) and written_name(
                argument
            ):
                name = Name(written_name(argument) or "", argument.span)
            case _:
                self._wrong_arguments(constraint, "a property and a pattern", '@check(email, "@")')
                return None
        problem = pattern_problem(pattern)
        if problem is not None:
            message = f"@check on {self._owner.text}.{name.text} has an invalid pattern: {problem}"
            self._findings.error(Rule.CHECK_PATTERN, message, literal.span)
        prop = self._property(ConstraintKind.CHECK, name)
        if prop is None:
            return None
        if not prop.type.is_text:
            message = f"@check on {self._owner.text}.{name.text} requires String type, got {prop.type}"
            self._findings.error(Rule.CHECK_TYPE, message, name.span)
            return None
        return CheckConstraint(name.text, pattern)

    def _wrong_arguments(self, constraint: Constraint, wanted: str, example: str) -> None:
        message = f"@{constraint.kind.value} on {self._owner.text} takes {wanted}"
        self._findings.error(Rule.CONSTRAINT_ARGUMENTS, message, constraint.span, f"write it as `{example}`")


def _is_string(argument: object) -> bool:
    return isinstance(argument, PgLiteral) and isinstance(argument.value, str)


def _tuple_constraint(kind: ConstraintKind, names: tuple[str, ...], *, sugar: bool) -> TupleConstraint:
    if kind is ConstraintKind.KEY:
        return KeyConstraint(names, sugar)
    return UniqueConstraint(names, sugar) if kind is ConstraintKind.UNIQUE else IndexConstraint(names, sugar)


def _bound(bound: int | float | None) -> int | float | None:
    """Canonical form of a bound: ``0`` and ``0.0`` are the same."""
    if isinstance(bound, float) and bound.is_integer() and abs(bound) <= _EXACT_FLOAT_INTEGER_MAX:
        return int(bound)
    return bound
