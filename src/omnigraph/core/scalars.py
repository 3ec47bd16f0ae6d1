"""The scalar kinds of the data model and their ranges.

Owns the names users write (``I32``) and what they mean as numbers. Storage types are the business of ``rows``.
"""

from __future__ import annotations

from enum import Enum


class Scalar(Enum):
    """One scalar kind; the value is the name used in ``.pg`` and ``.gq``."""

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

    @property
    def is_integer(self) -> bool:
        return self in INTEGER_RANGES

    @property
    def is_float(self) -> bool:
        return self in (Scalar.F32, Scalar.F64)

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_float


INTEGER_RANGES: dict[Scalar, tuple[int, int]] = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
}

SCALARS_BY_NAME: dict[str, Scalar] = {scalar.value: scalar for scalar in Scalar}
