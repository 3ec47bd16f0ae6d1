"""The type of a property or parameter."""

from __future__ import annotations

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.scalars import SCALARS_BY_NAME, Scalar
from omnigraph.lang.syntax import TypeRef


@dataclass(frozen=True, slots=True)
class PropertyType:
    """A scalar, a list of scalars, an enum (a String with allowed values) or a vector; nullable or not.

    A changed type is made with ``dataclasses.replace``, so that the digits of a decimal are not lost.
    """

    scalar: Scalar
    is_list: bool = False
    nullable: bool = False
    dimension: int | None = None
    enum_values: tuple[str, ...] | None = None
    digits: tuple[int, int] | None = None
    """The digits of a decimal, and those behind the point."""

    def __str__(self) -> str:
        if self.enum_values is not None:
            name = f"enum({', '.join(self.enum_values)})"
        elif self.scalar is Scalar.VECTOR:
            name = f"Vector({self.dimension})"
        else:
            name = self.scalar.value if self.digits is None else f"Decimal({self.digits[0]}, {self.digits[1]})"
            name = f"[{name}]" if self.is_list else name
        return f"{name}?" if self.nullable else name

    @property
    def is_vector(self) -> bool:
        return self.scalar is Scalar.VECTOR

    @property
    def is_blob(self) -> bool:
        return self.scalar is Scalar.BLOB

    @property
    def is_plain_scalar(self) -> bool:
        """A single comparable value: comparisons, keys and grouping are defined for it."""
        return self.scalar.info.is_comparable and not self.is_list

    @property
    def is_text(self) -> bool:
        """A single string, enums included."""
        return self.scalar is Scalar.STRING and not self.is_list

    @property
    def is_number(self) -> bool:
        return self.scalar.is_numeric and not self.is_list

    @property
    def item(self) -> PropertyType:
        """The type of a list's items."""
        return PropertyType(self.scalar, digits=self.digits)

    @property
    def form(self) -> tuple[object, ...]:
        """Everything but nullability and enum values: types of one form have the same stored values."""
        return (self.scalar, self.is_list, self.dimension, self.digits)

    @property
    def is_json(self) -> bool:
        return self.scalar is Scalar.JSON and not self.is_list

    def is_compatible_with(self, other: PropertyType) -> bool:
        """Values of the two types can be compared; nullability and enum values do not matter."""
        if self.is_list != other.is_list:
            return False
        if self.is_vector or other.is_vector:
            return self.scalar is other.scalar and self.dimension == other.dimension
        return self.scalar is other.scalar or (self.scalar.is_numeric and other.scalar.is_numeric)


def type_from_syntax(ref: TypeRef) -> PropertyType:
    """The type of a type reference. Enum values are sorted: their written order has no meaning."""
    if ref.enum_values is not None:
        values = tuple(sorted(set(ref.enum_values)))
        return PropertyType(Scalar.STRING, nullable=ref.nullable, enum_values=values)
    return PropertyType(SCALARS_BY_NAME[ref.name], ref.is_list, ref.nullable, ref.dimension, digits=ref.digits)
