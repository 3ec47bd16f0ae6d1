"""Intermediate rows of a query: a frame, and the columns of the attributes of variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from omnigraph.rows.arrow_types import ID

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Attribute = tuple[str, str]
"""A variable and one of its attributes: a property, the id, or a component of a path."""


@dataclass
class Names:
    """Generates column names that are unique in a query, so that joins never have ambiguous columns.

    Names of variables and properties would not do: they may differ only in case, which Spark ignores.
    """

    _next: Iterator[int] = field(default_factory=count)

    def new(self) -> str:
        return f"c{next(self._next)}"


@dataclass(frozen=True)
class BoundRows:
    """A bag of rows. An entity is identified by its id, which is null if a ``maybe`` found no match."""

    frame: DataFrame
    attributes: Mapping[Attribute, str]
    multiplicity: str | None = None
    """The column with the multiplicity of each row; None if every row counts once."""
    optional: frozenset[str] = frozenset()
    """Variables that may be null."""
    carried: tuple[str, ...] = ()
    """Columns of the enclosing block, which correlate the rows of this block with it."""

    named: Mapping[Attribute, Column] = field(default_factory=dict)
    """Columns that are no columns of the frame: the item that a function over a list gets."""

    def column(self, variable: str, attribute: str = ID) -> Column:
        from pyspark.sql import functions as f

        given = self.named.get((variable, attribute))
        return f.col(self.attributes[variable, attribute]) if given is None else given

    def naming(self, variable: str, attribute: str, column: Column) -> BoundRows:
        """The same rows with one more attribute, which is an expression."""
        return replace(self, named={**self.named, (variable, attribute): column})

    @property
    def multiplicities(self) -> Column:
        from pyspark.sql import functions as f

        return f.lit(1).cast("long") if self.multiplicity is None else f.col(self.multiplicity)

    def columns_of(self, variables: Iterable[str]) -> list[str]:
        """The columns that identify the values of variables: ids, and every attribute of a path."""
        wanted = set(variables)
        entities = {variable for variable, attribute in self.attributes if attribute == ID}
        return [
            name
            for (variable, attribute), name in self.attributes.items()
            if variable in wanted and (attribute == ID or variable not in entities)
        ]

    def binding(
        self, frame: DataFrame, attributes: Mapping[Attribute, str], *, multiplicity: str | None = None
    ) -> BoundRows:
        """These rows after a join that bound more attributes."""
        return replace(
            self,
            frame=frame,
            attributes={**self.attributes, **attributes},
            multiplicity=multiplicity or self.multiplicity,
        )

    def over(self, frame: DataFrame) -> BoundRows:
        """The same columns over another frame."""
        return replace(self, frame=frame)
