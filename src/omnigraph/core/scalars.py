"""The scalar types of the data model, one row each: a new scalar starts with a row in ``SCALARS``.

Owns the names users write (``I32``) and the facts every package shares. A package that needs more than these facts
(an Arrow type, a JSON form, a Spark type) keeps one table with a row per scalar; ``tests/architecture/test_scalars.py``
lists those tables and names the rows that a new scalar is missing.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final

from omnigraph.core.classes.dataclass import dataclass


class Scalar(StrEnum):
    """One scalar type; the value is the name used in ``.pg`` and ``.gq``."""

    STRING = "String"
    BLOB = "Blob"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATETIME = "DateTime"
    DATE = "Date"
    VECTOR = "Vector"
    DECIMAL = "Decimal"
    TIME = "Time"
    DURATION = "Duration"
    UUID = "Uuid"
    JSON = "Json"

    @property
    def info(self) -> ScalarInfo:
        return SCALARS[self]

    @property
    def is_integer(self) -> bool:
        return SCALARS[self].family is Family.INTEGER

    @property
    def is_float(self) -> bool:
        return SCALARS[self].family is Family.FLOAT

    @property
    def is_numeric(self) -> bool:
        return SCALARS[self].family in (Family.INTEGER, Family.FLOAT, Family.DECIMAL)

    @property
    def is_temporal(self) -> bool:
        """True for a Date and a DateTime."""
        return SCALARS[self].family is Family.TEMPORAL


class Family(Enum):
    """Scalars that behave alike: values of the numeric families compare with each other."""

    TEXT = "text"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    TEMPORAL = "temporal"
    BYTES = "bytes"
    VECTOR = "vector"
    DECIMAL = "decimal"
    TIME = "time of day"
    DURATION = "duration"
    UUID = "uuid"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ScalarInfo:
    """The facts about one scalar that more than one package needs."""

    family: Family
    is_comparable: bool = True
    """Values can be compared, grouped, sorted and be part of a key."""
    is_ordered: bool = True
    """One of two values is the greater one, so that ``@merge(max)`` and ``@merge(min)`` have a result."""
    is_indexable: bool = True
    """``@index`` is allowed."""
    is_listable: bool = True
    """Lists of this scalar can be declared."""
    range: tuple[int, int] | None = None
    """Smallest and largest integer."""


SCALARS: Final[dict[Scalar, ScalarInfo]] = {
    Scalar.STRING: ScalarInfo(Family.TEXT),
    Scalar.BLOB: ScalarInfo(Family.BYTES, is_comparable=False, is_ordered=False, is_indexable=False),
    Scalar.BOOL: ScalarInfo(Family.BOOLEAN, is_ordered=False),
    Scalar.I32: ScalarInfo(Family.INTEGER, range=(-(2**31), 2**31 - 1)),
    Scalar.I64: ScalarInfo(Family.INTEGER, range=(-(2**63), 2**63 - 1)),
    Scalar.U32: ScalarInfo(Family.INTEGER, range=(0, 2**32 - 1)),
    Scalar.U64: ScalarInfo(Family.INTEGER, range=(0, 2**64 - 1)),
    Scalar.F32: ScalarInfo(Family.FLOAT),
    Scalar.F64: ScalarInfo(Family.FLOAT),
    Scalar.DATETIME: ScalarInfo(Family.TEMPORAL),
    Scalar.DATE: ScalarInfo(Family.TEMPORAL),
    Scalar.VECTOR: ScalarInfo(Family.VECTOR, is_comparable=False, is_ordered=False, is_listable=False),
    Scalar.DECIMAL: ScalarInfo(Family.DECIMAL),
    Scalar.TIME: ScalarInfo(Family.TIME),
    Scalar.DURATION: ScalarInfo(Family.DURATION),
    Scalar.UUID: ScalarInfo(Family.UUID, is_ordered=False),
    # Json values are equal or not; an order over all kinds of values would mean nothing.
    Scalar.JSON: ScalarInfo(Family.JSON, is_comparable=False, is_ordered=False, is_indexable=False),
}

INTEGER_RANGES: Final[dict[Scalar, tuple[int, int]]] = {
    scalar: info.range for scalar, info in SCALARS.items() if info.range is not None
}
"""Smallest and largest value of every integer scalar."""

SCALARS_BY_NAME: Final[dict[str, Scalar]] = {scalar.value: scalar for scalar in Scalar}
