"""Rows in flight on a cluster: a frame, and in which of its columns the parts of variables stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from omnigraph.rows.arrow_types import ID

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Attribute = tuple[str, str]
"""A variable and what is known of it: a property, the id, or a part of a path."""


@dataclass
class Names:
    """Names of columns, each given once in a query: whatever is joined with what, no two columns are called alike.

    Variables and properties may differ in nothing but the case of a letter, which Spark ignores.
    """

    _next: Iterator[int] = field(default_factory=count)

    def new(self) -> str:
        return f"c{next(self._next)}"


@dataclass(frozen=True)
class BoundRows:
    """A bag of rows. An entity is known by its id, which is null where a ``maybe`` found nothing."""

    frame: DataFrame
    attributes: Mapping[Attribute, str]
    multiplicity: str | None = None
    """The column that tells how many equal rows a row stands for; absent means one."""
    optional: frozenset[str] = frozenset()
    """Variables that may be null."""
    carried: tuple[str, ...] = ()
    """Columns of the block around this one, which every row keeps."""

    def column(self, variable: str, attribute: str = ID) -> Column:
        from pyspark.sql import functions as f

        return f.col(self.attributes[variable, attribute])

    @property
    def multiplicities(self) -> Column:
        from pyspark.sql import functions as f

        return f.lit(1).cast("long") if self.multiplicity is None else f.col(self.multiplicity)

    def columns_of(self, variables: Iterable[str]) -> list[str]:
        """The columns that tell these variables apart: ids, and all that is known of paths."""
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
        """These rows after something was joined, which bound more."""
        return replace(
            self,
            frame=frame,
            attributes={**self.attributes, **attributes},
            multiplicity=multiplicity or self.multiplicity,
        )

    def over(self, frame: DataFrame) -> BoundRows:
        """The same columns of other rows."""
        return replace(self, frame=frame)
