"""``InferredSchema``: the text of an inferred schema, and the way from columns to its properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.core.display import Display, Displayed, counted, html_text
from omnigraph.ingest.infer.typed_tables import TypedSource


@dataclass(frozen=True, slots=True, repr=False)
class InferredType(Displayed):
    """A type of an inferred schema, and how it is read from its source."""

    name: str
    kind: str
    """``node`` or ``edge``."""
    source: str
    """The file, or the name that a caller gave."""
    rows: int
    columns: Mapping[str, str]
    """The column of each property, and of ``id``, ``from`` and ``to`` of an edge."""
    ignored: tuple[str, ...]
    """Columns that no property can hold."""
    guesses: tuple[str, ...]
    """The guesses about keys, ends and columns that are left out."""
    ends: tuple[str, str] | None = None
    """The node types of both ends of an edge."""

    def _display(self) -> Display:
        ends = "" if self.ends is None else f": {' -> '.join(self.ends)}"
        title = f"{self.kind} {self.name}{ends}, {counted(self.rows, 'row')} of {self.source}"
        return Display(title, ("property", "column"), [*self.columns.items()], notes=self.guesses)


@dataclass(frozen=True, slots=True)
class InferredSchema:
    """A schema that was guessed from data. ``str`` gives the text, which states every guess in a comment."""

    text: str
    types: tuple[InferredType, ...]
    sources: tuple[TypedSource, ...] = field(default=(), repr=False, compare=False)
    """The rows of every type, for a load of the same data."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return html_text(self.text)

    @property
    def map(self) -> dict[str, str]:
        """Columns that have another name than their property, as the option ``map`` of a load takes them."""
        return {
            f"{type_.name}.{name}": column
            for type_ in self.types
            for name, column in type_.columns.items()
            if name != column
        }

    @property
    def ignore(self) -> list[str]:
        """Columns that no property can hold, as the option ``ignore`` of a load takes them."""
        return sorted({column for type_ in self.types for column in type_.ignored})
